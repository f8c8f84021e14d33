"""Several relays over one log: each with its own position, filter, state and errors."""

import threading
import time
from datetime import timedelta

import psycopg
import pytest

from harness import backlog, checker, workload
from harness.consumer import read_queue
from harness.waiting import wait_until
from harness.workload import Writers


class Relay:
    """A relay of a name, the fanout exchange and the queue of the same name."""

    def __init__(self, stage, name):
        self.stage = stage
        self.name = name
        self.received = []
        stage.broker.declare(name, name, exchange_type="fanout", binding="")

    def create(self, session=None, **options):
        options = {"exchange": self.name, "exchange_type": "fanout", **options}
        sql = "SELECT outbox.create_relay(%s, %s)"
        arguments = (self.name, psycopg.types.json.Jsonb(options))
        session.execute(sql, arguments) if session else self.stage.pg.execute(sql, arguments)
        return self

    def stats(self):
        with self.stage.pg.connect() as session:
            cursor = session.execute("SELECT * FROM outbox.stats() WHERE relay = %s ORDER BY lane", (self.name,))
            names = [column.name for column in cursor.description]
            return [dict(zip(names, row)) for row in cursor.fetchall()]

    def wait_state(self, state, timeout=30):
        wait_until(lambda: all(lane["state"] == state for lane in self.stats()), timeout, f"{self.name} is {state}")
        return self.stats()[0]

    def wait_settled(self, timeout=60):
        wait_until(lambda: all(lane["pid"] and lane["backlog"] == 0 for lane in self.stats()), timeout,
                   f"{self.name} has settled everything")

    def read(self, expected=(), timeout=60):
        new = read_queue(self.stage.broker, self.name, expected, timeout)
        self.received += new
        return new

    def report(self, committed, timeout=60):
        missing = {row[0] for row in committed} - {message.event_id for message in self.received}
        self.read(missing, timeout)
        return checker.check(committed, self.received)

    def clean(self):
        self.stage.broker.delete(queues=[self.name], exchanges=[self.name])


@pytest.fixture
def make_relay(stage):
    made = []

    def make(name):
        made.append(Relay(stage, name))
        return made[-1]

    yield make
    for relay in made:
        relay.clean()


def entities(messages):
    return [int(message.key[1]) for message in messages]


def bodies(messages):
    return [message.envelope["payload"]["data"]["body"] for message in messages]


def test_two_relays_each_deliver_every_event_once_and_in_order_while_writers_write(stage, make_relay):
    second = make_relay("second").create()
    with stage.pg.connect() as session:
        workload.prepare(session)
    Writers(stage.pg, count=6, duration=5).finish()
    committed = checker.committed_events(stage.pg)
    first_report, second_report = stage.report(), second.report(committed)
    assert first_report.exact(), first_report
    assert second_report.exact(), second_report
    assert {row[0] for row in stage.pg.execute("SELECT relay FROM outbox.stats()")} == {"default", "second"}


def test_a_new_relay_begins_now_unless_it_is_told_otherwise(stage, make_relay):
    stage.write(10)
    stage.wait_settled()
    late = make_relay("late").create()
    assert late.stats()[0]["backlog"] == 0
    stage.pg.execute("UPDATE item SET body = 'new' WHERE id <= 3")
    late.wait_settled()
    assert bodies(late.read()) == ["new"] * 3


def test_what_was_open_when_it_began_is_delivered_and_so_is_what_its_own_transaction_writes(stage, make_relay):
    stage.write(10)
    stage.wait_settled()
    late = make_relay("late")
    with stage.pg.connect(autocommit=False) as writer, stage.pg.connect(autocommit=False) as creator:
        writer.execute("UPDATE item SET body = 'open' WHERE id = 1")
        creator.execute("UPDATE item SET body = 'own before' WHERE id = 2")
        # Later transactions have ended by then: the creator's lies below the snapshot's xmax.
        stage.pg.execute("UPDATE item SET body = 'old' WHERE id = 4")
        late.create(creator)
        creator.execute("UPDATE item SET body = 'own after' WHERE id = 3")
        creator.commit()
        late.wait_state("idle")
        writer.commit()
    late.wait_settled()
    assert sorted(bodies(late.read())) == ["open", "own after", "own before"]


def test_a_relay_from_the_beginning_delivers_the_whole_log_in_order(stage, make_relay):
    stage.write(3000)
    stage.pg.execute("UPDATE item SET version = version + 1")
    stage.wait_settled()
    late = make_relay("late").create(start="beginning", batch_size=100)
    stage.pg.execute("UPDATE item SET version = version + 1")
    report = late.report(checker.committed_events(stage.pg))
    assert report.committed == 9000
    assert report.exact(), report


