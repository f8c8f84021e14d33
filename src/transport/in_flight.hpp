// The messages that were published and not yet answered, by delivery tag.
//
// The broker answers in any order, one by one or "all up to this tag"; an entry answered out of order stays, as a
// gap, until all before it are answered. Returns come before the answer of their message, and in publish order.
#pragma once

#include "transport/message.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace outbox::transport {

class InFlight {
  public:
    using Clock = std::chrono::steady_clock;

    // What basic.return said.
    struct Return {
        std::uint16_t code;
        std::string text;
    };

    struct Entry {
        std::uint64_t token = 0;
        const Message *message = nullptr; // null: answered
        Clock::time_point published;
        Clock::duration blocked_before{}; // how long the connection had been blocked until then, in all
        std::unique_ptr<Return> returned;
    };

    void add(const Message &message, std::uint64_t token, Clock::time_point now, Clock::duration blocked_before)
    {
        entries_.push_back({token, &message, now, blocked_before, nullptr});
        ++unanswered_;
    }

    std::size_t size() const { return unanswered_; }
    // With the gaps: what the memory for them is limited by.
    std::size_t span() const { return entries_.size(); }
    bool empty() const { return unanswered_ == 0; }
    // Requires !empty().
    const Entry &oldest() const { return entries_.front(); }
    // 0: nothing was ever published.
    std::uint64_t newest_tag() const { return first_tag_ + entries_.size() - 1; }

    // The message that a basic.return speaks of; null: it is none of these. With two of one message_id and one
    // routing key in flight, the earlier one.
    Entry *match_return(std::string_view message_id, std::string_view routing_key)
    {
        for (return_cursor_ = std::max(return_cursor_, first_tag_); return_cursor_ <= newest_tag(); ++return_cursor_) {
            Entry &entry = entries_[return_cursor_ - first_tag_];
            if (entry.message != nullptr && entry.message->message_id == message_id &&
                entry.message->routing_key == routing_key) {
                ++return_cursor_;
                return &entry;
            }
        }
        return nullptr;
    }

    // Takes out the message of this tag, or all up to it, and calls each(Entry) for them in publish order.
    // Requires tag <= newest_tag(). A tag answered before is passed over.
    template <typename Each>
    void answer(std::uint64_t tag, bool multiple, Each &&each)
    {
        if (multiple) {
            while (!entries_.empty() && first_tag_ <= tag)
                pop_front(each);
        } else if (tag == first_tag_) {
            pop_front(each);
        } else if (tag > first_tag_) {
            Entry &entry = entries_[tag - first_tag_];
            if (entry.message == nullptr)
                return;
            Entry answered = std::exchange(entry, Entry{});
            --unanswered_;
            each(answered);
        }
        while (!entries_.empty() && entries_.front().message == nullptr)
            drop_front();
    }

  private:
    template <typename Each>
    void pop_front(Each &&each)
    {
        Entry answered = std::move(entries_.front());
        drop_front();
        if (answered.message == nullptr)
            return;
        --unanswered_;
        each(answered);
    }

    void drop_front()
    {
        entries_.pop_front();
        ++first_tag_;
    }

    std::deque<Entry> entries_;
    std::uint64_t first_tag_ = 1; // of entries_.front()
    std::uint64_t return_cursor_ = 1;
    std::size_t unanswered_ = 0;
};

} // namespace outbox::transport
