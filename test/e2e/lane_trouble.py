"""Lanes that are in trouble themselves, and what their keeper does about them."""

import os
import signal
import time

import pytest

from harness.waiting import wait_until


def kill_lane(stage):
    stage.pg.kill(stage.lane_pid())


def marks(stage):
    return list((stage.pg.data / "pg_stat").glob("outbox_relay.*"))


def test_a_lane_that_crashed_three_times_in_a_row_is_failing_until_it_is_paused_and_resumed(stage):
    stage.pg.set(outbox_relay__crash_limit=3)
    stage.write(1)
    for _ in range(3):
        stage.wait_settled()
        kill_lane(stage)
    stats = stage.wait_state("failing")
    assert stats["detail"].startswith("crashed 3 times in a row: is started again at ")
    assert stats["pid"] is None
    wait_until(lambda: "relay default/0 has crashed 3 times in a row" in stage.pg.log_text(), 10, "the log has the warning")
    stage.write(5)
    stage.pg.restart()
    assert stage.wait_state("failing")["backlog"] == 5

    stage.pg.execute("SELECT outbox.pause('default')")
    stage.wait_state("paused")
    wait_until(lambda: not marks(stage), 20, "the crashes are forgotten")
    stage.pg.execute("SELECT outbox.resume('default')")
    stage.wait_settled()
    assert stage.report().nothing_wrong()
    kill_lane(stage)
    stage.wait_settled()


def test_ends_of_a_lane_that_are_not_its_own_crashes_do_not_count(stage):
    stage.pg.set(outbox_relay__crash_limit=1)
    stage.write(1)
    stage.wait_settled()
    assert len(marks(stage)) == 1
    with stage.pg.connect() as victim:
        stage.pg.kill(victim.info.backend_pid)
    stage.lane_pid()
    stage.pg.stop("immediate")
    assert not marks(stage)
    stage.pg.start()
    stage.lane_pid()
    stage.pg.crash()
    assert not marks(stage)
    stage.pg.start()
    stage.lane_pid()
    stage.pg.restart()
    stage.write(1)
    stage.wait_settled()
    kill_lane(stage)
    stage.wait_state("failing")


@pytest.mark.server(outbox_relay__claim_timeout="2s", outbox_relay__stop_timeout="0")
def test_a_lane_that_stands_still_is_replaced_and_one_that_does_not_end_is_failing(stage):
    stage.write(1)
    stage.wait_settled()
    pid = stage.lane_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        stage.write(5)
        stats = stage.wait_state("failing")
        assert stats["detail"].startswith("stands still since ") and str(pid) in stats["detail"]
        assert stage.pg.pids("outbox_relay lane") == [pid]
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: stage.stats()["pid"] not in (None, pid), 20, "the lane is replaced")
    stage.wait_settled()
    report = stage.report()
    assert report.exact(), report
    for told in "has stood still since", "stands still and does not end":
        assert stage.pg.log_text().count(told) == 1


@pytest.mark.server(outbox_relay__claim_timeout="2s")
def test_a_lane_that_has_nothing_to_do_or_has_to_wait_is_not_taken_for_one_that_stands_still(stage):
    stage.write(1)
    stage.wait_settled()
    pid = stage.lane_pid()
    time.sleep(4)
    stage.broker.stop()
    stage.write(5)
    stage.wait_state("backing off")
    time.sleep(6)
    stage.broker.start()
    stage.wait_settled()
    assert stage.lane_pid() == pid
    assert "stood still" not in stage.pg.log_text()


@pytest.mark.server(outbox_relay__worker_memory_limit="32MB", connected=False)
def test_a_lane_over_its_memory_limit_ends_in_order_and_is_replaced_without_a_repeat(stage):
    stage.write(8000, keys=2, size=10_000)      # of a key one at a time: the claims stay for seconds
    stage.connect_broker()
    stage.wait_settled()
    assert "more than outbox_relay.worker_memory_limit" in stage.pg.log_text()
    report = stage.report()
    assert report.exact(), report
