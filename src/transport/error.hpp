// Why a connection to a broker is over, or never came to be.
#pragma once

#include <stdexcept>
#include <string>

namespace outbox::transport {

class Error : public std::runtime_error {
  public:
    enum class Kind {
        unreachable, // could not resolve or connect, or the handshake did not end in time
        login,       // the broker refused user, password or vhost
        closed,      // the broker closed the channel or connection (missing exchange, access, precondition)
        leased,      // somebody else holds the target's lease
        lost,        // the connection broke, or heartbeats stopped
    };
    Error(Kind kind, const std::string &message) : std::runtime_error(message), kind_(kind) {}
    Kind kind() const { return kind_; }

  private:
    Kind kind_;
};

} // namespace outbox::transport
