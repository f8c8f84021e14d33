"""A streaming standby is promoted in the middle of load."""

import os
import signal
import time

import pytest

from harness import checker, processes
from harness.load import CRASH, Fault
from harness.waiting import wait_until


def add_standby(load, synchronous):
    """A standby of the load's server that has caught up."""
    standby = load.make_server(**load.pg_settings)
    standby.base_backup(load.pg)
    standby.start_standby(load.pg)
    wait_until(lambda: load.pg.value("SELECT count(*)::int FROM pg_stat_replication WHERE state = 'streaming'"), 30,
               "the standby streams")
    if synchronous:
        load.pg.set(synchronous_standby_names="*")
        wait_until(lambda: load.pg.value("SELECT count(*)::int FROM pg_stat_replication WHERE sync_state = 'sync'"), 30,
                   "the standby is synchronous")
    return standby


def promote(load, standby):
    """The primary dies; the standby takes its place, and the writers go there."""
    load.old = load.pg
    load.old.crash()
    standby.wait_accepting()
    standby.settings.pop("synchronous_standby_names", None)
    standby.execute("SELECT pg_promote()")
    load.pg = load.writers.pg = standby


def fail_over(load):
    standby = add_standby(load, synchronous=True)
    time.sleep(2)
    promote(load, standby)
    time.sleep(3)


def fail_over_with_lag(load):
    """What the standby did not have is lost with the primary; some of it was sent before. Both are told."""
    standby = add_standby(load, synchronous=False)
    receiver = next(pid for pid in processes.children(standby.process.pid) if "walreceiver" in processes.title(pid))
    os.kill(receiver, signal.SIGSTOP)
    time.sleep(3)
    load.writers.pause()
    load.before = checker.committed_events(load.pg)
    load.writers.resume()
    os.kill(receiver, signal.SIGKILL)       # what it had not taken it never will: the primary is gone
    promote(load, standby)
    time.sleep(3)
    kept = {row[0] for row in checker.committed_events(standby)}
    load.only_old = {row[0] for row in load.before} - kept
    assert load.only_old, "the standby lacked nothing: the test has shown nothing"
    load.dropped = load.only_old
    sent = {message.event_id for messages in load.collect().values() for message in messages} & load.only_old
    load.remark = f"{len(load.only_old)} events were on the old primary only and are gone with it, {len(sent)} of them were sent"


STANDBY = {
    "promotion of a synchronous standby": Fault(fail_over, CRASH, writers_fail=True),
    "promotion of an asynchronous standby with lag": Fault(fail_over_with_lag, CRASH, writers_fail=True),
}


@pytest.mark.long
@pytest.mark.parametrize("name", STANDBY)
def test_a_promotion_in_the_middle_of_load(load, name):
    load.through("standby", name, STANDBY[name])
