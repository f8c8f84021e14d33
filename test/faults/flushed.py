"""G3: what is published is on disk. A crash takes back commits of synchronous_commit = off; none of them may be out."""

import os
import signal
import time

import pytest

from harness import checker, workload
from harness.workload import Writers


LAST = 100      # commits that a session makes right before a crash


def commit_last(pg, round):
    with pg.connect() as session:
        for i in range(LAST):
            session.execute("INSERT INTO document (id, title) VALUES (%s, 'last')", (-round * LAST - i - 1,))


def count_last(pg):
    return pg.value("SELECT count(*) FROM document WHERE title = 'last'")


@pytest.mark.server(synchronous_commit="off", wal_writer_delay="10s", wal_writer_flush_after="0", wal_buffers="16MB")
@pytest.mark.parametrize("way", [pytest.param("immediate", marks=pytest.mark.long), "crash"])
def test_after_an_immediate_stop_under_asynchronous_commits_nothing_is_on_the_queue_that_is_not_in_the_table(
        stage, note, way):
    with stage.pg.connect() as session:
        workload.prepare(session)
    stage.wait_confirmed(workload.ROWS)
    taken_back = 0
    for round in range(3):
        writers = Writers(stage.pg, count=12, duration=60, seed=round)
        # Without the server's own WAL writer only the lane flushes; with both frozen, commits are in memory only.
        frozen = [stage.pg.value("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"), stage.lane_pid()]
        os.kill(frozen[0], signal.SIGSTOP)
        time.sleep(2.5)
        os.kill(frozen[1], signal.SIGSTOP)
        before = count_last(stage.pg)
        commit_last(stage.pg, round)
        if way == "crash":
            stage.pg.crash(frozen)
        else:
            stage.pg.stop("immediate")
        writers.stop()
        stage.pg.start()
        taken_back += before + LAST - count_last(stage.pg)
    report = stage.report()
    note(f"{report}; of {3 * LAST} last commits the crashes took back {taken_back}")
    assert taken_back > 0, "no commit was taken back: the test has shown nothing"
    assert report.nothing_wrong(), report
