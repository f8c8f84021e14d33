"""Lanes that are in trouble themselves, and what their keeper does about them."""

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
