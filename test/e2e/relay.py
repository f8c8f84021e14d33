"""The relay while it runs: its options, its settings, its statistics."""

import time

import psycopg
import pytest

from harness import checker, workload
from harness.consumer import read_queue
from harness.waiting import wait_until
from harness.workload import Writers


@pytest.fixture
def second_queue(broker):
    yield broker.declare("second", "other", exchange_type="fanout", binding="")
    broker.delete(queues=["second"], exchanges=["other"])


def test_alter_relay_moves_a_running_relay_to_another_exchange_without_loss_repeat_or_disorder(stage, second_queue):
    with stage.pg.connect() as session:
        workload.prepare(session)
    writers = Writers(stage.pg, count=6, duration=6)
    stage.wait_confirmed(workload.ROWS + 200)
    stage.pg.execute("""SELECT outbox.alter_relay('default', '{"exchange": "other", "exchange_type": "fanout"}')""")
    writers.finish()
    committed = checker.committed_events(stage.pg)
    last = {committed[-1][0]}
    second = read_queue(stage.broker, second_queue, last, keep=False)
    first = read_queue(stage.broker, stage.queue, (), keep=False)
    report = checker.check(committed, first + second)
    assert first and second
    assert report.exact(), report


def test_alter_relay_tells_which_options_there_are_and_puts_defaults_back(stage):
    options = stage.pg.value("""SELECT outbox.alter_relay('default', '{"exchange": "a", "exchange_type": "topic"}')""")
    assert options == {"exchange": "a", "exchange_type": "topic"}
    assert stage.pg.value("""SELECT outbox.alter_relay('default', '{"exchange": null}')""") == {"exchange_type": "topic"}
    with pytest.raises(psycopg.errors.InvalidParameterValue) as refused:
        stage.pg.execute("""SELECT outbox.alter_relay('default', '{"exhcange": "a"}')""")
    assert "exhcange" in refused.value.diag.message_primary
    assert "exchange" in refused.value.diag.message_hint
    with pytest.raises(psycopg.errors.UndefinedObject):
        stage.pg.execute("SELECT outbox.alter_relay('nobody', '{}')")


def test_a_rolled_back_alter_relay_changes_nothing(stage):
    with stage.pg.connect(autocommit=False) as session:
        session.execute("""SELECT outbox.alter_relay('default', '{"exchange": "nowhere"}')""")
        session.rollback()
    stage.write(100)
    assert stage.report().exact()


def test_body_and_routing_key_are_options(stage):
    stage.pg.execute("""SELECT outbox.alter_relay('default', '{"body": "payload",
                                                  "routing_key": "{entity_type}.{entity_id}"}')""")
    stage.write(1)
    _, (message,) = stage.read()
    assert message.routing_key == "item.1"
    assert message.envelope == {"data": {"id": 1, "version": 1, "body": "b" * 300}, "previous_attributes": {}}


def test_stats_tell_what_the_relay_did(stage):
    stage.write(2000)
    stage.wait_settled()
    now = stage.stats()
    assert now["state"] == "idle"
    assert now["published"] == now["confirmed"] == 2000
    assert now["returned"] == now["refused"] == now["republished"] == 0
    assert now["backlog"] == now["in_flight"] == now["claimed"] == 0
    assert now["oldest_claim"] is None
    assert now["bytes"] > 2000 * 300
    assert 0 < now["delay_p50"].total_seconds() <= now["delay_p95"].total_seconds() <= now["delay_p99"].total_seconds() < 60
    assert now["pid"] in stage.pg.pids("outbox_relay lane%")
    assert 0 < now["memory"] < 100e6
    assert now["broker"] == f"amqp://guest@127.0.0.1:{stage.broker.port}/%2F"


@pytest.mark.server(connected=False)
def test_stats_count_a_long_backlog_exactly(stage, note):
    stage.write(50_000)
    stage.wait_state("unconfigured")
    began = time.monotonic()
    with stage.pg.connect() as session:
        (backlog,) = session.execute("SELECT backlog FROM outbox.stats()").fetchone()
    took = time.monotonic() - began
    note(f"{took * 1000:.0f} ms")
    assert backlog == 50_000


