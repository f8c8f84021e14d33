#include "relay/wait_set.hpp"

#include "pg/compat.hpp"
#include "pg/guard.hpp"

namespace outbox::relay {

WaitSet::WaitSet(int socket)
{
    set_ = pg::call([&] {
        WaitEventSet *set = pg::compat::create_wait_event_set(3);
        AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, nullptr);
        AddWaitEventToSet(set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, nullptr, nullptr);
        return set;
    });
    socket_event_ = pg::call([&] { return AddWaitEventToSet(set_, WL_SOCKET_READABLE, socket, nullptr, nullptr); });
}

WaitSet::~WaitSet()
{
    FreeWaitEventSet(set_);
}

bool WaitSet::wait(bool for_writing, long milliseconds, std::uint32_t wait_event)
{
    return pg::call([&] {
        const std::uint32_t events = WL_SOCKET_READABLE | (for_writing ? WL_SOCKET_WRITEABLE : 0);
        ModifyWaitEvent(set_, socket_event_, events, nullptr);
        WaitEvent happened[3];
        const int count = WaitEventSetWait(set_, milliseconds, happened, lengthof(happened), wait_event);
        bool latched = false;
        for (int i = 0; i < count; ++i)
            latched |= (happened[i].events & WL_LATCH_SET) != 0;
        if (latched)
            ResetLatch(MyLatch);
        return latched;
    });
}

} // namespace outbox::relay
