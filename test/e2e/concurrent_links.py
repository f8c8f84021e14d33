"""Writers of one issue's links at the same time: the last event of the issue, by id, shows what the tables hold.

Each event reports on rows that its own transaction did not write. Without the lock on the ordering key two transactions
would each report what it sees, none would see the other's row, and nobody would ever hear the truth.
"""

import random
import threading
import time
import uuid
from pathlib import Path

import psycopg
import pytest

from harness.waiting import wait_until

DEMO = Path(__file__).resolve().parents[2] / "demo"
ISSUES = 3
PEOPLE = [str(uuid.UUID(int=100 + i)) for i in range(6)]
LABELS = [str(uuid.UUID(int=200 + i)) for i in range(6)]
LINKS = {"issue_assignees": ("assignee_id", PEOPLE), "issue_labels": ("label_id", LABELS)}

LAST_EVENTS = """
    SELECT DISTINCT ON (entity_id) entity_id::uuid AS issue, payload->'data'->>'name' AS name,
           ARRAY(SELECT json_array_elements_text(payload->'data'->'assignee_ids'))::uuid[] AS assignee_ids,
           ARRAY(SELECT json_array_elements_text(payload->'data'->'label_ids'))::uuid[] AS label_ids
      FROM outbox.event WHERE entity_type = 'workitem' ORDER BY entity_id, id DESC
"""
STALE_ISSUES = f"""
    SELECT count(*) FROM workitem JOIN ({LAST_EVENTS}) AS last ON last.issue = workitem.id
     WHERE (last.name, last.assignee_ids, last.label_ids)
           IS DISTINCT FROM (workitem.name::text, workitem.assignee_ids, workitem.label_ids)
"""


@pytest.fixture
def pg(make_server):
    """Plane, with a few issues."""
    server = make_server().start()
    for part in ("tables.sql", "plane.sql"):
        server.execute((DEMO / part).read_text(encoding="utf-8"))
    server.execute("INSERT INTO labels (id, name) SELECT unnest(%s::uuid[]), 'a label'", (LABELS,))
    server.execute("INSERT INTO issues (id, name) SELECT unnest(%s::uuid[]), 'an issue'", (issues(),))
    return server


def issues():
    return [str(uuid.UUID(int=i)) for i in range(1, ISSUES + 1)]


def do_without_the_lock(pg):
    for table in ("issues", *LINKS):
        pg.execute("SELECT outbox.track(target, rule || '{\"serialize\": false}') FROM outbox.rules"
                   " WHERE target = %s::regclass", (table,))


def waits_for(pg, waiting, holder):
    return pg.value("SELECT %s = ANY(pg_blocking_pids(%s))", (holder.info.backend_pid, waiting.info.backend_pid))


def assign(session):
    session.execute("INSERT INTO issue_assignees (issue_id, assignee_id) VALUES (%s, %s)", (issues()[0], PEOPLE[0]))


def label(session):
    session.execute("INSERT INTO issue_labels (issue_id, label_id) VALUES (%s, %s)", (issues()[0], LABELS[0]))


@pytest.mark.parametrize("isolation", [psycopg.IsolationLevel.READ_COMMITTED, psycopg.IsolationLevel.REPEATABLE_READ])
def test_a_writer_of_another_link_of_the_issue_waits_and_then_tells_of_both(pg, isolation):
    with pg.connect(autocommit=False) as first, pg.connect(autocommit=False) as second:
        second.isolation_level = isolation
        second.execute("SELECT 1")      # in REPEATABLE READ the snapshot is older than the other's commit
        assign(first)
        writer = threading.Thread(target=label, args=(second,))
        writer.start()
        wait_until(lambda: waits_for(pg, second, first), what="the second writer waits for the first")
        first.commit()
        writer.join(30)
        assert not writer.is_alive()
        second.commit()
    last = pg.execute(LAST_EVENTS + " LIMIT 1")[0]
    assert [[str(id) for id in ids] for ids in last[2:]] == [PEOPLE[:1], LABELS[:1]]
    assert pg.value(STALE_ISSUES) == 0


def test_without_the_lock_the_last_event_lacks_the_other_ones_row(pg):
    do_without_the_lock(pg)
    with pg.connect(autocommit=False) as first, pg.connect(autocommit=False) as second:
        assign(first)
        label(second)
        first.commit()
        second.commit()
    assert pg.value(STALE_ISSUES) == 1


def test_writers_of_different_issues_do_not_wait_for_each_other(pg):
    with pg.connect(autocommit=False) as first, pg.connect(autocommit=False, options="-c lock_timeout=5s") as second:
        assign(first)
        second.execute("INSERT INTO issue_assignees (issue_id, assignee_id) VALUES (%s, %s)", (issues()[1], PEOPLE[0]))
        second.execute("UPDATE issues SET name = 'another' WHERE id = %s", (issues()[2],))


