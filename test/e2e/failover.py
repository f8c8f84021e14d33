"""Several hosts in the broker's URL: the relay goes on with the next when one fails, and loses nothing."""

import pytest

from harness.broker import Broker
from harness.consumer import read_queue
from harness import checker, processes
from harness.waiting import wait_until


@pytest.fixture
def second_broker(workdir):
    made = Broker(workdir / "second").create()
    try:
        yield made.start()
    finally:
        made.remove()


@pytest.mark.server(connected=False)
def test_the_relay_goes_on_with_the_next_host_when_one_fails(stage, second_broker):
    dead = processes.free_port()
    first, second = stage.broker, second_broker
    second.declare(stage.queue)
    hosts = ",".join(f"127.0.0.1:{port}" for port in (dead, first.port, second.port))
    stage.pg.set(outbox_relay__amqp_url=f"amqp://guest:guest@{hosts}/%2f")
    stage.write(200)
    stage.wait_settled()
    assert f":{first.port}/" in stage.stats()["broker"]

    first.stop()
    stage.write(200)
    stage.wait_settled()
    assert f":{second.port}/" in stage.stats()["broker"]

    # It stays with the one that works, and comes back to the first when that one fails.
    first.start()
    stage.write(200)
    stage.wait_settled()
    assert f":{second.port}/" in stage.stats()["broker"]
    second.stop()
    stage.write(200)
    stage.wait_settled()
    assert f":{first.port}/" in stage.stats()["broker"]

    second.start()
    committed = checker.committed_events(stage.pg)
    received = [*read_queue(first, stage.queue, (), keep=False), *read_queue(second, stage.queue, (), keep=False)]
    assert {row[0] for row in committed} == {message.event_id for message in received}
    assert len(received) == len(committed) == 800


@pytest.mark.server(connected=False, outbox_relay__connect_timeout="1s")
def test_all_hosts_are_tried_before_the_relay_backs_off(stage):
    ports = [processes.free_port() for _ in range(3)]
    stage.pg.set(outbox_relay__amqp_url="amqp://" + ",".join(f"127.0.0.1:{port}" for port in ports))
    stage.write(1)
    stage.wait_state("backing off")
    wait_until(lambda: all(f"port {port}: Connection refused" in stage.pg.log_text() for port in ports), 10,
               "each host was tried")
    stage.pg.set(outbox_relay__amqp_url=f"amqp://127.0.0.1:{ports[0]},127.0.0.1:{stage.broker.port}")
    stage.wait_settled(10)
