// All outbox_relay.* settings (docs/settings.md describes them). Defined once, at preload.
#pragma once

#include "pg/postgres.hpp"

namespace outbox::pg::settings {

// Says what is wrong with a URL; false: nothing. Both texts are palloc'd or static, and name no password.
using UrlCheck = bool (*)(const char *url, const char **problem, const char **hint);

// Whether a text is of the form that a setting asks for.
using FormCheck = bool (*)(const char *text);

// Registers the settings with the server. From _PG_init, in the postmaster.
void define(UrlCheck check, FormCheck traceparent_check, FormCheck tracestate_check);

// The broker's URL with its password: never show it. Empty: no broker is set.
// SHOW, pg_settings and the server's log see a constant in its place.
const char *amqp_url();

// What hashes of masked values begin with: as secret as a password, and hidden like one. Empty: not set.
const char *mask_salt();

// The trace that a session's events belong to, as it was set: of any form. Empty: none.
extern char *traceparent;
extern char *tracestate;

extern char *databases;        // comma-separated names; empty: every database that has the extension
extern int heartbeat;          // seconds
extern int connect_timeout;    // milliseconds
extern char *credentials_file; // these two: "": not set
extern char *credentials_command;
extern char *tls_ca_file; // these three: "": not set
extern char *tls_cert_file;
extern char *tls_key_file;
extern int tls_verify;          // a value of transport::Tls::Verify
extern int confirm_timeout;     // milliseconds
extern int stop_timeout;        // milliseconds
extern int worker_memory_limit; // kilobytes; 0: none
extern int claim_timeout;       // milliseconds; 0: none
extern int crash_limit;         // crashes of a lane in a row; 0: no limit
extern int max_in_flight;       // messages
extern int max_in_flight_size;  // kilobytes
extern int max_claims;          // events
extern int max_claims_size;     // kilobytes
extern int batch_size;          // events
extern int batch_bytes;         // kilobytes
extern int max_message_size;    // kilobytes
extern int max_event_size;      // kilobytes
extern int poll_interval_min;   // milliseconds
extern int poll_interval_max;   // milliseconds
extern int progress_interval;   // milliseconds
extern int max_attempts;        // refusals of one event
extern int max_parked;          // events
extern int unroutable_ttl;      // seconds
extern int ordering;            // these three: a value of the enumeration of that name in relay/policies.hpp
extern int on_unroutable;
extern int on_dead;
extern int clock_offset; // seconds, added to the clock that ids are made from: for tests

// The bytes of a setting in kilobytes.
inline std::size_t kilobytes(int setting)
{
    return std::size_t{1024} * static_cast<std::size_t>(setting);
}

} // namespace outbox::pg::settings
