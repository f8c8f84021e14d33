"""Events that do not get through: parked beside the others, tried again, in order, and given up only by the rules."""

import time

import psycopg
import pytest

from harness import processes, workload
from harness.consumer import read_queue
from harness.waiting import wait_until
from harness.workload import Writers


def emit(stage, event_type, key=None, count=1, payload="{}"):
    """Commits events of the entity ('thing', key); unordered if key is None."""
    stage.pg.execute("SELECT outbox.emit(%s, %s::jsonb, CASE WHEN %s::text IS NOT NULL THEN 'thing' END, %s::text)"
                     " FROM generate_series(1, %s)", (event_type, payload, key, key, count))


def parked(stage, condition="true"):
    """[(event type, entity id, state, reason, attempts)] of the parked rows, in the order of ids."""
    return stage.pg.execute("SELECT event_type, entity_id, state, reason, attempts FROM outbox.parked"
                            f" WHERE {condition} ORDER BY id")


def wait_parked(stage, count, condition="true", timeout=30):
    wait_until(lambda: len(parked(stage, condition)) == count, timeout, f"{count} rows are in outbox.parked ({condition})")


def types(messages):
    return [message.event_type for message in messages]


@pytest.fixture
def only(stage):
    """only(binding, ...): the queue takes these routing keys and no others."""
    def bind(*bindings, **arguments):
        stage.broker.delete(queues=[stage.queue])
        for binding in bindings:
            stage.broker.declare(stage.queue, binding=binding, **arguments)
    return bind


def test_an_unroutable_event_is_parked_while_all_others_flow_and_follows_in_order_once_a_queue_is_bound(stage, only):
    only("good.#")
    emit(stage, "good.first", "1")
    emit(stage, "bad.first", "1")
    emit(stage, "good.second", "1")
    emit(stage, "bad.second", "2")
    emit(stage, "good.third", "3")
    emit(stage, "bad.third")
    wait_parked(stage, 4)
    assert parked(stage) == [("bad.first", "1", "parked", "unroutable", 0), ("good.second", "1", "parked", "waiting", 0),
                             ("bad.second", "2", "parked", "unroutable", 0), ("bad.third", None, "parked", "unroutable", 0)]
    assert types(read_queue(stage.broker, stage.queue, (), quiet=1)) == ["good.first", "good.third"]
    emit(stage, "good.fourth", "1")
    emit(stage, "good.fifth", "3")
    wait_parked(stage, 5)
    assert types(read_queue(stage.broker, stage.queue, (), quiet=1)) == ["good.fifth"]
    now = stage.stats()
    assert now["parked"] == 5 and now["dead"] == 0 and now["backlog"] == 0
    assert "bad.first" in now["detail"]
    stage.broker.declare(stage.queue, binding="bad.#")
    wait_parked(stage, 0)
    late = read_queue(stage.broker, stage.queue, (), quiet=1)
    assert sorted(types(late)) == ["bad.first", "bad.second", "bad.third", "good.fourth", "good.second"]
    assert [message.event_type for message in late if message.key[1] == "1"] == ["bad.first", "good.second", "good.fourth"]
    assert not any("outbox-late" in message.headers for message in late)
    assert stage.stats()["order_breaks"] == 0


def test_of_an_unroutable_routing_key_one_event_is_tried_and_one_warning_is_logged(stage, only):
    only("good.#")
    emit(stage, "bad.type", "1")
    wait_parked(stage, 1)
    returned = stage.stats()["returned"]
    stage.pg.execute("SELECT outbox.emit('bad.type', '{}', 'thing', i::text) FROM generate_series(1, 10000) AS i")
    wait_parked(stage, 10_001)
    assert stage.stats()["returned"] <= returned + 6
    assert stage.pg.log_text().count('routing key "bad.type"') == 1
    stage.broker.declare(stage.queue, binding="#")
    wait_parked(stage, 0)
    assert stage.report().exact()


# Refused

def fill(stage, binding="#"):
    """A queue for the routing keys that takes no message, whatever is read from it."""
    stage.broker.delete(queues=[stage.queue])
    stage.broker.declare(stage.queue, binding=binding, **{"x-max-length": 0, "x-overflow": "reject-publish"})


def make_room(stage, binding="#"):
    stage.broker.delete(queues=[stage.queue])
    stage.broker.declare(stage.queue, binding=binding)