@pytest.mark.server(connected=False)
def test_stats_say_that_no_broker_is_set_and_count_what_waits(stage):
    stage.write(500)
    now = stage.wait_state("unconfigured")
    assert "outbox_relay.amqp_url" in now["detail"]
    wait_until(lambda: stage.stats()["backlog"] == 500, 10, "the backlog is counted")
    assert stage.stats()["oldest_pending"] is not None
    stage.connect_broker()
    assert stage.report().exact()


@pytest.mark.server(outbox_relay__amqp_url="amqp://nobody:wrong@127.0.0.1:1/%2f")
def test_stats_say_why_a_broker_cannot_be_reached_and_a_reload_mends_it(stage):
    stage.write(10)
    now = stage.wait_state("backing off")
    assert now["last_error"]
    assert now["last_error_at"] is not None
    stage.connect_broker()
    assert stage.report().exact()


def test_settings_changed_by_a_reload_hold_from_then_on_without_repeats(stage):
    with stage.pg.connect() as session:
        workload.prepare(session)
    writers = Writers(stage.pg, count=6, duration=60)
    for in_flight in (1, 100, 4096):
        stage.pg.set(outbox_relay__max_in_flight=in_flight, outbox_relay__batch_size=in_flight)
        time.sleep(1)
        confirmed = stage.stats()["confirmed"]
        wait_until(lambda: stage.stats()["confirmed"] > confirmed, 10, "the relay goes on")
        assert stage.stats()["in_flight"] <= in_flight
    writers.stop()
    report = stage.report()
    assert report.exact(), report


def test_reclaim_takes_claimed_events_up_again_and_loses_none(stage, note):
    with stage.broker.blocking():
        stage.write(3000)
        wait_until(lambda: stage.stats().get("claimed", 0) > 0, 15, "events are claimed")
        reconnects = stage.stats()["reconnects"]
        assert stage.pg.value("SELECT outbox.reclaim('1 hour')") == 0, "younger claims are left alone"
        reclaimed = stage.pg.value("SELECT outbox.reclaim('0 seconds', 'default')")
        assert reclaimed > 0
        wait_until(lambda: stage.stats()["reconnects"] > reconnects, 15, "the lane drops its connection")
    report = stage.report()
    note(f"reclaimed {reclaimed}: {report}")
    assert report.nothing_wrong(), report
    with pytest.raises(psycopg.errors.UndefinedObject):
        stage.pg.execute("SELECT outbox.reclaim('0 seconds', 'nobody')")


def test_a_reload_to_another_user_of_the_broker_keeps_order_and_loses_nothing(stage):
    stage.broker.add_user("second_user", "secret")
    with stage.pg.connect() as session:
        workload.prepare(session)
    writers = Writers(stage.pg, count=6, duration=5)
    stage.wait_confirmed(workload.ROWS + 100)
    stage.pg.set(outbox_relay__amqp_url=stage.broker.url("second_user", "secret"))
    wait_until(lambda: "second_user" in (stage.stats().get("broker") or ""), 15, "the relay uses the new URL")
    writers.finish()
    report = stage.report()
    assert report.exact(), report


def test_an_event_too_large_for_the_broker_is_never_sent_but_dead_at_once_and_its_key_goes_on(stage):
    stage.pg.set(outbox_relay__max_message_size="64kB")
    stage.write(1, size=1000)
    stage.wait_settled()
    stage.pg.execute("UPDATE item SET body = repeat('x', 100000)")
    stage.pg.execute("UPDATE item SET body = 'small'")      # too large as well: it says what the body was
    stage.pg.execute("UPDATE item SET version = 10")
    wait_until(lambda: stage.stats()["dead"] == 2, 15, "the large ones are dead")
    assert stage.stats()["parked"] == 0
    assert "65536" in stage.stats()["last_error"]
    dead = stage.pg.execute("SELECT state, reason, attempts, last_error LIKE '%65536%' FROM outbox.parked")
    assert dead == [("dead", "unfit", 0, True)] * 2
    messages = read_queue(stage.broker, stage.queue, (), quiet=2)
    assert [message.envelope["payload"]["data"]["version"] for message in messages] == [1, 10]
