"""A broker that is away, has no queue for us, refuses, or blocks: it costs time, and nothing else."""

import statistics
import time

import pytest

from harness import checker, workload
from harness.consumer import read_queue
from harness.waiting import wait_until
from harness.workload import Writers

MAX_IN_FLIGHT = 4096


def commit_latency(stage, duration):
    """Median seconds of a COMMIT under writers."""
    latencies = Writers(stage.pg, count=4, duration=duration, pause=0.002).finish().latencies
    return statistics.median(latencies)


@pytest.mark.parametrize("away", [5, pytest.param(60, marks=pytest.mark.long)])
def test_while_the_broker_is_away_transactions_commit_as_fast_as_before_and_then_everything_drains(stage, note, away):
    with stage.pg.connect() as session:
        workload.prepare(session)
    before = commit_latency(stage, 5)
    stage.broker.stop()
    meanwhile = commit_latency(stage, away)
    now = stage.wait_state("backing off", "connecting")
    assert now["last_error"] and now["backlog"] > 0
    stage.broker.start()
    report = stage.report(timeout=120)
    note(f"median commit {before * 1e6:.0f} us with the broker, {meanwhile * 1e6:.0f} us without; {report}")
    assert report.nothing_wrong(), report
    assert report.repeats <= MAX_IN_FLIGHT
    assert meanwhile <= before * 1.5 + 0.0005


@pytest.mark.server(bound=False)
def test_with_no_queue_bound_everything_is_parked_and_once_one_is_bound_everything_arrives_in_order(stage, note):
    stage.write(4 * MAX_IN_FLIGHT, keys=MAX_IN_FLIGHT)
    wait_until(lambda: stage.stats()["parked"] == 4 * MAX_IN_FLIGHT, 30, "everything is parked")
    now = stage.stats()
    note(f"state {now['state']}: {now['detail']}")
    assert "item.created" in now["detail"] and "item.updated" not in now["detail"]
    assert now["backlog"] == 0
    assert 0 < now["returned"] <= MAX_IN_FLIGHT + 5, "after what was in flight, one event at a time is tried"
    stage.broker.declare(stage.queue)
    report = stage.report()
    note(report)
    assert report.exact(), report
    wait_until(lambda: stage.stats()["parked"] == 0, 10, "nothing is parked any more")


def test_a_full_queue_that_refuses_holds_the_lane_and_keeps_the_order(stage, note):
    stage.broker.delete(queues=[stage.queue])
    stage.broker.declare(stage.queue, **{"x-max-length": 500, "x-overflow": "reject-publish"})
    stage.write(3000, keys=100)
    now = stage.wait_state("holding", "probing")
    note(f"state {now['state']}: {now['detail']}")
    assert now["refused"] >= 20
    committed = checker.committed_events(stage.pg)
    messages = []

    def all_read():
        nonlocal messages
        messages += read_queue(stage.broker, stage.queue, (), quiet=0.2, keep=False)
        return len({message.event_id for message in messages}) >= len(committed)

    wait_until(all_read, 120, "everything got through")
    report = checker.check(committed, messages)
    note(report)
    assert report.nothing_wrong(), report
    assert stage.stats()["dead"] == 0


# Few in flight: after an alarm the broker confirms slowly, and what is proven here is not how slowly.
@pytest.mark.server(outbox_relay__confirm_timeout="4s", outbox_relay__max_in_flight=200, connected=False)
def test_a_blocking_broker_outlasts_the_confirm_timeout_without_a_repeat(stage, note):
    stage.write(50_000)
    stage.connect_broker()
    stage.wait_confirmed(2000)
    with stage.broker.blocking():
        stage.write(100)
        now = stage.wait_state("blocked")
        time.sleep(9)
        later = stage.stats()
        assert later["state"] == "blocked"
        assert later["pid"] == now["pid"] and later["reconnects"] == now["reconnects"]
    report = stage.report()
    note(report)
    assert report.exact(), report
