"""The main property, and the proof that the test can fail."""

import time

import pytest

from harness import checker, workload
from harness.consumer import Consumer
from harness.poller import NaivePoller
from harness.workload import Writers


def version(message):
    """The row's own version; a delete repeats the one before it."""
    return None if message.event_type.endswith(".deleted") else message.envelope["payload"]["data"]["version"]


def test_the_queue_holds_exactly_the_committed_events_each_once_and_in_order_and_an_id_cursor_does_not(stage, note):
    with stage.pg.connect() as session:
        workload.prepare(session)
    naive = NaivePoller(stage.pg)
    written = Writers(stage.pg, count=14, duration=12).finish()
    seen_by_naive = naive.finish()

    committed, messages = stage.read()
    report = checker.check(committed, messages)
    note(report)
    assert len(committed) == written.events + workload.ROWS, "the log holds what the writers committed, no more, no less"
    assert report.exact(), report
    assert checker.broken_versions(messages, version) == []

    lost_by_naive = {row[0] for row in committed} - seen_by_naive
    note(f"a cursor on id, reading the same log beside it, lost {len(lost_by_naive)}")
    assert lost_by_naive, "the writers are too tame: a cursor on id must lose events"


def test_an_event_arrives_within_milliseconds_of_its_commit(stage, note):
    stage.write(1)
    delays = []
    with Consumer(stage.broker, stage.queue) as consumer, stage.pg.connect() as session:
        consumer.wait_for(1)
        for _ in range(50):
            session.execute("UPDATE item SET version = version + 1")
            committed = time.time()
            (message,) = consumer.wait_for(1)
            delays.append(message.arrived - committed)
            time.sleep(0.02)
    delays.sort()
    note(f"from commit to consumer: median {delays[25] * 1000:.1f} ms, worst of 50 {delays[-1] * 1000:.1f} ms")
    assert delays[25] < 0.05


def test_a_rolled_back_transaction_and_a_rolled_back_savepoint_send_nothing(stage):
    stage.write(1)
    with stage.pg.connect(autocommit=False) as session:
        session.execute("UPDATE item SET body = 'never'")
        session.rollback()
        session.execute("UPDATE item SET body = 'kept'")
        session.execute("SAVEPOINT inner_work")
        session.execute("UPDATE item SET body = 'never'")
        session.execute("ROLLBACK TO SAVEPOINT inner_work")
        session.commit()
    _, messages = stage.read()
    assert [message.envelope["payload"]["data"]["body"] for message in messages] == ["b" * 300, "kept"]


def test_a_prepared_transaction_is_relayed_once_it_is_committed(stage):
    stage.write(1)
    with stage.pg.connect(autocommit=False) as session:
        session.execute("UPDATE item SET body = 'prepared'")
        session.execute("PREPARE TRANSACTION 'p'")
    stage.write(100)
    assert len(stage.read()[1]) == 101
    stage.pg.execute("COMMIT PREPARED 'p'")
    _, messages = stage.read()
    assert [message.envelope["payload"]["data"]["body"] for message in messages] == ["prepared"]


def test_events_of_an_open_transaction_come_when_it_commits_and_others_do_not_wait_for_it(stage):
    stage.write(10)
    with stage.pg.connect(autocommit=False) as session:
        session.execute("UPDATE item SET body = 'late' WHERE id = 1")
        stage.write(5000)
        stage.wait_confirmed(5010)
        session.commit()
    report = stage.report()
    assert report.exact(), report


@pytest.mark.server(outbox_relay__batch_size=1)
def test_with_batches_of_one_event_nothing_is_lost_or_out_of_order(stage):
    with stage.pg.connect() as session:
        workload.prepare(session)
    Writers(stage.pg, count=6, duration=3).finish()
    report = stage.report()
    assert report.exact(), report
