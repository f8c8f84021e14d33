"""The tables of the schema take no rows but this installation's own."""

import psycopg
import pytest

ROW = ("(id, xid, slice, event_id, event_type, payload, created_at)"
       " VALUES (1, '5', 3, gen_random_uuid(), 't', '{}', now())")
SKIPPED = {
    "outbox.event": ROW,
    "outbox.event_3": ROW,
    "outbox.slice": "(slice) VALUES (99)",
    "outbox.capture_failure": "(id, failed_at, xid, target, operation, sqlstate, message)"
                              " VALUES (1, now(), '5', 'outbox.event', 'insert', 'XX000', 'm')",
    "outbox.emitted": "(event_id, id) VALUES (gen_random_uuid(), 1)",
    "outbox.installation": "(database_oid) VALUES (1)",
    "outbox.relay": "(relay_id, name, database_oid) VALUES (77, 'foreign', 1)",
    "outbox.progress": "(relay_id, lane, seq, done) VALUES (77, 0, 1, '1:1:')",
}


@pytest.mark.parametrize("table", ["outbox.event", "outbox.event_0", "outbox.event_3"])
def test_a_write_by_hand_is_refused(log, table):
    log.execute("SELECT outbox.emit('t', '{}')")
    row = ROW.replace("3, gen", "0, gen") if table == "outbox.event_0" else ROW
    writes = [f"INSERT INTO {table} {row}"]
    if table != "outbox.event_3":  # it is empty
        writes += [f"UPDATE {table} SET event_type = 'other'", f"DELETE FROM {table}"]
    for write in writes:
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="takes no rows but those of outbox_relay"):
            log.execute(write)
    assert log.execute("SELECT event_type FROM outbox.event") == [("t",)]


@pytest.mark.parametrize("table", SKIPPED)
def test_what_replication_applies_is_skipped(log, table):
    log.execute("SELECT outbox.emit('t', '{}')")
    with log.connect() as session:
        before = session.execute(f"SELECT count(*) FROM {table}").fetchone()
        session.execute("SET session_replication_role = replica")
        assert session.execute(f"INSERT INTO {table} {SKIPPED[table]}").rowcount == 0
        assert session.execute(f"DELETE FROM {table}").rowcount == 0
        assert session.execute(f"SELECT count(*) FROM {table}").fetchone() == before


def test_events_are_written_whatever_the_replication_role(log):
    with log.connect() as session:
        session.execute("SET session_replication_role = replica")
        session.execute("SELECT outbox.emit('t', '{}')")
    assert log.value("SELECT count(*) FROM outbox.event") == 1
