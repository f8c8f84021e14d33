"""Somebody holds a lock on our tables for as long as they like: workers answer signals, and lose and repeat nothing."""

import os
import signal
import threading
import time

import psycopg
import pytest

from harness import processes
from harness.waiting import wait_until

LIMIT = 5.0
TABLES = ("outbox.event", "outbox.progress", "outbox.relay")


@pytest.mark.parametrize("table", TABLES)
def test_workers_that_wait_for_a_lock_end_when_asked_and_go_on_after_it(stage, table):
    stage.write(200)
    stage.wait_settled()
    keeper = stage.pg.value("SELECT pid FROM pg_stat_activity WHERE backend_type = 'outbox_relay keeper'"
                            " AND datname = current_database()")
    lane = stage.lane_pid()
    with stage.pg.connect() as session:
        session.execute("BEGIN")
        session.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        time.sleep(3)
        began = time.monotonic()
        for pid in (keeper, lane):
            os.kill(pid, signal.SIGTERM)
        processes.wait_ended([keeper, lane], timeout=20)
        took = time.monotonic() - began
        session.execute("ROLLBACK")
    assert took < LIMIT
    stage.write(200)
    report = stage.report()
    assert report.exact(), report


@pytest.mark.server(outbox_relay__poll_interval_min=100, outbox_relay__poll_interval_max=100)
def test_a_slow_read_of_the_log_does_not_cost_the_connection(stage):
    stage.write(10)
    stage.wait_settled()

    def hold(slice, seconds):
        with stage.pg.connect(autocommit=False) as session:
            session.execute(f"LOCK TABLE outbox.event_{slice} IN ACCESS EXCLUSIVE MODE")
            time.sleep(seconds)

    # A read waits for one slice after the other, for each less than the workers' lock_timeout of 1 s.
    holders = [threading.Thread(target=hold, args=(slice, 0.7 * (slice + 1))) for slice in range(6)]
    for holder in holders:
        holder.start()
    wait_until(lambda: stage.pg.value("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'outbox_relay lane'"
                                      " AND wait_event_type = 'Lock' AND query ~ 'reading'"),
               5, "the lane waits for a slice")
    for holder in holders:
        holder.join()
    stage.write(10)
    report = stage.report()
    assert report.exact(), report
    stats = stage.stats()
    assert (stats["reconnects"], stats["last_error"]) == (0, None)


def test_a_fast_stop_does_not_wait_for_a_lock_that_a_prepared_transaction_holds(stage):
    stage.write(50)
    stage.wait_settled()
    with stage.pg.connect() as session:
        session.execute("BEGIN")
        session.execute("LOCK TABLE outbox.progress IN ACCESS EXCLUSIVE MODE")
        session.execute("PREPARE TRANSACTION 'holder'")
    stage.write(50)
    time.sleep(2)
    began = time.monotonic()
    stage.pg.stop("fast")
    assert time.monotonic() - began < LIMIT
    stage.pg.start()
    stage.pg.execute("ROLLBACK PREPARED 'holder'")
    report = stage.report()
    assert report.nothing_wrong(), report


@pytest.mark.parametrize("statement", ["CREATE EXTENSION outbox_relay", "SELECT outbox.alter_relay('default', '{}')"])
def test_what_workers_must_be_told_cannot_be_prepared(stage, statement):
    if statement.startswith("CREATE"):
        stage.pg.execute("DROP EXTENSION outbox_relay CASCADE")
    with stage.pg.connect() as session:
        session.execute("BEGIN")
        session.execute(statement)
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            session.execute("PREPARE TRANSACTION 'told'")


def test_a_copied_database_has_its_keeper_within_seconds(stage):
    stage.write(1)
    stage.wait_settled()
    stage.pg.execute("CREATE DATABASE copied TEMPLATE postgres", dbname="template1")
    wait_until(lambda: stage.pg.value("SELECT count(*)::int FROM pg_stat_activity WHERE datname = 'copied'"
                                      " AND backend_type = 'outbox_relay keeper'", dbname="template1"),
               20, "the copy has a keeper")
