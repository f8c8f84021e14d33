// TLS to a broker, within a deadline, over librabbitmq's TLS socket.
//
// The library makes the connection by itself; what it leaves out is done here, through its OpenSSL context: the
// host's addresses get their share of the time each (the library is given one as a number), the name that the
// certificate must carry is OpenSSL's to check, for addresses, too, and an error says what was wrong.
#pragma once

#include "transport/rabbitmq_c.hpp"
#include "transport/target.hpp"

#include <chrono>
#include <string>

namespace outbox::transport {

// Returns a connection whose TLS handshake is done. Throws Error::Kind::unreachable.
Connection connect_tls(const Tls &tls, const Endpoint &endpoint, std::chrono::steady_clock::time_point deadline);

// What OpenSSL says of the last call that failed: "tlsv13 alert certificate required". Takes it off its queue.
std::string tls_problem();

} // namespace outbox::transport