def alter(stage, options):
    stage.pg.execute("SELECT outbox.alter_relay('default', %s::jsonb)", (options,))


def test_a_refused_event_is_parked_with_its_key_tried_again_and_delivered_in_order_when_there_is_room(stage, broker):
    fill(stage, "full.#")
    broker.declare("other", binding="good.#")
    try:
        emit(stage, "full.first", "1")
        emit(stage, "good.second", "1")
        emit(stage, "good.third", "2")
        wait_until(lambda: parked(stage, "attempts >= 2"), 30, "it was tried again")
        assert [(row[0], row[3]) for row in parked(stage)] == [("full.first", "refused"), ("good.second", "waiting")]
        assert types(read_queue(broker, "other", (), quiet=0.5)) == ["good.third"]
        make_room(stage, "full.#")
        assert stage.pg.value("SELECT outbox.retry('default')") == 1
        wait_parked(stage, 0, timeout=5)
        assert types(read_queue(broker, stage.queue, (), quiet=0.5)) == ["full.first"]
        assert types(read_queue(broker, "other", (), quiet=0.5)) == ["good.second"]
        assert stage.stats()["refused"] >= 2
    finally:
        broker.delete(queues=["other"])


def test_an_event_is_dead_after_max_attempts_its_key_goes_on_and_a_redriven_one_says_that_it_is_late(stage, broker):
    alter(stage, '{"max_attempts": 2}')
    fill(stage, "full.#")
    broker.declare("other", binding="good.#")
    try:
        emit(stage, "full.first", "1")
        emit(stage, "good.second", "1")
        wait_parked(stage, 1, "state = 'dead' AND reason = 'refused' AND attempts = 2 AND last_error LIKE '%basic.nack%'")
        wait_parked(stage, 1)
        assert types(read_queue(broker, "other", (), quiet=1)) == ["good.second"]
        assert stage.stats()["dead"] == 1 and stage.stats()["parked"] == 0
        make_room(stage, "full.#")
        assert stage.pg.value("SELECT outbox.redrive('default')") == 1
        wait_parked(stage, 0)
        (late,) = read_queue(broker, stage.queue, (), quiet=1)
        assert late.event_type == "full.first" and late.headers["outbox-late"] is True
        assert stage.stats()["order_breaks"] == 1
    finally:
        broker.delete(queues=["other"])


@pytest.mark.parametrize("decision", ["redrive", "discard", "skip"])
def test_with_on_dead_block_the_key_waits_until_someone_decides(stage, broker, decision):
    alter(stage, '{"max_attempts": 1, "on_dead": "block"}')
    fill(stage, "full.#")
    broker.declare("other", binding="good.#")
    try:
        emit(stage, "full.first", "1")
        emit(stage, "good.second", "1")
        emit(stage, "good.third", "2")
        wait_parked(stage, 2)
        assert types(read_queue(broker, "other", (), quiet=1)) == ["good.third"]
        blocked = stage.pg.execute("SELECT relay, entity_type, ordering_key, state, reason, waiting FROM outbox.blocked_keys")
        assert blocked == [("default", "thing", "1", "dead", "refused", 1)]
        stage.pg.kill(stage.lane_pid())
        emit(stage, "good.fourth", "1")
        wait_parked(stage, 3)
        make_room(stage, "full.#")
        dead = stage.pg.value("SELECT id FROM outbox.parked WHERE state = 'dead'")
        stage.pg.execute({"redrive": "SELECT outbox.redrive('default', %s)",
                          "discard": "SELECT outbox.discard('default', %s, 'not wanted')",
                          "skip": "SELECT outbox.skip('default', %s, 'not wanted')"}[decision], (dead,))
        wait_parked(stage, 0, "state = 'parked'")
        assert types(read_queue(broker, "other", (), quiet=1)) == ["good.second", "good.fourth"]
        first = read_queue(broker, stage.queue, (), quiet=0.5)
        assert types(first) == (["full.first"] if decision == "redrive" else [])
        assert not any("outbox-late" in message.headers for message in first), "its key waited for it"
        assert [row[2:4] for row in parked(stage)] == ([("dead", "skipped")] if decision == "skip" else [])
        assert stage.stats()["discarded"] == (1 if decision == "discard" else 0)
    finally:
        broker.delete(queues=["other"])


