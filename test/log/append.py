"""What a write into the log does besides its row: ids, indexes, the slice, refusals."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

EMIT = "SELECT outbox.emit('t', jsonb_build_object('n', n), 'e', n::text) FROM generate_series(1, %s) AS n"
ID = "SELECT max(id) FROM outbox.event"


def test_ids_are_unique_and_rise_in_every_session(log):
    def write(_):
        with log.connect() as session:
            for _ in range(50):
                session.execute(EMIT, (20,))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert log.value("SELECT count(DISTINCT id) FROM outbox.event") == 8 * 50 * 20
    assert log.value("SELECT count(*) FROM (SELECT id < lag(id) OVER (PARTITION BY xid ORDER BY (payload->>'n')::int)"
                     " AS back FROM outbox.event) AS steps WHERE back") == 0


def test_an_event_id_gives_its_id(log):
    log.execute(EMIT, (100,))
    for id, event_id in log.execute("SELECT id, event_id FROM outbox.event"):
        assert event_id.version == 7 and event_id.variant == "specified in RFC 4122"
        assert (event_id.int >> 80) * 1000 + (event_id.int >> 64 & 0xFFF) == id


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_ids_go_on_above_those_of_a_prepared_transaction_with_the_clock_set_back(log, how):
    log.execute(EMIT, (10,))
    with log.connect(autocommit=False) as session:
        session.execute(EMIT, (10,))
        session.execute("PREPARE TRANSACTION 'p'")
    log.set(outbox_relay__clock_offset=-3600)
    log.restart(how)
    log.execute(EMIT, (1,))
    after = log.value(ID)
    log.execute("COMMIT PREPARED 'p'")
    assert log.value(ID) == after
    assert log.value("SELECT count(*) FROM outbox.event") == 21


def test_ids_go_on_above_those_of_a_truncated_slice_and_of_progress(log):
    log.set(outbox_relay__clock_offset=-3600)
    log.execute(EMIT, (1,))
    high = log.value(ID)
    for table in ("slice", "progress"):
        high += 1_000_000_000
        if table == "slice":
            log.execute("UPDATE outbox.slice SET highest_id = %s WHERE slice = 5", (high,))
        else:
            log.execute("INSERT INTO outbox.progress (relay_id, lane, seq, done, highest_id) VALUES (1, 0, 1, '1:1:', %s)",
                        (high,))
        log.restart()
        log.execute(EMIT, (1,))
        assert log.value(ID) > high, table


def test_ids_of_an_extension_created_again_start_above_nothing_of_the_old_one(log):
    with log.connect() as session:
        session.execute(EMIT, (5,))
        before = session.execute(ID).fetchone()[0]
        session.execute("DROP EXTENSION outbox_relay; CREATE EXTENSION outbox_relay")
        session.execute(EMIT, (5,))
        assert session.execute("SELECT count(*), min(id) > %s FROM outbox.event", (before,)).fetchone() == (5, True)


def test_sequences_of_the_application_are_not_touched(log):
    log.execute("CREATE SEQUENCE own")
    with log.connect() as session:
        session.execute("SELECT nextval('own')")
        session.execute(EMIT, (10,))
        assert session.execute("SELECT lastval(), currval('own')").fetchone() == (1, 1)


def test_a_session_follows_the_ring_once_it_is_told(log):
    with log.connect() as session:
        session.execute(EMIT, (1,))
        log.execute("UPDATE outbox.slice SET writing = false WHERE writing")
        log.execute("UPDATE outbox.slice SET writing = true WHERE slice = 3")
        session.execute(EMIT, (1,))
        # Any change of the table's definition sends the invalidation that the keeper sends when it turns the ring.
        log.execute("ALTER TABLE outbox.slice SET (fillfactor = 90)")
        session.execute(EMIT, (1,))
    assert log.execute("SELECT slice, count(*) FROM outbox.event GROUP BY slice ORDER BY slice") == [(0, 2), (3, 1)]


def test_indexes_that_an_owner_adds_are_kept_whole(log):
    with log.connect() as session:
        session.execute(EMIT, (10,))
        log.execute("CREATE INDEX by_type ON outbox.event_0 (lower(event_type), entity_id DESC)")
        log.execute("CREATE INDEX by_payload ON outbox.event_0 USING gin ((payload::jsonb))")
        log.execute("CREATE INDEX by_part ON outbox.event_0 (entity_id) WHERE entity_id < '5'")
        log.execute("CREATE INDEX by_block ON outbox.event_0 USING brin (created_at)")
        session.execute(EMIT, (20,))
    log.execute("CREATE EXTENSION amcheck")
    for index in ("by_type", "by_part", "event_0_id", "event_0_xid"):
        log.execute("SELECT bt_index_check(%s::regclass, true)", (f"outbox.{index}",))
    with log.connect() as session:
        session.execute("SET enable_seqscan = off")
        for condition, count in (("lower(event_type) = 't'", 30), ("payload::jsonb @> '{\"n\": 7}'", 2),
                                 ("entity_id < '5' AND entity_id > '0'", 20), ("created_at < now()", 30)):
            assert session.execute(f"SELECT count(*) FROM outbox.event_0 WHERE {condition}").fetchone()[0] == count


def test_a_column_that_an_older_catalog_lacks_is_left_out(log):
    with log.connect() as session:
        session.execute(EMIT, (1,))
        log.execute("ALTER TABLE outbox.event DROP COLUMN workspace_id CASCADE, DROP COLUMN headers CASCADE")
        session.execute("SELECT outbox.emit('t', '{\"n\": 2}', workspace_id => 'w', project_id => 'p')")
    assert log.execute("SELECT project_id, initiator_type FROM outbox.event ORDER BY id") == [(None, "USER"), ("p", "USER")]


def test_writing_is_refused_where_it_cannot_work(log):
    with log.connect() as session:
        session.execute("SET default_transaction_read_only = on")
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction, match="cannot write events in a read-only"):
            session.execute(EMIT, (1,))
        session.execute("RESET default_transaction_read_only")
        log.execute("UPDATE outbox.slice SET writing = false")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="no slice of outbox.event is being written"):
            session.execute(EMIT, (1,))
        log.execute("UPDATE outbox.slice SET writing = true WHERE slice = 0")
        session.execute(EMIT, (1,))
    assert log.value("SELECT count(*) FROM outbox.event") == 1


def test_a_rolled_back_savepoint_takes_its_events_with_it(log):
    with log.connect(autocommit=False) as session:
        session.execute(EMIT, (1,))
        session.execute("SAVEPOINT s")
        session.execute(EMIT, (10,))
        session.execute("ROLLBACK TO s")
        session.execute(EMIT, (2,))
        session.commit()
    assert log.execute("SELECT count(*), count(DISTINCT xid) FROM outbox.event") == [(3, 1)]


def test_the_slice_and_its_indexes_stay_locked_by_a_writer_whatever_it_rolls_back(log):
    locks = ("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'RowExclusiveLock' AND relation IN"
             " ('outbox.event_0'::regclass, 'outbox.event_0_id'::regclass, 'outbox.event_0_xid'::regclass)")
    with log.connect(autocommit=False) as session:
        for _ in range(2):      # the session learns where it writes, then knows
            session.execute("SAVEPOINT s")
            session.execute(EMIT, (1,))
            assert session.execute(locks).fetchone() == (3,)
            session.execute("ROLLBACK TO s")
            assert session.execute(locks).fetchone() == (0,)
            session.execute(EMIT, (1,))
            assert session.execute(locks).fetchone() == (3,)
            session.commit()
