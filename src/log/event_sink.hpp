// Carries a C++ function, and the exception it may throw, through the executor, which is C.
#pragma once

#include "log/event.hpp"

#include <exception>
#include <functional>

namespace outbox::log {

class EventSink {
  public:
    using Function = std::function<void(const EventView &)>;
    explicit EventSink(const Function &function) : function_(function) {}

    // A Show (event_stream.hpp), with the sink as its context.
    static bool show(void *context, const EventView &event) noexcept
    {
        auto *sink = static_cast<EventSink *>(context);
        try {
            sink->function_(event);
            return true;
        } catch (...) {
            sink->exception_ = std::current_exception();
            return false;
        }
    }

    // When the executor has returned.
    void rethrow() const
    {
        if (exception_)
            std::rethrow_exception(exception_);
    }

  private:
    const Function &function_;
    std::exception_ptr exception_;
};

} // namespace outbox::log
