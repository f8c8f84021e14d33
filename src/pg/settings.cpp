// The broker's URL and the salt of masks are secrets, and a setting's value has many readers: SHOW, pg_settings (its
// reset_val bypasses show hooks), and the server's log when a reload changes it. So the value the server keeps is
// always the constant `hidden`; the real one travels in the check hook's `extra`, which only the assign hook sees. As
// the constant never changes, a reload that changes the secret logs nothing either.
#include "pg/settings.hpp"

#include "pg/compat.hpp"

extern "C" {
#include "access/parallel.h"
#include "datatype/timestamp.h"
#include "utils/guc.h"
#include "utils/varlena.h"
}

namespace outbox::pg::settings {

char *traceparent;
char *tracestate;
char *databases;
int heartbeat;
int connect_timeout;
char *credentials_file;
char *credentials_command;
char *tls_ca_file;
char *tls_cert_file;
char *tls_key_file;
int tls_verify;
int confirm_timeout;
int stop_timeout;
int worker_memory_limit;
int claim_timeout;
int crash_limit;
int max_in_flight;
int max_in_flight_size;
int max_claims;
int max_claims_size;
int batch_size;
int batch_bytes;
int max_message_size;
int max_event_size;
int poll_interval_min;
int poll_interval_max;
int progress_interval;
int max_attempts;
int max_parked;
int unroutable_ttl;
int ordering;
int on_unroutable;
int on_dead;
int clock_offset;

namespace {

// Their values are those of relay/policies.hpp.
const config_enum_entry orderings[] = {{"strict", 0, false}, {"pipelined", 1, false}, {nullptr, 0, false}};
const config_enum_entry unroutable_choices[] = {{"park", 0, false}, {"discard", 1, false}, {nullptr, 0, false}};
const config_enum_entry dead_choices[] = {{"release", 0, false}, {"block", 1, false}, {nullptr, 0, false}};

// Its values are those of transport::Tls::Verify.
const config_enum_entry tls_verifications[] = {
    {"full", 0, false}, {"ca", 1, false}, {"off", 2, false}, {nullptr, 0, false}};

constexpr char hidden[] = "(hidden)";

// The server's variables: always `hidden`.
char *shown_amqp_url;
char *shown_mask_salt;
const char *real_amqp_url = "";
const char *real_mask_salt = "";
UrlCheck find_url_problem;
FormCheck has_traceparent_form;
FormCheck has_tracestate_form;

char *copy_for_guc(const char *value)
{
    const std::size_t size = std::strlen(value) + 1;
    auto *copy = static_cast<char *>(compat::guc_allocate(size));
    if (copy != nullptr)
        std::memcpy(copy, value, size);
    return copy;
}

// The constant comes back where the server copies settings from one process to another.
const char *given_secret(const char *new_value)
{
    return std::strcmp(new_value, hidden) == 0 ? "" : new_value;
}

// Moves the secret into `extra`, and the constant into its place.
bool hide(const char *secret, char **new_value, void **extra)
{
    char *kept = copy_for_guc(secret);
    char *shown = copy_for_guc(hidden);
    if (kept == nullptr || shown == nullptr) {
        compat::guc_release(kept);
        compat::guc_release(shown);
        return false;
    }
    *extra = kept;
    compat::guc_release(*new_value);
    *new_value = shown;
    return true;
}

bool check_amqp_url(char **new_value, void **extra, GucSource)
{
    const char *url = given_secret(*new_value);
    const char *problem = nullptr;
    const char *hint = nullptr;
    if (*url != '\0' && find_url_problem(url, &problem, &hint)) {
        // Without a message of ours the server would print the value, password and all.
        GUC_check_errmsg("invalid value for parameter \"outbox_relay.amqp_url\": %s", problem);
        if (hint != nullptr)
            GUC_check_errhint("%s", hint);
        return false;
    }

    return hide(url, new_value, extra);
}

bool check_mask_salt(char **new_value, void **extra, GucSource)
{
    return hide(given_secret(*new_value), new_value, extra);
}

void assign_amqp_url(const char *, void *extra)
{
    real_amqp_url = static_cast<const char *>(extra);
}

void assign_mask_salt(const char *, void *extra)
{
    real_mask_salt = static_cast<const char *>(extra);
}

// A value of another form is taken all the same: whatever sets it, the transaction's work is worth more. Events leave
// it out, and who sets it by hand is told so.
void tell_of_form(const char *name, const char *value, FormCheck has_form, GucSource source)
{
    if (source == PGC_S_SESSION && !InitializingParallelWorker && *value != '\0' && !has_form(value))
        ereport(NOTICE, errmsg("\"%s\" is set to what is no W3C %s: events will not carry it", name,
                               std::strchr(name, '.') + 1));
}

bool check_traceparent(char **new_value, void **, GucSource source)
{
    tell_of_form("outbox_relay.traceparent", *new_value, has_traceparent_form, source);
    return true;
}

bool check_tracestate(char **new_value, void **, GucSource source)
{
    tell_of_form("outbox_relay.tracestate", *new_value, has_tracestate_form, source);
    return true;
}

bool check_databases(char **new_value, void **, GucSource)
{
    List *names = NIL;
    if (SplitIdentifierString(pstrdup(*new_value), ',', &names))
        return true;
    GUC_check_errdetail("List syntax is invalid.");
    GUC_check_errhint("Give database names separated by commas, odd ones in double quotes.");
    return false;
}

void define_int(const char *name, const char *description, int *variable, int default_value, int min, int max,
                int flags)
{
    DefineCustomIntVariable(name, description, nullptr, variable, default_value, min, max, PGC_SIGHUP, flags, nullptr,
                            nullptr, nullptr);
}

void define_choice(const char *name, const char *description, int *variable, const config_enum_entry *choices)
{
    DefineCustomEnumVariable(name, description, nullptr, variable, 0, choices, PGC_SIGHUP, 0, nullptr, nullptr,
                             nullptr);
}

// What only an administrator may see: a command may be telling.
void define_path(const char *name, const char *description, const char *more, char **variable)
{
    DefineCustomStringVariable(name, description, more, variable, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY, nullptr, nullptr,
                               nullptr);
}

void define_broker_settings()
{
    define_path("outbox_relay.credentials_file", "File with the broker's user and password.",
                "They take the place of those in amqp_url.", &credentials_file);
    define_path("outbox_relay.credentials_command", "Shell command that prints the broker's user and password.",
                "They take the place of those in amqp_url.", &credentials_command);
    define_path("outbox_relay.tls_ca_file", "Certificate authorities that the broker's certificate must come from.",
                "Empty: those that the system trusts.", &tls_ca_file);
    define_path("outbox_relay.tls_cert_file", "Client certificate for the broker.", "Empty: none.", &tls_cert_file);
    define_path("outbox_relay.tls_key_file", "Key of the client certificate.", "Empty: it is in tls_cert_file.",
                &tls_key_file);
    define_choice("outbox_relay.tls_verify", "What of the broker's certificate is verified.", &tls_verify,
                  tls_verifications);
}

void define_refusal_settings()
{
    define_int("outbox_relay.max_attempts", "An event that the broker has refused so often is dead.", &max_attempts, 20,
               1, 1000000, 0);
    define_int("outbox_relay.max_parked", "Parked events of a lane above which it reads no more of the log.",
               &max_parked, 100000, 1, 10000000, 0);
    define_int("outbox_relay.unroutable_ttl", "An event that no queue has taken for so long is dead.", &unroutable_ttl,
               2 * SECS_PER_DAY, 1, INT_MAX, GUC_UNIT_S);
    define_choice("outbox_relay.ordering", "How the messages of one ordering key follow each other.", &ordering,
                  orderings);
    define_choice("outbox_relay.on_unroutable", "What becomes of an event that no queue takes.", &on_unroutable,
                  unroutable_choices);
    define_choice("outbox_relay.on_dead", "What becomes of the later events of a dead event's key.", &on_dead,
                  dead_choices);
}

} // namespace

const char *amqp_url()
{
    return real_amqp_url;
}

const char *mask_salt()
{
    return real_mask_salt;
}

void define(UrlCheck check, FormCheck traceparent_check, FormCheck tracestate_check)
{
    find_url_problem = check;
    has_traceparent_form = traceparent_check;
    has_tracestate_form = tracestate_check;

    DefineCustomStringVariable("outbox_relay.amqp_url", "The broker: amqp://user:password@host:port/vhost.",
                               "Empty: no broker is set. The value is never shown.", &shown_amqp_url, "", PGC_SIGHUP,
                               GUC_SUPERUSER_ONLY, check_amqp_url, assign_amqp_url, nullptr);
    DefineCustomStringVariable("outbox_relay.mask_salt", "Secret that hashes of masked columns begin with.",
                               "Rules that mask by sha256 need it. The value is never shown.", &shown_mask_salt, "",
                               PGC_SIGHUP, GUC_SUPERUSER_ONLY, check_mask_salt, assign_mask_salt, nullptr);
    DefineCustomStringVariable("outbox_relay.traceparent", "The trace that the session's events belong to.",
                               "W3C Trace Context. Events carry it in their headers.", &traceparent, "", PGC_USERSET, 0,
                               check_traceparent, nullptr, nullptr);
    DefineCustomStringVariable("outbox_relay.tracestate", "What tracing systems add to outbox_relay.traceparent.",
                               "W3C Trace Context. Events carry it in their headers.", &tracestate, "", PGC_USERSET, 0,
                               check_tracestate, nullptr, nullptr);
    DefineCustomStringVariable("outbox_relay.databases", "Databases to relay from, separated by commas.",
                               "Empty: every database that has the extension.", &databases, "", PGC_SIGHUP, 0,
                               check_databases, nullptr, nullptr);

    define_int("outbox_relay.heartbeat", "Heartbeat asked of the broker.", &heartbeat, 10, 1, 3600, GUC_UNIT_S);
    define_int("outbox_relay.connect_timeout", "Time to resolve, connect, log in and check the exchange.",
               &connect_timeout, 3000, 100, 60000, GUC_UNIT_MS);
    define_int("outbox_relay.confirm_timeout", "A confirm later than this breaks the connection.", &confirm_timeout,
               60000, 1000, INT_MAX, GUC_UNIT_MS);
    define_int("outbox_relay.stop_timeout", "Time a stopping lane waits for confirms.", &stop_timeout, 2000, 0, 60000,
               GUC_UNIT_MS);
    define_int("outbox_relay.worker_memory_limit", "A lane with more memory of its own ends in order, and is replaced.",
               &worker_memory_limit, 500 * 1024, 0, INT_MAX, GUC_UNIT_KB);
    define_int("outbox_relay.claim_timeout",
               "A lane whose claims stand still for so long is asked to end, and replaced.", &claim_timeout, 300000, 0,
               INT_MAX, GUC_UNIT_MS);
    define_int("outbox_relay.crash_limit",
               "A lane that has crashed so often in a row is started every 10 minutes only.", &crash_limit, 3, 0,
               1000000, 0);
    define_int("outbox_relay.max_in_flight", "Messages published and not yet confirmed, per lane.", &max_in_flight,
               4096, 1, 65535, 0);
    define_int("outbox_relay.max_in_flight_size", "Bytes published and not yet confirmed, per lane.",
               &max_in_flight_size, 16 * 1024, 64, INT_MAX, GUC_UNIT_KB);
    define_int("outbox_relay.max_claims", "Events read and not yet settled, per lane.", &max_claims, 20000, 1, 1000000,
               0);
    define_int("outbox_relay.max_claims_size", "Bytes of events read and not yet settled, per lane.", &max_claims_size,
               64 * 1024, 64, INT_MAX, GUC_UNIT_KB);
    define_int("outbox_relay.batch_size", "Events read from the log at a time.", &batch_size, 1000, 1, 100000, 0);
    define_int("outbox_relay.batch_bytes", "Bytes of payload read from the log at a time.", &batch_bytes, 4 * 1024, 64,
               INT_MAX, GUC_UNIT_KB);
    define_int("outbox_relay.max_message_size", "Largest message body that is sent.", &max_message_size, 16 * 1024, 1,
               512 * 1024, GUC_UNIT_KB);
    define_int("outbox_relay.max_event_size",
               "Largest payload that is captured as it is, unless the rule says otherwise.", &max_event_size, 15 * 1024,
               1, 1024 * 1024 - 1, GUC_UNIT_KB);
    define_int("outbox_relay.poll_interval_min", "Shortest wait between two looks at the log without a wake-up.",
               &poll_interval_min, 250, 10, 60000, GUC_UNIT_MS);
    define_int("outbox_relay.poll_interval_max", "Longest wait between two looks at the log without a wake-up.",
               &poll_interval_max, 2000, 10, 600000, GUC_UNIT_MS);
    define_int("outbox_relay.progress_interval", "Time between two progress records under load.", &progress_interval,
               200, 10, 60000, GUC_UNIT_MS);

    define_broker_settings();
    define_refusal_settings();

    DefineCustomIntVariable("outbox_relay.clock_offset", "Added to the clock that event ids are made from.",
                            "For tests.", &clock_offset, 0, -1000000000, 1000000000, PGC_SUSET,
                            GUC_UNIT_S | GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL, nullptr, nullptr, nullptr);

    MarkGUCPrefixReserved("outbox_relay");
}

} // namespace outbox::pg::settings
