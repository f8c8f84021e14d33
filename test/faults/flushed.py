"""G3: what is published is on disk. A crash takes back commits of synchronous_commit = off; none of them may be out."""

import time

import pytest

from harness import checker, workload
from harness.workload import Writers


@pytest.mark.server(synchronous_commit="off", wal_writer_delay="10s", wal_writer_flush_after="0")
@pytest.mark.parametrize("way", ["immediate", "crash"])
def test_after_an_immediate_stop_under_asynchronous_commits_nothing_is_on_the_queue_that_is_not_in_the_table(
        stage, note, way):
    with stage.pg.connect() as session:
        workload.prepare(session)
    expected = workload.ROWS
    stage.wait_confirmed(expected)
    for round in range(3):
        writers = Writers(stage.pg, count=12, duration=60, seed=round)
        time.sleep(2.5)
        if way == "crash":
            stage.pg.crash()
        else:
            stage.pg.stop("immediate")
        expected += writers.stop().events
        stage.pg.start()
    report = stage.report()
    note(f"{report}; the crashes took back about {expected - report.committed} committed events")
    assert report.nothing_wrong(), report