def test_a_relay_from_a_time_delivers_what_was_captured_then_and_what_was_committed_after_its_creation(stage, make_relay):
    stage.write(5)
    with stage.pg.connect(autocommit=False) as writer:
        writer.execute("UPDATE item SET body = 'captured before, committed after' WHERE id = 1")
        stage.pg.execute("UPDATE item SET body = 'before' WHERE id = 2")
        start = stage.pg.value("SELECT clock_timestamp()")
        stage.pg.execute("UPDATE item SET body = 'after' WHERE id = 3")
        late = make_relay("late").create(start=start.isoformat())
        writer.commit()
    late.wait_settled()
    assert sorted(bodies(late.read())) == ["after", "captured before, committed after"]


@pytest.mark.parametrize("start", ["tomorrow", "infinity", "no time", 5])
def test_a_start_that_cannot_be_is_refused_and_nothing_is_made(stage, start):
    with pytest.raises(psycopg.errors.DataError):
        stage.pg.execute("SELECT outbox.create_relay('late', %s)", (psycopg.types.json.Jsonb({"start": start}),))
    assert stage.pg.value("SELECT count(*) FROM outbox.relay WHERE name = 'late'") == 0


def test_a_filter_chooses_by_event_type_entity_and_initiator_and_what_it_leaves_out_is_no_backlog(stage, make_relay):
    chosen = make_relay("chosen").create(event_types=["order.*", "!*.dra?t"], entities="ord*", initiator_types=["!SYSTEM"])
    for event_type, entity, initiator in (("order.paid", "order", "USER"), ("order.draft", "order", "USER"),
                                          ("invoice.paid", "order", "USER"), ("order.sent", "order", "SYSTEM"),
                                          ("order.sent", "shipment", "USER"), ("order.sent", None, "USER"),
                                          ("order.sent", "orders", "API")):
        stage.pg.execute("SELECT outbox.emit(%s, '{}', entity_type => %s, initiator_type => %s)",
                         (event_type, entity, initiator))
    chosen.wait_settled()
    assert [message.event_type for message in chosen.read()] == ["order.paid", "order.sent"]
    wait_until(lambda: chosen.stats()[0]["filtered"] == 5, 10, "the others are counted")
    assert len(stage.read()[1]) == 7, "the other relay has them all"
    # The position passes over them, and says so on disk: nothing is read again after a restart.
    wait_until(lambda: stage.pg.value("SELECT count(*) FROM outbox.relay r, LATERAL (SELECT done FROM outbox.progress p"
                                      " WHERE p.relay_id = r.relay_id ORDER BY seq DESC LIMIT 1) AS p, outbox.event e"
                                      " WHERE r.name = 'chosen' AND NOT pg_visible_in_snapshot(e.xid, p.done)") == 0,
               10, "progress is recorded")


def test_a_filter_that_leaves_out_very_many_events_delivers_the_one_behind_them(stage, make_relay):
    rare = make_relay("rare").create(event_types="rare")
    stage.pg.set(outbox_relay__batch_size=10)
    with stage.pg.connect() as session:
        session.execute("SELECT outbox.pause('default')")
        session.execute("SELECT count(outbox.emit('common', '{}')) FROM generate_series(1, 20000)")
        session.execute("SELECT outbox.emit('rare', '{}')")
    assert [message.event_type for message in rare.read([None], timeout=20)] == ["rare"]
    assert rare.stats()[0]["filtered"] == 20_000


def test_a_filter_changed_while_the_relay_runs_holds_from_then_on_without_a_repeat(stage, make_relay):
    chosen = make_relay("chosen").create(event_types="never")
    stage.write(100)
    # What a filter leaves out is no backlog, read or not: its count tells that the lane has passed it.
    wait_until(lambda: chosen.stats()[0]["filtered"] == 100, 30, "the lane has passed what its filter leaves out")
    stage.pg.execute("SELECT outbox.alter_relay('chosen', '{\"event_types\": null}')")
    stage.pg.execute("UPDATE item SET version = version + 1")
    chosen.wait_settled()
    assert len(chosen.read()) == 100
    assert chosen.stats()[0]["republished"] == 0


def test_a_paused_relay_rests_says_who_and_why_and_goes_on_where_it_was(stage, make_relay):
    second = make_relay("second").create()
    stage.write(100)
    second.wait_settled()
    with stage.pg.connect() as session:
        workload.prepare(session)
    writers = Writers(stage.pg, count=4, duration=6)
    time.sleep(1)
    stage.pg.execute("SELECT outbox.pause('second', 'a new consumer is on its way')")
    now = second.wait_state("paused")
    assert now["detail"] == "by postgres: a new consumer is on its way"
    assert now["since"] is not None
    confirmed = now["confirmed"]
    assert confirmed > 100
    time.sleep(1)
    assert second.stats()[0]["confirmed"] == confirmed
    assert second.stats()[0]["backlog"] > 0
    assert second.stats()[0]["pid"] is None
    stage.pg.execute("SELECT outbox.resume('second')")
    writers.finish()
    committed = checker.committed_events(stage.pg)
    report = second.report(committed)
    assert report.exact(), report
    assert stage.report().exact()
    assert 'relay "second" is paused' in stage.pg.log_text()
    assert "a new consumer is on its way" in stage.pg.log_text()


