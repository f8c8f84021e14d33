"""kill -9 in the middle of draining as fast as it goes: nothing is lost, order is kept, repeats stay within G6.
Kills under a steady load are in ends.py."""

import time

import pytest

from harness import acts
from harness.load import cases
from harness.waiting import wait_until

EVENTS = 50_000
MAX_IN_FLIGHT = 4096
# What may come again after the death of a lane: what was in flight, and what was settled since the last progress
# record that reached the disk. A record is made every 200 ms and is not waited for: the WAL writer flushes it
# within three of its rounds of 200 ms.
PROGRESS_LAG = 0.2 + 3 * 0.2

KILLS = {"lane": acts.kill_worker("lane"), "backend": acts.kill_backend, "postmaster": acts.kill_postmaster,
         "broker": acts.kill_broker}


def rate_until(stage, count):
    """Waits until count messages are confirmed; returns how many were confirmed per second meanwhile."""
    samples = []

    def enough():
        samples.append((time.monotonic(), stage.stats().get("confirmed", 0)))
        return samples[-1][1] >= count

    wait_until(enough, 60, f"{count} messages are confirmed", interval=0.02)
    began = next(sample for sample in samples if sample[1] > 0)
    return (samples[-1][1] - began[1]) / max(samples[-1][0] - began[0], 0.1)


def repeats_allowed(victim, rate):
    return MAX_IN_FLIGHT if victim == "broker" else MAX_IN_FLIGHT + int(rate * PROGRESS_LAG * 1.5)


@pytest.mark.server(connected=False)
@pytest.mark.parametrize("victim, kill", cases(KILLS, short=("lane", "broker")))
def test_a_kill_in_the_middle_of_draining_50000_events_loses_nothing_and_keeps_the_order(stage, note, victim, kill):
    stage.write(EVENTS)
    stage.connect_broker()
    rate = rate_until(stage, EVENTS // 4)
    kill(stage)
    report = stage.report(timeout=120)
    allowed = repeats_allowed(victim, rate)
    note(f"{report}  (at most {allowed} at {rate:.0f} events/s)")
    assert report.nothing_wrong(), report
    assert report.repeats <= allowed
