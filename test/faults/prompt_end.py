"""Whatever the broker does, our processes end when they are asked to: within 5 seconds."""

import os
import signal
import time
from contextlib import contextmanager

import pytest

from harness import backlog, processes
from harness.waiting import wait_until

LIMIT = 5.0
LANE = "SELECT pid FROM pg_stat_activity WHERE backend_type LIKE 'outbox_relay lane%' AND datname = 'app'"


def lane_of_app(stage):
    rows = stage.pg.execute(LANE)
    return rows[0][0] if rows else None


@contextmanager
def stopped_while_it_sends(stage):
    """kill -STOP under load: the lane has filled what the kernel buffers between the two."""
    with stage.broker.suspended():
        write(stage)
        time.sleep(1.5)
        yield


@contextmanager
def stopped_while_it_connects(stage):
    """kill -STOP before a new lane connects: the kernel accepts, the broker never says a word."""
    with stage.broker.suspended():
        pid = lane_of_app(stage)
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: lane_of_app(stage) not in (pid, None), 15, "the lane is replaced")
        time.sleep(0.5)
        yield


@contextmanager
def blocking(stage):
    with stage.broker.blocking():
        write(stage)
        time.sleep(1.5)
        yield


def write(stage):
    with stage.pg.connect("app") as session:
        backlog.make(session, 20_000, size=1000)


def terminate(stage):
    pid = lane_of_app(stage)
    os.kill(pid, signal.SIGTERM)
    processes.wait_ended([pid], timeout=15)


def stop_fast(stage):
    processes.run([str(stage.pg.bin / "pg_ctl"), "stop", "-D", str(stage.pg.data), "-m", "fast", "-w"])


def drop_database(stage):
    stage.pg.execute("DROP DATABASE app")


def drop_extension(stage):
    stage.pg.execute("DROP EXTENSION outbox_relay CASCADE", dbname="app")


@pytest.mark.parametrize("act", [terminate, stop_fast, drop_database, drop_extension])
@pytest.mark.parametrize("state", [stopped_while_it_sends, stopped_while_it_connects, blocking])
def test_the_end_comes_within_5_seconds_while_the_broker_is(stage, note, state, act):
    stage.pg.execute("CREATE DATABASE app")
    stage.pg.execute("CREATE EXTENSION outbox_relay", dbname="app")
    with stage.pg.connect("app") as session:
        backlog.make(session, 10)
    wait_until(lambda: lane_of_app(stage), 15, "the lane runs")
    time.sleep(0.5)
    with state(stage):
        began = time.monotonic()
        act(stage)
        took = time.monotonic() - began
        note(f"{act.__name__.replace('_', ' ')} while the broker is {state.__name__.replace('_', ' ')}: {took:.2f} s")
        stage.pg.destroy()
    assert took < LIMIT
