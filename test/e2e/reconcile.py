"""Failures and outbox.reconcile() where another session, or the end of the server, has a say."""

import threading

import psycopg
import pytest

from harness.waiting import wait_until

RULE = """'{"on_failure": "record", "enrich": {"q": "SELECT 100 / n FROM divisor"}}'"""
EVENTS = "SELECT event_type, payload->'data'->>'name', headers IS NOT NULL FROM outbox.event ORDER BY id"


@pytest.fixture
def pg(make_server):
    """A tracked table with a recorded failure of row 1, whose cause is gone."""
    server = make_server(max_prepared_transactions=5).start()
    server.execute("CREATE EXTENSION outbox_relay")
    server.execute("CREATE TABLE divisor AS SELECT 0 AS n")
    server.execute("CREATE TABLE t (id int PRIMARY KEY, name text, updated_at timestamptz DEFAULT clock_timestamp())")
    server.execute(f"SELECT outbox.track('t', {RULE})")
    server.execute("INSERT INTO t VALUES (1, 'first')")
    server.execute("UPDATE divisor SET n = 1")
    return server


def stats(pg):
    return pg.execute("SELECT events, failures FROM outbox.capture_stats() WHERE target = 't'::regclass")


def while_waiting(pg, call, then):
    """Runs the call in a session of its own; once that waits for a lock, `then`; returns the call's rows."""
    rows = []
    with pg.connect() as session:
        thread = threading.Thread(target=lambda: rows.extend(session.execute(call).fetchall()))
        thread.start()
        wait_until(lambda: pg.value("SELECT cardinality(pg_blocking_pids(%s)) > 0", (session.info.backend_pid,)), 10,
                   "the call waits")
        then()
        thread.join()
    return rows


def test_a_lock_that_is_not_to_be_had_fails_the_statement_and_is_no_failure_of_the_event(pg):
    pg.execute("CREATE TABLE member (id int PRIMARY KEY, team int)")
    pg.execute(f"""SELECT outbox.track('member', {RULE}::jsonb || '{{"ordering_key": "team"}}')""")
    with pg.connect(autocommit=False) as holder, pg.connect() as session:
        holder.execute("INSERT INTO member VALUES (1, 7)")
        session.execute("SET lock_timeout = '100ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            session.execute("INSERT INTO member VALUES (2, 7)")
    assert pg.value("SELECT count(*) FROM outbox.capture_failure WHERE target = 'member'::regclass") == 0


def test_the_event_of_a_failure_waits_for_the_row_and_tells_what_it_is_then(pg):
    with pg.connect(autocommit=False) as writer:
        writer.execute("UPDATE t SET name = 'second'")
        rows = while_waiting(pg, "SELECT event_type FROM outbox.reconcile('t')", writer.commit)
    assert rows == [("t.created",)]
    assert pg.execute(EVENTS) == [("t.updated", "second", False), ("t.created", "second", True)]


def test_two_calls_at_once_emit_each_event_once(pg):
    with pg.connect(autocommit=False) as first:
        assert len(first.execute("SELECT * FROM outbox.reconcile('t')").fetchall()) == 1
        assert while_waiting(pg, "SELECT * FROM outbox.reconcile('t')", first.commit) == []
    assert pg.value("SELECT count(*) FROM outbox.event") == 1


def test_a_change_that_tells_its_event_while_reconcile_waits_is_not_told_again(pg):
    pg.execute("SELECT * FROM outbox.reconcile('t')")
    pg.execute("ALTER TABLE t DISABLE TRIGGER ALL; UPDATE t SET updated_at = clock_timestamp();"
               " ALTER TABLE t ENABLE TRIGGER ALL")
    with pg.connect(autocommit=False) as writer:
        writer.execute("UPDATE t SET name = 'second'")
        rows = while_waiting(pg, "SELECT * FROM outbox.reconcile('t', now() - interval '1 hour')", writer.commit)
    assert rows == []
    assert [row[0] for row in pg.execute(EVENTS)] == ["t.created", "t.updated"]


def test_a_row_deleted_while_reconcile_waits_is_told_by_its_own_event(pg):
    pg.execute("SELECT * FROM outbox.reconcile('t')")
    pg.execute("UPDATE t SET updated_at = clock_timestamp() + interval '1 hour'")
    with pg.connect(autocommit=False) as writer:
        writer.execute("DELETE FROM t")
        rows = while_waiting(pg, "SELECT * FROM outbox.reconcile('t', now() - interval '1 hour')", writer.commit)
    assert rows == []
    assert [row[0] for row in pg.execute(EVENTS)] == ["t.created", "t.updated", "t.deleted"]


def test_a_crash_keeps_committed_failures_and_no_others_and_counts_begin_again(pg):
    pg.execute("UPDATE divisor SET n = 0")
    open_transaction = pg.connect(autocommit=False)
    open_transaction.execute("INSERT INTO t VALUES (2, 'lost')")
    pg.execute("INSERT INTO t VALUES (3, 'kept')")
    assert stats(pg) == [(0, 2)]
    pg.restart("immediate")
    assert pg.execute("SELECT row_key->>'id' FROM outbox.capture_failure ORDER BY id") == [("1",), ("3",)]
    assert stats(pg) == []


def test_a_prepared_transaction_keeps_its_failures_until_it_commits(pg):
    pg.execute("UPDATE divisor SET n = 0")
    with pg.connect(autocommit=False) as session:
        session.execute("INSERT INTO t VALUES (2, 'prepared')")
        session.execute("PREPARE TRANSACTION 'p'")
    assert pg.value("SELECT count(*) FROM outbox.capture_failure") == 1
    assert stats(pg) == [(0, 2)]
    pg.execute("COMMIT PREPARED 'p'")
    assert pg.value("SELECT count(*) FROM outbox.capture_failure") == 2


def test_tables_beyond_the_counted_ones_share_a_row(pg):
    pg.execute("""
        DO $$BEGIN
            FOR i IN 1..1030 LOOP
                EXECUTE format('CREATE TABLE many_%s (id int PRIMARY KEY)', i);
                EXECUTE format('SELECT outbox.track(%L)', 'many_' || i);
                EXECUTE format('INSERT INTO many_%s VALUES (1)', i);
                COMMIT;
            END LOOP;
        END$$""")
    assert pg.execute("SELECT count(*), sum(events), sum(events) FILTER (WHERE target IS NULL)"
                      " FROM outbox.capture_stats()") == [(1025, 1030, 7)]
