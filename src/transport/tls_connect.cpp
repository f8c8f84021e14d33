#include "transport/tls_connect.hpp"

#include "transport/addresses.hpp"
#include "transport/error.hpp"

#include <new>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/time.h>

namespace outbox::transport {
namespace {

using Clock = std::chrono::steady_clock;

bool is_address(const std::string &host)
{
    in6_addr address{};
    return inet_pton(AF_INET, host.c_str(), &address) == 1 || inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// One handshake, as OpenSSL's callbacks see it.
struct Handshake {
    const std::string &host;
    int certificate_error = X509_V_OK;
};

Handshake *handshake_of(const SSL *ssl)
{
    return static_cast<Handshake *>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

// The library announces the host it was given, which is an address: servers that choose by name want the name.
void name_host(const SSL *ssl, int where, int)
{
    const Handshake *handshake = handshake_of(ssl);
    if ((where & SSL_CB_HANDSHAKE_START) == 0 || handshake == nullptr)
        return;
    const char *name = is_address(handshake->host) ? nullptr : handshake->host.c_str();
    SSL_set_tlsext_host_name(const_cast<SSL *>(ssl), name);
}

int note_certificate_error(int verified, X509_STORE_CTX *store)
{
    const auto *ssl = static_cast<SSL *>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    if (Handshake *handshake = handshake_of(ssl); handshake != nullptr && verified == 0)
        handshake->certificate_error = X509_STORE_CTX_get_error(store);
    return verified;
}

// OpenSSL would ask on the terminal.
int no_passphrase(char *, int, int, void *)
{
    return 0;
}

void require_file(int status, const char *what, const std::string &file)
{
    if (status != 1)
        throw Error(Error::Kind::unreachable,
                    std::string("could not load the TLS ") + what + " \"" + file + "\": " + tls_problem());
}

void set_identity(SSL_CTX *context, const Tls &tls)
{
    if (tls.cert_file.empty())
        return;
    const std::string &key = tls.key_file.empty() ? tls.cert_file : tls.key_file;
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    require_file(SSL_CTX_use_certificate_chain_file(context, tls.cert_file.c_str()), "certificate file", tls.cert_file);
    require_file(SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM), "key file", key);
}

void set_verification(SSL_CTX *context, const Tls &tls, const std::string &host)
{
    if (tls.verify == Tls::Verify::off) {
        SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
        return;
    }
    if (tls.ca_file.empty())
        require_file(SSL_CTX_set_default_verify_paths(context), "certificate authorities of", "the system");
    else
        require_file(SSL_CTX_load_verify_locations(context, tls.ca_file.c_str(), nullptr), "CA file", tls.ca_file);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, note_certificate_error);
    if (tls.verify != Tls::Verify::full)
        return;
    X509_VERIFY_PARAM *wanted = SSL_CTX_get0_param(context);
    const int set = is_address(host) ? X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str())
                                     : X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size());
    if (set != 1)
        throw std::bad_alloc();
}

// Returns what went wrong; empty: nothing.
std::string attempt(Connection &connection, const Tls &tls, const Endpoint &endpoint, const addrinfo &address,
                    Clock::time_point deadline)
{
    connection.reset(amqp_new_connection());
    amqp_socket_t *socket = connection ? amqp_ssl_socket_new(connection.get()) : nullptr;
    if (socket == nullptr)
        throw std::bad_alloc();
    // What OpenSSL checks in the handshake needs no second look.
    amqp_ssl_socket_set_verify_peer(socket, 0);
    amqp_ssl_socket_set_verify_hostname(socket, 0);

    ERR_clear_error();
    Handshake handshake{endpoint.host};
    auto *context = static_cast<SSL_CTX *>(amqp_ssl_socket_get_context(socket));
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    set_identity(context, tls);
    set_verification(context, tls, endpoint.host);
    SSL_CTX_set_app_data(context, &handshake);
    SSL_CTX_set_info_callback(context, name_host);

    const auto left = time_left(deadline);
    const timeval timeout{left.count() / 1000, left.count() % 1000 * 1000};
    const int status = amqp_socket_open_noblock(socket, numeric(address).c_str(), endpoint.port, &timeout);
    SSL_CTX_set_info_callback(context, nullptr);
    SSL_CTX_set_app_data(context, nullptr);
    if (handshake.certificate_error != X509_V_OK) {
        ERR_clear_error();
        return std::string("its certificate was not accepted: ") +
               X509_verify_cert_error_string(handshake.certificate_error);
    }
    if (status == AMQP_STATUS_OK) {
        tune_socket(amqp_get_sockfd(connection.get()));
        return {};
    }
    if (status == AMQP_STATUS_SSL_CONNECTION_FAILED || status == AMQP_STATUS_SSL_ERROR)
        return "TLS handshake failed: " + tls_problem();
    return status == AMQP_STATUS_TIMEOUT ? "no answer in time" : amqp_error_string2(status);
}

} // namespace

Connection connect_tls(const Tls &tls, const Endpoint &endpoint, Clock::time_point deadline)
{
    const Addresses addresses = resolve(endpoint.host, endpoint.port, deadline);
    std::string problem = "it has no address";
    for (const addrinfo *address = addresses.get(); address != nullptr; address = address->ai_next) {
        Connection connection;
        problem = attempt(connection, tls, endpoint, *address, share_of(*address, deadline));
        if (problem.empty())
            return connection;
    }
    throw Error(Error::Kind::unreachable, "could not connect to broker " + endpoint.host + " port " +
                                              std::to_string(endpoint.port) + " by TLS: " + problem);
}

std::string tls_problem()
{
    const unsigned long code = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(code);
    ERR_clear_error();
    if (reason != nullptr)
        return reason;
    return code != 0 ? "OpenSSL error " + std::to_string(code) : "the broker hung up";
}

} // namespace outbox::transport
