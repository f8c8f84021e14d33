"""A million events: in one transaction, as a backlog, beside an open transaction. The worker's memory stays flat."""

import threading
import time

import pytest

from harness import checker, processes
from harness.consumer import read_queue
from harness.waiting import wait_until

MEMORY_LIMIT = 100 * 2**20
CLASSIC = {"x-queue-mode": "lazy"}      # the queue's messages wait on the broker's disk, not in its memory


class PeakMemory:
    """The most anonymous memory the lane was seen to use."""

    def __init__(self, stage):
        self.peak = 0
        self._pid = stage.lane_pid()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self):
        while not self._stop.wait(0.01):
            self.peak = max(self.peak, processes.anonymous_memory(self._pid))

    def finish(self):
        self._stop.set()
        self._thread.join(30)
        return self.peak


def prepare(stage):
    stage.broker.delete(queues=[stage.queue])
    stage.broker.declare(stage.queue, **CLASSIC)
    stage.pg.execute("CREATE TABLE IF NOT EXISTS bulk (id bigint PRIMARY KEY, body text); SELECT outbox.track('bulk')")


def insert(stage, events, transactions):
    with stage.pg.connect() as session:
        share = events // transactions
        for number in range(transactions):
            session.execute("INSERT INTO bulk SELECT i, repeat('x', 300) FROM generate_series(%s::bigint, %s::bigint) AS i",
                            (number * share + 1, (number + 1) * share))


def drain(stage, events):
    """Connects the relay; returns seconds until all is confirmed, and the lane's peak memory."""
    memory = PeakMemory(stage)
    began = time.monotonic()
    stage.connect_broker()
    stage.wait_confirmed(events, timeout=events / 1000 + 60)
    return time.monotonic() - began, memory.finish()


def run(stage, note, events, transactions):
    prepare(stage)
    insert(stage, events, transactions)
    seconds, peak = drain(stage, events)
    report = stage.report(timeout=events / 1000 + 60)
    note(f"{events / seconds:.0f} events/s, lane's peak memory {peak / 2**20:.1f} MB; {report}")
    assert report.exact(), report
    assert 0 < peak < MEMORY_LIMIT
    return seconds, peak


MILLION = pytest.param(1_000_000, marks=pytest.mark.long)


@pytest.mark.server(connected=False)
@pytest.mark.parametrize("events", [100_000, MILLION])
def test_one_transaction_of_very_many_events_is_delivered_in_flat_memory(stage, note, events):
    run(stage, note, events, transactions=1)


@pytest.mark.server(connected=False)
@pytest.mark.parametrize("events", [20_000, MILLION])
def test_a_backlog_of_very_many_events_is_delivered_in_flat_memory(stage, note, events):
    run(stage, note, events, transactions=events // 1000)


@pytest.mark.server(connected=False)
@pytest.mark.parametrize("events", [20_000, MILLION])
def test_an_open_transaction_beside_it_changes_nothing(stage, note, events):
    with stage.pg.connect(autocommit=False) as session:
        session.execute("CREATE TABLE unrelated (id int)")
        session.execute("SELECT pg_current_xact_id()")
        run(stage, note, events, transactions=100)


@pytest.mark.server(connected=False)
def test_rows_of_a_megabyte_are_delivered_in_flat_memory(stage, note):
    prepare(stage)
    with stage.pg.connect() as session:
        session.execute("""INSERT INTO bulk
            SELECT i, (SELECT string_agg(md5(i::text || j::text), '') FROM generate_series(1, 32768) AS j)
              FROM generate_series(1, 150) AS i""")
    _, peak = drain(stage, 150)
    committed = checker.committed_events(stage.pg)
    messages = read_queue(stage.broker, stage.queue, {row[0] for row in committed})
    note(f"lane's peak memory {peak / 2**20:.1f} MB")
    assert checker.check(committed, messages).exact()
    assert all(len(message.envelope["payload"]["data"]["body"]) == 2**20 for message in messages)
    assert peak < MEMORY_LIMIT


@pytest.mark.server(connected=False)
@pytest.mark.long
def test_a_relay_that_settled_millions_reads_the_next_event_at_once(stage, note):
    run(stage, note, 1_000_000, transactions=1000)
    began = time.monotonic()
    stage.pg.execute("UPDATE bulk SET body = 'new' WHERE id = 1")
    wait_until(lambda: stage.broker.depth(stage.queue) == 1, 10, "the event arrives", interval=0.01)
    note(f"one event behind a settled million arrives in {time.monotonic() - began:.3f} s")