def test_twenty_refusals_in_a_row_hold_the_lane_which_charges_no_attempt_from_then_on(stage):
    fill(stage)
    stage.pg.execute("SELECT outbox.emit('full.type', '{}', 'thing', i::text) FROM generate_series(1, 3000) AS i")
    now = stage.wait_state("holding")
    assert "basic.nack" in now["detail"]
    time.sleep(5)
    now = stage.wait_state("holding", "probing")
    assert now["parked"] == 19 and now["backlog"] == 3000 - 19
    assert now["refused"] <= 3000 + 6, "after what was in flight, a lane that holds tries one event at a time"
    assert {row[4] for row in parked(stage)} == {1}
    make_room(stage)
    stage.pg.execute("SELECT outbox.retry('default')")
    wait_parked(stage, 0)
    stage.wait_settled()
    report = stage.report()
    assert report.exact(), report


# Unroutable, and above the limits

def test_on_unroutable_discard_drops_it_counts_it_and_lets_its_key_go_on(stage, only):
    alter(stage, '{"on_unroutable": "discard"}')
    only("good.#")
    emit(stage, "bad.type", "1", count=50)
    emit(stage, "good.type", "1")
    assert types(read_queue(stage.broker, stage.queue, (), quiet=2)) == ["good.type"]
    now = stage.stats()
    assert now["discarded"] == 50 and now["parked"] == now["dead"] == 0
    assert stage.pg.log_text().count('routing key "bad.type"') == 1


def test_what_no_queue_takes_within_unroutable_ttl_is_dead_and_its_key_goes_on(stage, only):
    alter(stage, '{"unroutable_ttl": 3}')
    only("good.#")
    emit(stage, "bad.type", "1")
    emit(stage, "bad.type", "2")
    emit(stage, "good.type", "1")
    wait_parked(stage, 3)
    assert types(read_queue(stage.broker, stage.queue, (), quiet=0.2)) == []
    wait_parked(stage, 2, "state = 'dead' AND reason = 'unroutable' AND attempts = 0 AND last_error LIKE '%NO_ROUTE%'")
    assert types(read_queue(stage.broker, stage.queue, (), quiet=1)) == ["good.type"]
    assert stage.stats()["parked"] == 0


def test_above_max_parked_the_lane_reads_no_more_names_the_routing_keys_and_goes_on_when_they_are_out(stage, only):
    alter(stage, '{"max_parked": 100, "max_in_flight": 50, "batch_size": 50}')
    only("good.#")
    emit(stage, "bad.type", count=1000)
    emit(stage, "good.type")
    now = stage.wait_state("holding")
    assert "bad.type" in now["detail"]
    time.sleep(2)
    now = stage.stats()
    assert 100 <= now["parked"] <= 200 and now["parked"] + now["backlog"] == 1001
    assert types(read_queue(stage.broker, stage.queue, (), quiet=0.5)) == []
    stage.broker.declare(stage.queue, binding="#")
    report = stage.report()
    assert report.exact(), report
    wait_parked(stage, 0)


def test_a_message_that_fits_no_broker_is_dead_and_redriven_when_it_fits(stage):
    stage.pg.set(outbox_relay__max_message_size="64kB")
    stage.pg.execute("SELECT outbox.emit('large', to_jsonb(repeat('x', 100000)))")
    wait_parked(stage, 1, "state = 'dead' AND reason = 'unfit' AND attempts = 0")
    stage.pg.execute("SELECT outbox.redrive('default')")
    wait_parked(stage, 1, "state = 'dead' AND reason = 'unfit'")
    stage.pg.set(outbox_relay__max_message_size="1MB")
    stage.pg.execute("SELECT outbox.redrive('default')")
    wait_parked(stage, 0)
    (message,) = read_queue(stage.broker, stage.queue, (), quiet=1)
    assert len(message.envelope["payload"]) == 100_000
    assert "outbox-late" not in message.headers, "an unordered event has no order to break"


# By hand

