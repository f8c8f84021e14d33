"""One publisher only: a second server with the same log waits, says so, and publishes nothing."""

import socket
import threading

import pytest

from harness.stage import Stage
from harness.waiting import wait_until


@pytest.fixture
def copy(stage, make_server):
    """A physical copy of the stage's server, running beside it, that reaches the same broker."""
    def make():
        stage.wait_settled()
        stage.pg.stop()
        server = make_server(outbox_relay__amqp_url=stage.broker.url())
        server.remove()
        server.create(stage.pg)
        stage.pg.start()
        stage.write(1)
        stage.wait_settled()
        server.start()
        return Stage(server, stage.broker)
    return make


def test_a_copy_publishes_nothing_until_the_original_is_gone(stage, copy):
    stage.write(50)
    other = copy()
    other.write(20)
    waiting = other.wait_state("waiting for lease")
    assert "another server, or a copy of this one, publishes for this relay" in waiting["detail"]
    assert "outbox_relay.lease." in waiting["detail"]
    wait_until(lambda: "Stop the one that should not publish" in other.pg.log_text(), 10, "the log has a warning")

    stage.write(50)
    stage.wait_settled()
    assert other.stats()["published"] == 0
    assert stage.report().exact()

    # Promoted in the place of the other, it goes on by itself.
    stage.pg.stop()
    other.wait_settled(60)
    assert other.stats()["published"] >= 20


class SilentProxy:
    """Passes bytes on until it is told to go silent: then both sides hear nothing more, not even an end."""

    def __init__(self, port):
        self._target = port
        self.silent = False
        self._sockets = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            self._sockets += [client, server]
            if self.silent:
                self.silent = False     # the connections from now on work; the old ones stay silent
                self._old = self._sockets[:-2]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one, other):
        try:
            while data := one.recv(65536):
                if self.silent or one in getattr(self, "_old", ()):
                    threading.Event().wait()
                other.sendall(data)
        except OSError:
            pass
        if not (self.silent or one in getattr(self, "_old", ())):
            other.close()

    def close(self):
        self._listener.close()
        for each in self._sockets:
            each.close()


@pytest.mark.server(connected=False, outbox_relay__heartbeat="2s", outbox_relay__confirm_timeout="60s")
def test_a_lane_waits_until_the_broker_has_given_up_its_own_last_connection(stage):
    proxy = SilentProxy(stage.broker.port)
    try:
        stage.pg.set(outbox_relay__amqp_url=f"amqp://guest:guest@127.0.0.1:{proxy.port}/%2f")
        stage.write(20)
        stage.wait_settled()
        proxy.silent = True
        stage.write(20)
        waiting = stage.wait_state("waiting for lease", timeout=30)
        assert "the last one of this lane" in waiting["detail"]
        stage.wait_settled(60)
        report = stage.report()
        assert not (report.lost or report.phantom or report.out_of_order), report
        assert "publishes for this relay" not in stage.pg.log_text()
    finally:
        proxy.close()


def test_two_databases_on_one_vhost_do_not_disturb_each_other(stage):
    stage.pg.execute("CREATE DATABASE second")
    stage.pg.execute("CREATE EXTENSION outbox_relay", dbname="second")
    stage.write(20)
    stage.pg.execute("SELECT outbox.emit('second.made', '{}') FROM generate_series(1, 20)", dbname="second")
    stage.wait_settled()
    wait_until(lambda: stage.pg.value("SELECT confirmed FROM outbox.stats() WHERE relay = 'default'",
                                      dbname="second") == 20, 30, "the second database's events are confirmed")
    leases = [line for line in stage.broker.ctl("list_queues", "name").splitlines() if ".lease." in line]
    assert len(set(leases)) == 2


@pytest.mark.server(connected=False)
def test_a_user_that_may_only_write_publishes_without_a_lease_and_it_shows(stage):
    stage.broker.ctl("add_user", "writer", "w")
    try:
        stage.broker.ctl("set_permissions", "-p", "/", "writer", "^$", "^outbox$", "^$")
        stage.pg.execute("""SELECT outbox.alter_relay('default', '{"declare": false}')""")
        stage.pg.set(outbox_relay__amqp_url=stage.broker.url("writer", "w"))
        stage.write(20)
        stage.wait_settled()
        assert stage.wait_state("idle")["detail"] == (
            "publishes without a lease: the broker's user may not declare queues")
        assert stage.report().exact()

        stage.pg.execute("""SELECT outbox.alter_relay('default', '{"lease": false}')""")
        wait_until(lambda: stage.stats()["state"] == "idle" and not stage.stats()["detail"], 20, "no lease is asked for")
    finally:
        stage.broker.ctl("delete_user", "writer")
