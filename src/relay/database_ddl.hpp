#pragma once

namespace outbox::relay {

// Hooks utility statements, so that workers make way for DDL on their database (database_ddl.cpp). At preload.
void install_database_ddl_hook();

} // namespace outbox::relay