@pytest.mark.server(connected=False)
def test_a_skipped_event_of_the_log_is_never_sent_and_its_key_goes_on(stage):
    for number in range(3):
        emit(stage, f"thing.{number}", "1")
    ids = [row[0] for row in stage.pg.execute("SELECT id FROM outbox.event ORDER BY id")]
    stage.pg.execute("SELECT outbox.skip('default', %s, 'it breaks the consumer')", (ids[1],))
    assert stage.pg.value("SELECT outbox.discard('default')") == 0, "or the lane would send it after all"
    stage.connect_broker()
    assert types(read_queue(stage.broker, stage.queue, (), quiet=3)) == ["thing.0", "thing.2"]
    error = stage.pg.value("SELECT last_error FROM outbox.parked WHERE state = 'dead' AND reason = 'skipped'")
    assert error == "skipped by postgres: it breaks the consumer"
    stage.wait_settled()
    wait_until(lambda: stage.pg.value("SELECT outbox.discard('default')") == 1, 10, "the lane has passed it")


def test_a_transaction_that_decides_about_parked_events_and_stays_open_stops_nobody(stage, only):
    only("good.#")
    emit(stage, "bad.type", "1")
    wait_parked(stage, 1)
    with stage.pg.connect(autocommit=False) as session:
        session.execute("SELECT outbox.discard('default', id) FROM outbox.parked")
        pid = stage.lane_pid()
        emit(stage, "good.type", "2", count=100)
        emit(stage, "bad.type", "3")
        assert len(read_queue(stage.broker, stage.queue, (), quiet=3)) == 100
        assert stage.lane_pid() == pid and stage.stats()["reconnects"] == 0
        session.rollback()
    wait_parked(stage, 2)
    stage.broker.declare(stage.queue, binding="#")
    wait_parked(stage, 0)
    assert types(read_queue(stage.broker, stage.queue, (), quiet=1)) == ["bad.type", "bad.type"]


def test_a_dump_carries_parked_events_and_the_restored_relay_sends_them_once_it_is_adopted(stage, only):
    only("good.#")
    emit(stage, "bad.type", "1", payload='{"n": 1.50}')
    emit(stage, "good.type", "1")
    emit(stage, "bad.type", "2")
    wait_parked(stage, 3)
    stage.pg.execute("SELECT outbox.skip('default', max(id), 'for the test') FROM outbox.parked")
    rows = parked(stage)
    dump = stage.pg.directory / "dump"
    processes.run([str(stage.pg.bin / "pg_dump"), "-h", "127.0.0.1", "-p", str(stage.pg.port), "-U", "postgres",
                   "-d", "postgres", "-f", str(dump)])
    stage.pg.execute("DROP EXTENSION outbox_relay CASCADE")
    stage.pg.execute("CREATE DATABASE copy TEMPLATE template0")
    stage.pg.psql("-f", str(dump), dbname="copy")
    assert stage.pg.execute("SELECT event_type, entity_id, state, reason, attempts FROM outbox.parked ORDER BY id",
                            dbname="copy") == rows
    stage.broker.declare(stage.queue, binding="#")
    assert read_queue(stage.broker, stage.queue, (), quiet=2) == [], "nobody has adopted it"
    stage.pg.execute("SELECT outbox.resume('default')", dbname="copy")
    stage.pg.execute("SELECT outbox.emit('good.new', '{}', 'thing', '1')", dbname="copy")
    messages = read_queue(stage.broker, stage.queue, (), quiet=5)
    assert types(messages) == ["bad.type", "good.type", "good.new"]
    assert b'"payload":{"n": 1.50}' in messages[0].body
    assert messages[0].id < messages[2].id


def test_a_relay_begins_with_more_to_change_in_the_table_than_it_reads_at_a_time(stage, only):
    only("good.#")
    alter(stage, '{"batch_size": 1}')
    stage.pg.set(outbox_relay__stop_timeout="200ms")
    emit(stage, "worse.first", "1")
    emit(stage, "bad.behind", "1")
    wait_parked(stage, 2)
    emit(stage, "bad.behind", "2")
    wait_parked(stage, 2, "reason = 'unroutable'")
    with stage.broker.suspended():
        emit(stage, "good.first", "3")      # unsettled when the relay pauses: it is read again
        wait_until(lambda: stage.stats()["in_flight"] == 1, 10, "it is in flight")
        emit(stage, "bad.behind", "4")      # and this one is passed meanwhile
        wait_parked(stage, 4)
        stage.pg.execute("SELECT outbox.pause('default')")
        wait_until(lambda: not stage.stats()["pid"], 10, "the lane has ended")
    # The next of its key comes to the head, of a routing key that no queue takes: the lane notes that as it begins.
    stage.pg.execute("SELECT outbox.discard('default', id) FROM outbox.parked WHERE event_type = 'worse.first'")
    assert [row[3] for row in parked(stage)] == ["waiting", "unroutable", "unroutable"]
    stage.pg.execute("SELECT outbox.resume('default')")
    wait_until(lambda: stage.stats()["backlog"] == 0 and stage.stats()["in_flight"] == 0, 15, "what was left is read again")
    wait_parked(stage, 3, "reason = 'unroutable'")
    stage.broker.declare(stage.queue, binding="bad.#")
    wait_parked(stage, 0)
    assert sorted(set(types(read_queue(stage.broker, stage.queue, (), quiet=1)))) == ["bad.behind", "good.first"]


