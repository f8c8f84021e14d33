#include "capture/trace_headers.hpp"

#include "capture/jsonb_build.hpp"
#include "capture/trace_context.hpp"
#include "pg/settings.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
}

namespace outbox::capture {

namespace settings = pg::settings;

namespace {

// What the settings said when the headers were last made. Most transactions write several events.
struct Made {
    char *traceparent;
    char *tracestate;
    Jsonb *headers; // null: the settings are no trace
};
Made made;

Jsonb *build(const char *traceparent, const char *tracestate)
{
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    push_string(&state, WJB_KEY, "traceparent");
    push_string(&state, WJB_VALUE, traceparent);
    if (is_tracestate(tracestate)) {
        push_string(&state, WJB_KEY, "tracestate");
        push_string(&state, WJB_VALUE, tracestate);
    }
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

void forget_made()
{
    const Made old = made;
    made = {};
    for (void *memory :
         {static_cast<void *>(old.traceparent), static_cast<void *>(old.tracestate), static_cast<void *>(old.headers)})
        if (memory != nullptr)
            pfree(memory);
}

// The texts last: with them it is up to date.
void make()
{
    forget_made();
    if (is_traceparent(settings::traceparent)) {
        Jsonb *headers = build(settings::traceparent, settings::tracestate);
        made.headers = static_cast<Jsonb *>(MemoryContextAlloc(TopMemoryContext, VARSIZE(headers)));
        std::memcpy(made.headers, headers, VARSIZE(headers));
    }
    made.traceparent = MemoryContextStrdup(TopMemoryContext, settings::traceparent);
    made.tracestate = MemoryContextStrdup(TopMemoryContext, settings::tracestate);
}

bool is_up_to_date()
{
    return made.traceparent != nullptr && made.tracestate != nullptr &&
           std::strcmp(made.traceparent, settings::traceparent) == 0 &&
           std::strcmp(made.tracestate, settings::tracestate) == 0;
}

bool names_trace(Jsonb *headers)
{
    constexpr char name[] = "traceparent";
    JsonbValue value;
    return getKeyJsonValueFromContainer(&headers->root, name, sizeof(name) - 1, &value) != nullptr;
}

} // namespace

Jsonb *trace_headers()
{
    if (likely(settings::traceparent[0] == '\0'))
        return nullptr;
    if (!is_up_to_date())
        make();
    return made.headers;
}

Jsonb *with_trace_headers(Jsonb *given)
{
    Jsonb *trace = trace_headers();
    if (trace == nullptr || given == nullptr)
        return trace != nullptr ? trace : given;
    if (names_trace(given))
        return given;
    return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(trace), JsonbPGetDatum(given)));
}

} // namespace outbox::capture
