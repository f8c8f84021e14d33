"""Writers that behave as badly as applications do: hot rows, savepoints, rollbacks, sleeps inside transactions,
single rows and bulk updates, deadlocks.

The table `document` counts every committed change of a row in its column version, and every transaction says at its
end how many events it must have made: two truths that do not come from the extension.
"""

import random
import threading
import time
from dataclasses import dataclass, field

import psycopg

SCHEMA = """
    CREATE TABLE IF NOT EXISTS document (
        id bigint PRIMARY KEY, version bigint NOT NULL DEFAULT 1, title text NOT NULL, body text,
        updated_at timestamptz NOT NULL DEFAULT now());
    CREATE SEQUENCE IF NOT EXISTS document_id START 100000;
"""
HOT_ROWS = 8
ROWS = 3000


def prepare(session):
    """Makes, tracks and fills the table: the rows of the filling are events, too."""
    session.execute(SCHEMA)
    session.execute("SELECT outbox.track('document')")
    session.execute("INSERT INTO document (id, title, body) SELECT i, 'document ' || i, repeat('text ', 20)"
                    " FROM generate_series(1, %s) AS i", (ROWS,))


@dataclass
class Count:
    commits: int = 0
    rollbacks: int = 0
    events: int = 0          # that committed transactions must have made
    unknown: int = 0         # transactions whose connection broke before the answer came
    latencies: list = field(default_factory=list)   # seconds that COMMIT took


class Writers:
    """count threads that write until stop() or for `duration` seconds; they survive restarts of the server."""

    def __init__(self, pg, count=12, duration=30.0, seed=1, pause=0.0, dbname="postgres", setup=""):
        self._pg = pg
        self._dbname = dbname
        self._setup = setup
        self._pause = pause
        self._deadline = time.monotonic() + duration
        self._stop = threading.Event()
        self.counts = [Count() for _ in range(count)]
        self._threads = [threading.Thread(target=self._run, args=(self.counts[i], random.Random(seed * 1000 + i)),
                                          daemon=True) for i in range(count)]
        for thread in self._threads:
            thread.start()

    def finish(self, timeout=120):
        """Waits for the end of the duration and of the last transactions; returns the sum of all counts."""
        for thread in self._threads:
            thread.join(timeout)
            assert not thread.is_alive(), "a writer hangs"
        total = Count()
        for count in self.counts:
            for name in ("commits", "rollbacks", "events", "unknown"):
                setattr(total, name, getattr(total, name) + getattr(count, name))
            total.latencies += count.latencies
        return total

    def stop(self):
        self._stop.set()
        return self.finish()

    def _over(self):
        return self._stop.is_set() or time.monotonic() > self._deadline

    def _run(self, count, chance):
        while not self._over():
            try:
                with self._pg.connect(self._dbname, autocommit=False) as session:
                    if self._setup:
                        session.execute(self._setup)
                        session.commit()
                    while not self._over():
                        self._transaction(session, count, chance)
                        if self._pause:
                            time.sleep(self._pause)
            except psycopg.OperationalError:
                time.sleep(0.2)

    def _transaction(self, session, count, chance):
        try:
            events = self._work(session, chance)
            if chance.random() < 0.15:
                session.rollback()
                count.rollbacks += 1
                return
        except (psycopg.errors.DeadlockDetected, psycopg.errors.LockNotAvailable):
            session.rollback()
            count.rollbacks += 1
            return
        began = time.monotonic()
        try:
            session.commit()
        except psycopg.OperationalError:
            count.unknown += 1
            raise
        count.latencies.append(time.monotonic() - began)
        count.commits += 1
        count.events += events

    def _work(self, session, chance):
        events = 0
        for _ in range(chance.choice((1, 1, 1, 2, 3, 5))):
            if chance.random() < 0.25:
                events += self._savepoint(session, chance)
            else:
                events += self._step(session, chance)
            if chance.random() < 0.15:
                time.sleep(chance.random() * 0.15)
        return events

    def _savepoint(self, session, chance):
        session.execute("SAVEPOINT inner_work")
        events = self._step(session, chance)
        if chance.random() < 0.5:
            session.execute("ROLLBACK TO SAVEPOINT inner_work")
            return 0
        session.execute("RELEASE SAVEPOINT inner_work")
        return events

    def _step(self, session, chance):
        """One statement; returns the number of rows it changed, each of them one event."""
        kind = chance.random()
        if kind < 0.35:
            return session.execute(UPDATE + " id = %s", (chance.randint(1, HOT_ROWS),)).rowcount
        if kind < 0.65:
            return session.execute(UPDATE + " id = %s", (chance.randint(1, ROWS),)).rowcount
        if kind < 0.9:
            rows = chance.choice((1, 1, 2, 10))
            return session.execute("INSERT INTO document (id, title, body) SELECT nextval('document_id'), 'new', %s"
                                   " FROM generate_series(1, %s)", ("x" * chance.choice((10, 100, 3000)), rows)).rowcount
        if kind < 0.96:
            first = chance.randint(HOT_ROWS + 1, ROWS - 200)
            return session.execute(UPDATE + " id BETWEEN %s AND %s", (first, first + chance.choice((20, 200)))).rowcount
        return session.execute("DELETE FROM document WHERE id = (SELECT max(id) FROM document WHERE id >= 100000)").rowcount


UPDATE = "UPDATE document SET version = version + 1, updated_at = now() WHERE"