def test_a_rolled_back_savepoint_gives_its_lock_back(pg):
    with pg.connect(autocommit=False) as first, pg.connect(autocommit=False, options="-c lock_timeout=5s") as second:
        first.execute("SAVEPOINT s")
        assign(first)
        first.execute("ROLLBACK TO SAVEPOINT s")
        label(second)
        second.commit()
        assign(first)
        first.commit()
    assert pg.value(STALE_ISSUES) == 0


class Rounds:
    """Threads that link, unlink and rename at random, in transactions of one to three changes."""

    def __init__(self, pg, count, commits, seed):
        self._pg = pg
        self._left = commits
        self._mutex = threading.Lock()
        self.commits = 0
        self.deadlocks = 0
        threads = [threading.Thread(target=self._run, args=(random.Random(seed + i),), daemon=True) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive(), "a writer hangs"

    def _run(self, chance):
        with self._pg.connect(autocommit=False) as session:
            while self._take():
                try:
                    for _ in range(chance.choice((1, 1, 2, 3))):
                        self._change(session, chance)
                    time.sleep(chance.random() * 0.003)
                    session.commit()
                    self._count("commits")
                except psycopg.errors.DeadlockDetected:
                    session.rollback()
                    self._count("deadlocks")

    def _take(self):
        with self._mutex:
            self._left -= 1
            return self._left >= 0

    def _count(self, what):
        with self._mutex:
            setattr(self, what, getattr(self, what) + 1)

    def _change(self, session, chance):
        issue = chance.choice(issues())
        if chance.random() < 0.2:
            session.execute("UPDATE issues SET name = %s WHERE id = %s", (f"name {chance.random()}", issue))
            return
        table, (column, ids) = chance.choice(list(LINKS.items()))
        link = (issue, chance.choice(ids))
        gone = {0: f"DELETE FROM {table} WHERE issue_id = %s AND {column} = %s AND deleted_at IS NULL",
                1: f"UPDATE {table} SET deleted_at = now() WHERE issue_id = %s AND {column} = %s AND deleted_at IS NULL"}
        if session.execute(gone[chance.randrange(2)], link).rowcount == 0:
            session.execute(f"INSERT INTO {table} (issue_id, {column}) VALUES (%s, %s) ON CONFLICT DO NOTHING", link)


def test_many_writers_at_random_leave_the_truth_in_the_last_event_of_each_issue(pg, note):
    rounds = Rounds(pg, count=6, commits=600, seed=1)
    events = pg.value("SELECT count(*) FROM outbox.event WHERE entity_type = 'workitem'")
    note(f"{rounds.commits} commits, {rounds.deadlocks} ended as deadlocks, {events} events of {ISSUES} issues")
    assert rounds.commits >= 200
    assert pg.value(STALE_ISSUES) == 0


def test_the_random_writers_find_the_fault_when_the_lock_is_left_out(pg):
    do_without_the_lock(pg)
    for seed in range(20):
        Rounds(pg, count=6, commits=100, seed=seed * 100)
        if pg.value(STALE_ISSUES) > 0:
            return
    raise AssertionError("2,000 commits without the lock left the truth in each last event")


def test_a_bulk_load_under_rules_with_sql_does_not_exhaust_the_lock_table(pg):
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    with pg.connect(autocommit=False) as session:
        assert session.execute("SHOW max_locks_per_transaction").fetchone()[0] == "64"
        session.execute("INSERT INTO issues (name) SELECT 'issue ' || i FROM generate_series(1, 20000) AS i")
        session.execute("INSERT INTO issue_assignees (issue_id, assignee_id) SELECT id, %s FROM issues", (PEOPLE[0],))
        assert session.execute(locks).fetchone()[0] <= 64 * 100 // 16      # of the table's room for 100 connections
        session.commit()
    assert pg.value("SELECT count(*) FROM outbox.event WHERE event_type = 'workitem.updated'") == 20000 + ISSUES
    assert pg.value(STALE_ISSUES) == 0


def test_a_bulk_load_and_small_transactions_on_other_issues_do_not_deadlock(pg):
    def write(rows, rounds, failures):
        with pg.connect() as session:
            for _ in range(rounds):
                try:
                    with session.transaction():
                        for statement in range(3):
                            session.execute("INSERT INTO issues (name) SELECT 'issue ' || i FROM generate_series(1, %s) AS i",
                                            (rows,))
                except psycopg.errors.DeadlockDetected as error:
                    failures.append(error)

    failures = []
    writers = [threading.Thread(target=write, args=(rows, rounds, failures))
               for rows, rounds in ((400, 6), (5, 60), (5, 60), (20, 30))]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failures == []
    assert pg.value("SELECT count(*) FROM outbox.event WHERE event_type = 'workitem.created'") == (
        ISSUES + 3 * (400 * 6 + 2 * 5 * 60 + 20 * 30))
