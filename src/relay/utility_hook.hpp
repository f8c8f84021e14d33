#pragma once

namespace outbox::relay {

// Hooks utility statements, so that workers make way for DDL on their database (utility_hook.cpp). At preload.
void install_utility_hook();

} // namespace outbox::relay
