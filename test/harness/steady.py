"""Writers at a steady rate over a fixed number of keys: the load in the middle of which faults happen.

The table `steady` counts every committed change of a row in its column version, so sum(version) says how many events
there must be, whatever the extension thinks. The writers outlive the server: a transaction that fails is counted by
its SQLSTATE and not tried again, and what could not be written while the server was away is not made up for.
"""

import random
import threading
import time
from collections import Counter

import psycopg

KEYS = 200
SCHEMA = "CREATE TABLE steady (id int PRIMARY KEY, version bigint NOT NULL DEFAULT 1, body text NOT NULL)"
UPDATE = "UPDATE steady SET version = version + 1 WHERE id = %s"


def prepare(session, keys=KEYS, size=200):
    """Makes, tracks and fills the table: the rows of the filling are events, too."""
    session.execute(SCHEMA)
    session.execute("SELECT outbox.track('steady')")
    session.execute("INSERT INTO steady (id, body) SELECT i, repeat('s', %s) FROM generate_series(1, %s) AS i", (size, keys))


class SteadyWriters:
    """Threads that together change about `rate` rows a second until stop()."""

    def __init__(self, pg, rate, keys=KEYS, threads=4, seed=1, dbname="postgres"):
        self.pg = pg                # may be replaced while they write: they go on there
        self.failures = Counter()   # transactions that failed, by SQLSTATE ("": the connection broke)
        self.commits = 0
        self.slowest = 0.0          # seconds that the slowest successful transaction took
        self._dbname = dbname
        self._rows = range(1, keys + 1)
        self._interval = threads * 1.5 / rate       # a transaction changes 1.5 rows
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._running = threading.Event()
        self._running.set()
        self._idle = threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._run, args=(random.Random(seed * 1000 + i),), daemon=True)
                         for i in range(threads)]
        for thread in self._threads:
            thread.start()

    def pause(self):
        """Returns once no writer has a connection."""
        self._running.clear()
        for _ in self._threads:
            assert self._idle.acquire(timeout=60), "a writer hangs"

    def resume(self):
        self._running.set()

    def stop(self, timeout=60):
        self._stop.set()
        self._running.set()
        for thread in self._threads:
            thread.join(timeout)
            assert not thread.is_alive(), "a writer hangs"
        return self

    def _run(self, chance):
        while not self._stop.is_set():
            if not self._running.is_set():
                self._idle.release()
                self._running.wait()
            try:
                with self.pg.connect(self._dbname, autocommit=False, connect_timeout=3) as session:
                    self._write(session, self.pg, chance)
            except psycopg.Error as error:
                self._count(failure=error.sqlstate or "")
                time.sleep(0.1)

    def _write(self, session, pg, chance):
        due = time.monotonic() + self._interval * chance.random()
        while self._running.is_set() and not self._stop.is_set() and pg is self.pg:
            now = time.monotonic()
            if now < due:
                time.sleep(due - now)
            # Behind by more than a second: the machine or the server was away, and a burst would be no steady rate.
            due = max(due + self._interval, now - 1.0)
            began = time.monotonic()
            for row in sorted(chance.sample(self._rows, chance.choice((1, 1, 1, 3)))):
                session.execute(UPDATE, (row,))
            if chance.random() < 0.1:
                session.rollback()
            else:
                session.commit()
                self._count(took=time.monotonic() - began)

    def _count(self, took=None, failure=None):
        with self._lock:
            if failure is not None:
                self.failures[failure] += 1
            else:
                self.commits += 1
                self.slowest = max(self.slowest, took)
