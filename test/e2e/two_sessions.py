"""Two sessions on one table: what the one captures while the other changes rows, the table or the rule."""

import psycopg
import pytest

from harness.waiting import wait_until

EVENTS = ("SELECT split_part(event_type, '.', 2), payload->'data', payload->'previous_attributes'"
          " FROM outbox.event ORDER BY id")


@pytest.fixture
def pg(make_server):
    server = make_server().start()
    server.execute("CREATE EXTENSION outbox_relay")
    server.execute("CREATE TABLE t (id int PRIMARY KEY, a text, n int); SELECT outbox.track('t');"
                   " INSERT INTO t VALUES (1, 'x', 0)")
    return server


def blocked(pg, session):
    return pg.value("SELECT cardinality(pg_blocking_pids(%s)) > 0", (session.info.backend_pid,))


def during(pg, first, second):
    """The second statement in a session of its own, which waits for the first one's row lock until that commits."""
    with pg.connect(autocommit=False) as holder, pg.connect() as waiter:
        holder.execute(first)
        waiter.pgconn.send_query(second.encode())
        wait_until(lambda: blocked(pg, waiter), 10, "the second statement waits")
        holder.commit()
        while result := waiter.pgconn.get_result():
            assert result.status == psycopg.pq.ExecStatus.COMMAND_OK, result.error_message


def test_an_update_that_waited_reports_what_it_changed_in_the_row_that_the_other_left(pg):
    during(pg, "UPDATE t SET n = n + 1", "UPDATE t SET n = n + 1, a = 'y'")
    assert pg.execute(EVENTS)[1:] == [("updated", {"id": 1, "a": "x", "n": 1}, {"n": 0}),
                                      ("updated", {"id": 1, "a": "y", "n": 2}, {"a": "x", "n": 1})]


def test_an_update_that_waited_and_then_found_nothing_left_to_do_leaves_no_event(pg):
    during(pg, "UPDATE t SET n = 1", "UPDATE t SET n = 1")
    during(pg, "UPDATE t SET n = 2", "UPDATE t SET n = 3 WHERE n = 1")
    during(pg, "DELETE FROM t", "UPDATE t SET n = 4")
    assert [event[0] for event in pg.execute(EVENTS)[1:]] == ["updated", "updated", "deleted"]


def test_an_upsert_that_waited_updates_what_the_other_inserted(pg):
    upsert = "INSERT INTO t VALUES (2, '{0}', 0) ON CONFLICT (id) DO UPDATE SET a = excluded.a"
    during(pg, upsert.format("first"), upsert.format("second"))
    assert pg.execute(EVENTS)[1:] == [("created", {"id": 2, "a": "first", "n": 0}, {}),
                                      ("updated", {"id": 2, "a": "second", "n": 0}, {"a": "first"})]


def test_a_row_that_moves_between_partitions_while_another_session_waits_for_it_is_captured_once(pg):
    pg.execute("CREATE TABLE p (id int, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);"
               "CREATE TABLE p_1 PARTITION OF p FOR VALUES IN (1); CREATE TABLE p_2 PARTITION OF p FOR VALUES IN (2);"
               "INSERT INTO p VALUES (1, 1); SELECT outbox.track('p')")
    with pytest.raises(AssertionError, match="moved to another partition"):
        during(pg, "UPDATE p SET part = 2", "DELETE FROM p")
    assert [event[:2] for event in pg.execute(EVENTS)[1:]] == [("deleted", {"id": 1, "part": 1}),
                                                               ("created", {"id": 1, "part": 2})]


def test_a_session_that_lives_long_notices_ddl_and_rules_of_others(pg):
    with pg.connect() as session:
        def newest(sql):
            session.execute(sql)
            events = session.execute("SELECT event_type, payload->'data' FROM outbox.event ORDER BY id DESC LIMIT 1")
            return events.fetchone()

        assert newest("UPDATE t SET n = 1") == ("t.updated", {"id": 1, "a": "x", "n": 1})
        pg.execute("ALTER TABLE t ADD COLUMN b int DEFAULT 7")
        assert newest("UPDATE t SET n = 2") == ("t.updated", {"id": 1, "a": "x", "n": 2, "b": 7})
        pg.execute("ALTER TABLE t ALTER COLUMN n TYPE text")
        assert newest("UPDATE t SET n = '3'") == ("t.updated", {"id": 1, "a": "x", "n": "3", "b": 7})
        pg.execute("ALTER TABLE t RENAME COLUMN a TO c")
        assert newest("UPDATE t SET n = '4'") == ("t.updated", {"id": 1, "c": "x", "n": "4", "b": 7})
        pg.execute("ALTER TABLE t DROP COLUMN b")
        assert newest("UPDATE t SET n = '5'") == ("t.updated", {"id": 1, "c": "x", "n": "5"})
        pg.execute("ALTER TABLE t RENAME TO u")
        assert newest("UPDATE u SET n = '6'") == ("t.updated", {"id": 1, "c": "x", "n": "6"})
        pg.execute("SELECT outbox.track('u', '{\"entity\": \"other\", \"columns\": [\"n\"]}')")
        assert newest("UPDATE u SET n = '7'") == ("other.updated", {"n": "7"})
        with pytest.raises(psycopg.errors.DependentObjectsStillExist):
            pg.execute("ALTER TABLE u RENAME COLUMN n TO m")
        assert newest("UPDATE u SET n = '8'") == ("other.updated", {"n": "8"})
        pg.execute("ALTER TABLE u DISABLE TRIGGER ALL")
        assert newest("UPDATE u SET n = '9'") == ("other.updated", {"n": "8"})
        pg.execute("ALTER TABLE u ENABLE TRIGGER ALL; SELECT outbox.untrack('u')")
        assert newest("UPDATE u SET n = '10'") == ("other.updated", {"n": "8"})
        pg.execute("SELECT outbox.track('u')")
        assert newest("UPDATE u SET n = '11'") == ("u.updated", {"id": 1, "c": "x", "n": "11"})
