// The two borders between the server's errors (ereport, which longjmps) and C++ exceptions.
//
//   pg::call   runs server code from the C++ regime: an ereport(ERROR) becomes a pg::Error.
//              The transaction is then broken: abort it before the next server call.
//   pg::entry  runs C++ regime code from an extern "C" entry: an exception becomes an ereport(ERROR),
//              raised after the catch block has closed, so that the exception object is gone by then.
//
// longjmp skips destructors: what runs inside pg::call may keep only trivially destructible objects on its
// stack while it calls the server. What must live longer belongs outside, on the C++ side of the call.
#pragma once

#include "pg/postgres.hpp"

namespace outbox::pg {

// A server error, copied out of the server's memory.
class Error : public std::runtime_error {
  public:
    Error(std::string message, int sqlstate) : std::runtime_error(std::move(message)), sqlstate_(sqlstate) {}
    int sqlstate() const { return sqlstate_; }

  private:
    int sqlstate_;
};

namespace detail {
// Runs body(context) under PG_TRY. Returns false if it raised: then *message (malloc'd, may be null) and
// *sqlstate describe the error, and the server's error state is clean again.
bool run_guarded(void (*body)(void *), void *context, char **message, int *sqlstate);
[[noreturn]] void throw_error(char *message, int sqlstate);
// Raises what pg::entry caught. message is a palloc'd or static string.
[[noreturn]] void raise(const char *message, int sqlstate);
// Copies an exception's text to where it outlives the exception; null if memory is out.
const char *keep_message(const char *what) noexcept;
} // namespace detail

template <typename F>
auto call(F &&body)
{
    using Result = std::invoke_result_t<F &>;
    char *message = nullptr;
    int sqlstate = 0;
    if constexpr (std::is_void_v<Result>) {
        if (!detail::run_guarded([](void *context) { (*static_cast<std::remove_reference_t<F> *>(context))(); }, &body,
                                 &message, &sqlstate))
            detail::throw_error(message, sqlstate);
    } else {
        static_assert(std::is_trivially_destructible_v<Result>, "a longjmp would skip its destructor");
        struct Frame {
            std::remove_reference_t<F> *body;
            Result result;
        } frame{&body, {}};
        if (!detail::run_guarded(
                [](void *context) {
                    auto *f = static_cast<Frame *>(context);
                    f->result = (*f->body)();
                },
                &frame, &message, &sqlstate))
            detail::throw_error(message, sqlstate);
        return frame.result;
    }
}

template <typename F>
auto entry(F &&body) -> std::invoke_result_t<F &>
{
    const char *message = nullptr;
    int sqlstate = ERRCODE_INTERNAL_ERROR;
    try {
        return body();
    } catch (const Error &error) {
        message = detail::keep_message(error.what());
        sqlstate = error.sqlstate();
    } catch (const std::bad_alloc &) {
        sqlstate = ERRCODE_OUT_OF_MEMORY;
        message = "out of memory";
    } catch (const std::exception &error) {
        message = detail::keep_message(error.what());
    } catch (...) {
        message = "unknown C++ exception";
    }
    detail::raise(message, sqlstate);
}

} // namespace outbox::pg