def test_a_paused_relay_stays_paused_over_a_restart_of_the_server(stage, make_relay):
    second = make_relay("second").create()
    stage.pg.execute("SELECT outbox.pause('second')")
    stage.write(10)
    stage.wait_settled()
    stage.pg.restart()
    stage.pg.execute("UPDATE item SET version = 2")
    stage.wait_settled()
    assert second.wait_state("paused")["detail"] == "by postgres"
    assert second.read() == []
    stage.pg.execute("SELECT outbox.resume('second')")
    second.wait_settled()
    assert len(second.read()) == 20


def test_a_dropped_relay_ends_and_gives_its_place_and_position_back(stage, make_relay):
    second = make_relay("second").create()
    stage.write(100)
    second.wait_settled()
    (old_id,) = stage.pg.execute("SELECT relay_id FROM outbox.relay WHERE name = 'second'")[0]
    stage.pg.execute("SELECT outbox.drop_relay('second')")
    wait_until(lambda: len(stage.pg.pids("outbox_relay lane")) == 1, 15, "its lane has ended")
    wait_until(lambda: stage.pg.value("SELECT count(*) FROM outbox.progress WHERE relay_id = %s", (old_id,)) == 0, 15,
               "its progress is gone")
    second.read()
    assert second.stats() == []
    second.create()
    assert stage.pg.value("SELECT relay_id FROM outbox.relay WHERE name = 'second'") > old_id
    assert second.stats()[0]["confirmed"] == 0, "another relay of that name counts from zero"
    stage.pg.execute("UPDATE item SET version = 2")
    second.wait_settled()
    assert len(second.read()) == 100


def test_relays_that_come_and_go_use_up_no_places(stage):
    stage.write(1)
    for i in range(40):     # more than the server has workers
        stage.pg.execute("SELECT outbox.create_relay('passing', '{\"exchange\": \"\"}')")
        if i % 8 == 0:
            wait_until(lambda: len(stage.pg.pids("outbox_relay lane%")) == 2, 20, "its lane runs")
        stage.pg.execute("SELECT outbox.drop_relay('passing')")
    stage.pg.execute("SELECT outbox.create_relay('passing')")
    wait_until(lambda: len(stage.pg.pids("outbox_relay lane%")) == 2, 20, "the last one's lane runs")


def test_the_relay_default_stays_dropped(stage, make_relay):
    second = make_relay("second").create()
    stage.pg.execute("SELECT outbox.drop_relay('default')")
    stage.write(10)
    second.wait_settled()
    stage.pg.restart()
    stage.pg.execute("UPDATE item SET version = 2")
    assert len(second.read([None], timeout=5)) == 20
    assert [row[0] for row in stage.pg.execute("SELECT relay FROM outbox.stats()")] == ["second"]
    assert stage.broker.depth(stage.queue) == 0
    stage.pg.execute("SELECT outbox.create_relay('default', '{\"start\": \"beginning\"}')")
    assert stage.report().exact()


def test_one_relay_in_trouble_slows_no_other(stage, make_relay, note):
    """The exchange of one is of a type that the broker does not know: each of its connections fails."""
    ill = make_relay("ill").create(exchange="nowhere", exchange_type="no such type")
    stage.write(1)
    ill.wait_state("backing off")
    delays = []
    for i in range(50):
        stage.pg.execute("UPDATE item SET version = version + 1")
        time.sleep(0.05)
    stage.wait_settled()
    now = stage.stats()
    note(f"delay of the other beside it: p50 {now['delay_p50']}, p99 {now['delay_p99']}")
    assert now["delay_p99"] < timedelta(seconds=0.5)
    assert now["reconnects"] == 0
    (sick,) = ill.stats()
    assert sick["state"] in ("backing off", "connecting") and "no such type" in sick["last_error"]
    assert sick["backlog"] == 51
    ill.stage.pg.execute("SELECT outbox.alter_relay('ill', '{\"exchange\": \"ill\", \"exchange_type\": \"fanout\"}')")
    report = ill.report(checker.committed_events(stage.pg))
    assert report.exact(), report


def test_paused_relays_leave_the_keeper_alone_when_others_commit(stage):
    """A commit wakes the keeper only while there has never been an event."""
    stage.write(1)
    stage.wait_settled()
    stage.pg.execute("SELECT outbox.pause('default')")
    stage.wait_state("paused")
    looks = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'"
    (keeper,) = stage.pg.pids("outbox_relay keeper")
    switches = lambda: sum(int(line.split()[1]) for line in open(f"/proc/{keeper}/status")
                           if line.startswith("voluntary_ctxt"))
    before = switches()
    with stage.pg.connect() as session:
        for _ in range(500):
            session.execute("UPDATE item SET version = version + 1")
    assert switches() - before < 50
