"""Ids rise for ever, and leave the application's sequences alone."""

import psycopg
import pytest


def highest_id(pg):
    return pg.value("SELECT max(id) FROM outbox.event")


def next_id(stage):
    stage.write(1)
    return highest_id(stage.pg)


@pytest.mark.parametrize("way", ["fast", "immediate", "crash", "backend"])
def test_ids_go_on_upwards_after_a_restart_with_the_clock_set_back_and_a_transaction_prepared(stage, way):
    stage.write(100)
    before = highest_id(stage.pg)
    with stage.pg.connect(autocommit=False) as session:
        session.execute("UPDATE item SET body = 'prepared' WHERE id = 1")
        session.execute("PREPARE TRANSACTION 'p'")

    stage.pg.settings["outbox_relay.clock_offset"] = "-86400"
    if way == "crash":
        stage.pg.crash()
        stage.pg.start()
    elif way == "backend":
        stage.pg.set()
        with stage.pg.connect() as victim:
            stage.pg.kill(victim.info.backend_pid)
    else:
        stage.pg.restart(way)

    after = next_id(stage)
    stage.pg.execute("COMMIT PREPARED 'p'")
    prepared = stage.pg.value("SELECT id FROM outbox.event WHERE payload->'data'->>'body' = 'prepared'")
    assert before < prepared < after
    report = stage.report()
    assert report.nothing_wrong(), report


def test_an_id_is_a_time_in_microseconds_that_javascript_reads_exactly(stage):
    stage.write(1)
    id, now = stage.pg.execute("SELECT max(id), extract(epoch FROM now()) FROM outbox.event")[0]
    assert abs(id / 1e6 - float(now)) < 60
    assert id < 2**53


def test_an_event_id_gives_the_time_and_the_time_gives_the_event_id(stage):
    stage.write(1000)
    for id, event_id in stage.pg.execute("SELECT id, event_id FROM outbox.event"):
        assert event_id.version == 7
        assert event_id.int >> 80 == id // 1000


def test_lastval_stays_undefined_in_a_session_that_used_no_sequence(stage):
    stage.write(1)
    with stage.pg.connect() as session:
        session.execute("UPDATE item SET version = version + 1")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            session.execute("SELECT lastval()")


def test_lastval_and_currval_are_what_they_would_be_without_capture(stage):
    stage.pg.execute("CREATE TABLE numbered (id serial PRIMARY KEY, name text); SELECT outbox.track('numbered')")
    with stage.pg.connect() as session:
        session.execute("INSERT INTO numbered (name) VALUES ('a'), ('b')")
        assert session.execute("SELECT lastval(), currval('numbered_id_seq')").fetchone() == (2, 2)
