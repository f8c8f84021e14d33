"""TLS to the broker: who is verified, by what, and what is said when it fails."""

import socket
import ssl
import threading

import pytest

from harness.broker import Broker
from harness.certificates import Authority
from harness.waiting import wait_until


@pytest.fixture(scope="module")
def authority(workdir):
    return Authority(workdir / "authority")


@pytest.fixture(scope="module")
def broker(workdir, authority):
    made = Broker(workdir / "tls_broker", tls=authority).create()
    try:
        yield made.start()
    finally:
        made.remove()


@pytest.fixture(scope="module")
def client(authority):
    return authority.issue("client")


class TlsServer:
    """Presents a certificate to whoever connects, and notes the name that the client asks for."""

    def __init__(self, certificate):
        self.asked_for = []
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate.cert_file, certificate.key_file)
        self._context.sni_callback = lambda _, name, __: self.asked_for.append(name)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            try:
                self._context.wrap_socket(connection, server_side=True).close()
            except OSError:
                connection.close()

    def close(self):
        self._listener.close()


@pytest.fixture
def tls_server():
    made = []

    def make(certificate):
        made.append(TlsServer(certificate))
        return made[-1]

    yield make
    for server in made:
        server.close()


def use(stage, host, port, ca=None, client=None, verify="full"):
    stage.pg.set(outbox_relay__amqp_url=f"amqps://guest:guest@{host}:{port}/%2f",
                 outbox_relay__tls_ca_file=ca and ca.ca_file,
                 outbox_relay__tls_cert_file=client and client.cert_file,
                 outbox_relay__tls_key_file=client and client.key_file,
                 outbox_relay__tls_verify=verify)


def assert_fails_with(stage, *reasons):
    def said():
        error = stage.stats().get("last_error") or ""
        return any(reason in error for reason in reasons)
    wait_until(said, 20, f"the relay says: {reasons}; it says {stage.stats().get('last_error')}")
    assert stage.stats()["confirmed"] == 0


@pytest.mark.server(connected=False, outbox_relay__heartbeat="1s")
def test_events_go_over_tls_large_ones_and_through_a_restart_of_the_broker(stage, authority, client):
    use(stage, "localhost", stage.broker.tls_port, authority, client)
    stage.write(2000)
    stage.pg.execute("SELECT outbox.emit('large', to_jsonb(repeat(md5(i::text), 30000)), 'big', i::text)"
                     "  FROM generate_series(1, 12) AS i")
    stage.wait_settled()
    assert stage.stats()["broker"].startswith("amqps://guest@localhost:")
    stage.broker.restart()
    stage.write(500)
    report = stage.report()
    assert not (report.lost or report.phantom or report.out_of_order), report


@pytest.mark.server(connected=False)
def test_the_broker_must_come_from_the_authority_and_carry_the_name_of_the_host(stage, authority, client, workdir):
    stage.write(1)
    use(stage, "localhost", stage.broker.tls_port, Authority(workdir / "stranger"), client)
    assert_fails_with(stage, "its certificate was not accepted: unable to get local issuer certificate",
                      "its certificate was not accepted: self-signed certificate in certificate chain")
    use(stage, "127.0.0.1", stage.broker.tls_port, authority, client)
    assert_fails_with(stage, "its certificate was not accepted: IP address mismatch")
    # Without an authority of its own, those that the system trusts count.
    use(stage, "localhost", stage.broker.tls_port, None, client)
    assert_fails_with(stage, "its certificate was not accepted")
    use(stage, "127.0.0.1", stage.broker.tls_port, authority, client, verify="ca")
    stage.wait_settled(20)


@pytest.mark.server(connected=False)
def test_nothing_is_verified_where_that_is_asked_for(stage, client):
    use(stage, "127.0.0.1", stage.broker.tls_port, None, client, verify="off")
    stage.write(1)
    stage.wait_settled(20)


@pytest.mark.server(connected=False)
def test_a_broker_that_wants_a_client_certificate_says_so(stage, authority, client):
    stage.write(1)
    use(stage, "localhost", stage.broker.tls_port, authority)
    # The broker's reason is lost where its hanging up overtakes it.
    assert_fails_with(stage, "certificate required", "handshake failure", "no client certificate is set")
    stage.pg.set(outbox_relay__tls_cert_file="/nowhere/client.pem")
    assert_fails_with(stage, 'could not load the TLS certificate file "/nowhere/client.pem"')
    use(stage, "localhost", stage.broker.tls_port, authority, client)
    stage.wait_settled(20)


@pytest.mark.server(connected=False)
def test_a_certificate_that_has_expired_or_is_another_hosts_is_refused(stage, authority, tls_server):
    stage.write(1)
    expired = tls_server(authority.issue("expired", "DNS:localhost", expired=True))
    use(stage, "localhost", expired.port, authority)
    assert_fails_with(stage, "its certificate was not accepted: certificate has expired")
    assert "localhost" in expired.asked_for
    other = tls_server(authority.issue("other", "DNS:mq.example.org"))
    use(stage, "localhost", other.port, authority)
    assert_fails_with(stage, "its certificate was not accepted: hostname mismatch")


@pytest.mark.server(connected=False)
def test_a_port_without_tls_and_one_that_is_closed_are_told_apart(stage, authority):
    stage.write(1)
    use(stage, "localhost", stage.broker.port, authority)
    assert_fails_with(stage, "TLS handshake failed", "no answer in time")
    assert stage.stats()["pid"]