# Crashes and speed

@pytest.mark.parametrize("ordering", ["strict", "pipelined"])
def test_kills_of_the_lane_while_routing_keys_come_and_go_lose_nothing_and_strict_keeps_the_order(stage, only, note, ordering):
    alter(stage, f'{{"ordering": "{ordering}"}}')
    with stage.pg.connect() as session:
        workload.prepare(session)
    writers = Writers(stage.pg, count=4, duration=12)
    bindings = ["document.created", "document.updated", "document.deleted"]
    for round in range(4):
        _bind(stage, bindings, without=bindings[round % 3])
        time.sleep(1.5)
        stage.pg.kill(wait_until(lambda: running_lane(stage), 30, "a lane runs again"))
        time.sleep(1.5)
    writers.finish()
    _bind(stage, bindings)
    wait_until(lambda: not parked(stage) and stage.stats()["backlog"] == 0, 90, "everything is out")
    report = stage.report()
    note(report)
    assert not report.lost and not report.phantom, report
    if ordering == "strict":
        assert report.nothing_wrong(), report


def running_lane(stage):
    """The lane's pid; None while the server recovers from the last kill."""
    try:
        return stage.stats().get("pid")
    except psycopg.OperationalError:
        return None


def _bind(stage, bindings, without=None):
    with stage.broker.connect() as connection:
        channel = connection.channel()
        channel.queue_unbind(stage.queue, "outbox", "#")
        for binding in bindings:
            bind = channel.queue_unbind if binding == without else channel.queue_bind
            bind(stage.queue, "outbox", binding)


def test_twenty_thousand_parked_events_are_out_in_seconds(stage, only, note):
    only("good.#")
    stage.pg.execute("SELECT outbox.emit('bad.type', '{}', 'thing', (i % 5000)::text) FROM generate_series(1, 20000) AS i")
    wait_parked(stage, 20_000)
    note(f"{stage.stats()['memory'] / 2**20:.0f} MB with 20,000 parked")
    stage.broker.declare(stage.queue, binding="#")
    stage.pg.execute("SELECT outbox.retry('default')")
    began = time.monotonic()
    wait_parked(stage, 0, timeout=25)
    note(f"{20_000 / (time.monotonic() - began):.0f} events/s out of the table")
    report = stage.report()
    assert report.exact(), report


@pytest.mark.server(connected=False)
def test_one_in_a_thousand_refused_lets_all_others_through_at_full_speed(stage, broker, note):
    """The refused ones go to a full queue of their own."""
    fill(stage, "full.#")
    broker.declare("other", binding="good.#")
    try:
        stage.pg.execute("SELECT outbox.emit(CASE WHEN i % 1000 = 0 THEN 'full.type' ELSE 'good.type' END, '{}', 'thing',"
                         " (i % 5000)::text) FROM generate_series(1, 50000) AS i")
        began = time.monotonic()
        stage.connect_broker()
        stage.wait_confirmed(48_000, timeout=60)
        note(f"{48_000 / (time.monotonic() - began):.0f} events/s beside 50 refused ones")
        wait_until(lambda: stage.stats()["backlog"] == 0, 30, "all is settled")
        assert len(parked(stage, "reason = 'refused'")) == 5, "one for each key"
        make_room(stage, "full.#")
        stage.pg.execute("SELECT outbox.retry('default')")
        wait_parked(stage, 0, timeout=30)
        messages = read_queue(broker, "other", (), quiet=1, keep=False) + read_queue(broker, stage.queue, (), quiet=1, keep=False)
        assert len(messages) == 50_000
    finally:
        broker.delete(queues=["other"])
