// Waits for the process's latch, the postmaster's death and a socket at once.
#pragma once

#include "pg/postgres.hpp"

struct WaitEventSet;

namespace outbox::relay {

class WaitSet {
  public:
    explicit WaitSet(int socket);
    ~WaitSet();
    WaitSet(const WaitSet &) = delete;
    WaitSet &operator=(const WaitSet &) = delete;

    // Returns true if the latch was set. Ends the process if the postmaster has died.
    bool wait(bool for_writing, long milliseconds, std::uint32_t wait_event);

  private:
    WaitEventSet *set_;
    int socket_event_;
};

} // namespace outbox::relay
