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
    Error(const std::string &message, int sqlstate, std::string hint = {})
        : std::runtime_error(message), sqlstate_(sqlstate), hint_(std::move(hint))
    {
    }
    int sqlstate() const { return sqlstate_; }
    const std::string &hint() const { return hint_; } // empty: none

  private:
    int sqlstate_;
    std::string hint_;
};

namespace detail {
// What is known of a server error. The texts are malloc'd; null if there was none, or no memory for it.
struct Caught {
    char *message = nullptr;
    char *hint = nullptr;
    int sqlstate = 0;
};
// Runs body(context) under PG_TRY. Returns false if it raised; the server's error state is then clean again.
bool run_guarded(void (*body)(void *), void *context, Caught *caught);
[[noreturn]] void throw_error(const Caught &caught); // frees the texts
// Raises what pg::entry caught. The texts are palloc'd or static; hint may be null.
[[noreturn]] void raise(const char *message, const char *hint, int sqlstate);
// Copies an exception's text to where it outlives the exception; null if memory is out.
const char *keep_message(const char *what) noexcept;
} // namespace detail

template <typename F>
auto call(F &&body)
{
    using Result = std::invoke_result_t<F &>;
    detail::Caught caught;
    if constexpr (std::is_void_v<Result>) {
        if (!detail::run_guarded([](void *context) { (*static_cast<std::remove_reference_t<F> *>(context))(); }, &body,
                                 &caught))
            detail::throw_error(caught);
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
                &frame, &caught))
            detail::throw_error(caught);
        return frame.result;
    }
}

template <typename F>
auto entry(F &&body) -> std::invoke_result_t<F &>
{
    const char *message = nullptr;
    const char *hint = nullptr;
    int sqlstate = ERRCODE_INTERNAL_ERROR;
    try {
        return body();
    } catch (const Error &error) {
        message = detail::keep_message(error.what());
        hint = error.hint().empty() ? nullptr : detail::keep_message(error.hint().c_str());
        sqlstate = error.sqlstate();
    } catch (const std::bad_alloc &) {
        sqlstate = ERRCODE_OUT_OF_MEMORY;
        message = "out of memory";
    } catch (const std::exception &error) {
        message = detail::keep_message(error.what());
    } catch (...) {
        message = "unknown C++ exception";
    }
    detail::raise(message, hint, sqlstate);
}

} // namespace outbox::pg
