"""Several lanes of a relay: order per key, and a change of their number while everything goes on."""

import time

import pytest

from harness import checker, workload
from harness.waiting import wait_until
from harness.workload import Writers

LANES = "SELECT lane, state, pid, confirmed, republished, backlog, detail FROM outbox.stats() WHERE relay = 'default' ORDER BY lane"


def lanes(stage):
    return stage.pg.execute(LANES)


def set_lanes(stage, count):
    stage.pg.execute("SELECT outbox.alter_relay('default', jsonb_build_object('lanes', %s::int))", (count,))


def wait_lanes(stage, count, timeout=60):
    """Until the relay has so many lanes, and all of them run."""
    wait_until(lambda: len(lanes(stage)) == count and all(row[2] and row[1] != "draining" for row in lanes(stage)), timeout,
               f"{count} lanes are at work")


def version(message):
    return None if message.event_type.endswith(".deleted") else message.envelope["payload"]["data"]["version"]


def check(stage, note=None):
    """Each event once and in order: by ids, and by what the writers counted in the rows themselves."""
    committed, _ = stage.read(timeout=60)
    report = checker.check(committed, stage.received)
    if note:
        note(report)
    assert report.exact(), report
    assert checker.broken_versions(stage.received, version) == []


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_order_per_key_holds_and_each_lane_has_its_share(stage, count, note):
    set_lanes(stage, count)
    with stage.pg.connect() as session:
        workload.prepare(session)
    Writers(stage.pg, count=8, duration=6).finish()
    check(stage, note)
    rows = lanes(stage)
    assert len(rows) == count
    shares = [row[3] for row in rows]
    assert sum(shares) == len(stage.received)
    assert all(share > sum(shares) / count / 3 for share in shares), shares


def test_a_new_number_of_lanes_under_load_loses_nothing_repeats_nothing_and_keeps_order(stage, note):
    with stage.pg.connect() as session:
        workload.prepare(session)
    writers = Writers(stage.pg, count=6, duration=90)
    for count in (4, 2, 8, 1, 3):
        time.sleep(1)
        set_lanes(stage, count)
        began = time.monotonic()
        wait_lanes(stage, count)
        note(f"{count} lanes after {time.monotonic() - began:.1f} s")
    writers.stop()
    wait_until(lambda: all(row[5] == 0 for row in lanes(stage)), 60, "all is settled")
    check(stage, note)
    assert stage.pg.value("SELECT count(DISTINCT lane) FROM outbox.progress") == 3
    assert len(stage.pg.pids("outbox_relay lane%")) == 3


@pytest.mark.server(connected=False)
def test_a_change_waits_for_a_broker_says_so_and_goes_on_after_a_restart(stage):
    stage.write(500)
    stage.wait_state("unconfigured")
    set_lanes(stage, 3)
    wait_until(lambda: stage.pg.value("SELECT lanes_change IS NOT NULL FROM outbox.relay"), 20, "the change has begun")
    stage.pg.execute("UPDATE item SET version = version + 1")
    stage.pg.restart()
    stage.pg.execute("UPDATE item SET version = version + 1")
    assert stage.pg.value("SELECT lanes FROM outbox.relay") == 1
    stage.connect_broker()
    wait_lanes(stage, 3)
    check(stage)


@pytest.mark.server(connected=False)
def test_a_change_is_undone_by_asking_for_the_old_number(stage):
    stage.write(100)
    set_lanes(stage, 3)
    wait_until(lambda: stage.pg.value("SELECT lanes_change IS NOT NULL FROM outbox.relay"), 20, "the change has begun")
    set_lanes(stage, 1)
    wait_until(lambda: stage.pg.value("SELECT lanes_change IS NULL FROM outbox.relay"), 20, "it is undone")
    stage.pg.execute("UPDATE item SET version = version + 1")
    stage.connect_broker()
    check(stage)
    assert len(lanes(stage)) == 1


def test_a_lane_that_is_ended_is_replaced_and_the_others_go_on(stage):
    set_lanes(stage, 3)
    stage.write(500)
    wait_lanes(stage, 3)
    old = lanes(stage)[1][2]
    stage.pg.execute("SELECT pg_terminate_backend(%s)", (old,))
    wait_until(lambda: lanes(stage)[1][2] not in (None, old), 20, "the lane is replaced")
    stage.pg.execute("UPDATE item SET version = version + 1")
    check(stage)


def test_a_lane_passes_over_what_is_not_its_own_and_records_that(stage):
    set_lanes(stage, 4)
    stage.write(1)
    wait_lanes(stage, 4)
    stage.pg.execute("UPDATE item SET version = version + 1")
    unseen = """SELECT count(*) FROM generate_series(0, 3) AS l (lane), LATERAL (SELECT done FROM outbox.progress p
                 WHERE p.lane = l.lane ORDER BY seq DESC LIMIT 1) AS p, outbox.event e
                 WHERE NOT pg_visible_in_snapshot(e.xid, p.done)"""
    wait_until(lambda: stage.pg.value("SELECT count(DISTINCT lane) FROM outbox.progress") == 4
               and stage.pg.value(unseen) == 0, 20, "every lane's position has passed the events")
    assert sum(row[3] for row in lanes(stage)) == 2
