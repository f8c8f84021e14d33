"""What we do in order costs no repeat: stop, restart, reload, and the end of a single worker."""

import os
import signal
import time

import pytest

from harness import workload
from harness.waiting import wait_until
from harness.workload import Writers

EVENTS = 50_000


def restart_fast(stage):
    stage.pg.restart("fast")


def restart_smart(stage):
    stage.pg.restart("smart")


def reload(stage):
    stage.pg.set(outbox_relay__poll_interval_min="300ms")


def terminate_lane(stage):
    pid = stage.lane_pid()
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: stage.lane_pid() != pid, 15, "the lane is replaced")


def terminate_keeper(stage):
    (pid,) = stage.pg.pids("outbox_relay keeper%")
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: stage.pg.pids("outbox_relay keeper%") not in ([pid], []), 15, "the keeper is replaced")


WAYS = {"restart fast": restart_fast, "restart smart": restart_smart, "reload": reload,
        "end of the lane": terminate_lane, "end of the keeper": terminate_keeper}


@pytest.mark.server(connected=False)
@pytest.mark.parametrize("way", WAYS)
def test_an_orderly_end_in_the_middle_of_draining_50000_events_repeats_nothing(stage, note, way):
    stage.write(EVENTS)
    stage.connect_broker()
    stage.wait_confirmed(EVENTS // 5)
    WAYS[way](stage)
    report = stage.report(timeout=120)
    note(report)
    assert report.exact(), report


@pytest.mark.parametrize("way", ["restart fast", "reload", "end of the lane"])
def test_an_orderly_end_under_writers_repeats_nothing(stage, note, way):
    with stage.pg.connect() as session:
        workload.prepare(session)
    stage.wait_confirmed(workload.ROWS)
    writers = Writers(stage.pg, count=12, duration=10)
    for _ in range(2):
        time.sleep(3)
        WAYS[way](stage)
    writers.finish()
    report = stage.report(timeout=120)
    note(report)
    assert report.exact(), report
