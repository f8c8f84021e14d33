"""Faults that need nothing but a Stage: what kills, ends, restarts. A test says what must come of them."""

import os
import signal
import time

from harness import processes
from harness.waiting import wait_until


def kill_worker(kind):
    def kill(stage):
        stage.pg.kill(wait_until(lambda: stage.pg.pids(f"outbox_relay {kind}%"), 70, f"a {kind} runs")[0])
    return kill


def kill_backend(stage):
    with stage.pg.connect() as victim:
        stage.pg.kill(victim.info.backend_pid)


def kill_postmaster(stage):
    stage.pg.crash()
    stage.pg.start()


def kill_broker(stage):
    stage.broker.kill()
    time.sleep(0.5)
    stage.broker.start()


def end_worker(kind):
    def end(stage):
        pattern = f"outbox_relay {kind}%"
        before = wait_until(lambda: stage.pg.pids(pattern), 70, f"a {kind} runs")
        pid = before[0]
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: pid not in (now := stage.pg.pids(pattern)) and len(now) >= len(before), 70, f"the {kind} is replaced")
    return end


def restart_server(stage, mode="fast"):
    stage.pg.restart(mode)


def reload_server(stage):
    stage.pg.set(outbox_relay__poll_interval_min="300ms")


def restart_broker(stage):
    stage.broker.restart()


def end_backend(stage):
    with stage.pg.connect() as victim:
        stage.pg.execute("SELECT pg_terminate_backend(%s)", (victim.info.backend_pid,))


def stop_at_once(stage):
    stage.pg.stop("immediate")
    stage.pg.start()


def stop_at_once_in_recovery(stage):
    """Stopped at once, and killed while it replays what that left."""
    stage.pg.stop("immediate")
    before = len(stage.pg.log_text())
    stage.pg.launch()
    startup = wait_until(lambda: startup_process(stage.pg), 20, "recovery has begun", interval=0.001)
    os.kill(startup, signal.SIGSTOP)    # it would be over before it can be stopped
    assert "database system is ready" not in stage.pg.log_text()[before:]
    stage.pg.crash(frozen=[startup])
    stage.pg.start()


def startup_process(pg):
    """The process that replays the WAL of a server that is coming up; None: not yet, or no longer."""
    return next((pid for pid in processes.children(pg.process.pid) if "startup" in processes.title(pid)), None)


def block_broker(stage, seconds=3):
    with stage.broker.blocking():
        time.sleep(seconds)


def suspend_broker(stage, seconds=5):
    with stage.broker.suspended():
        time.sleep(seconds)


def suspend_lane(stage, seconds=5):
    pid = stage.lane_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)


def reclaim(stage):
    stage.pg.execute("SELECT outbox.reclaim('0 seconds')")
