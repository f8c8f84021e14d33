"""Sessions that write events as an application would: hot rows, savepoints, rollbacks, sleeps.

A row of `subject` counts the events of one key: the update takes the row's lock and gives the version, the event
carries it. What is committed of a key is therefore 1, 2, 3 ... without a gap, in the order of the row's locks.
"""

import random
import threading
import time

import psycopg

KEYS = 300

SETUP = f"""
CREATE TABLE subject (key integer PRIMARY KEY, version bigint NOT NULL DEFAULT 0);
INSERT INTO subject (key) SELECT generate_series(1, {KEYS});
CREATE FUNCTION write_event(target integer, size integer) RETURNS uuid LANGUAGE sql AS $$
    WITH changed AS (UPDATE subject SET version = version + 1 WHERE key = target RETURNING *)
    SELECT outbox.emit('subject.changed', jsonb_build_object('version', version, 'body', repeat('x', size)),
                       'subject', key::text)
      FROM changed
$$;
"""


class Writers:
    def __init__(self, pg, count, seconds):
        self._pg = pg
        self._end = time.monotonic() + seconds
        self._errors = []
        self._threads = [threading.Thread(target=self._run, args=(random.Random(seed),)) for seed in range(count)]
        for thread in self._threads:
            thread.start()

    def busy(self):
        return any(thread.is_alive() for thread in self._threads)

    def finish(self):
        for thread in self._threads:
            thread.join(60)
        assert not self._errors, self._errors

    def _run(self, chance):
        try:
            with self._pg.connect(autocommit=False) as session:
                while time.monotonic() < self._end:
                    self._transaction(session, chance)
        except Exception as error:  # pylint: disable=broad-except
            self._errors.append(error)

    def _transaction(self, session, chance):
        try:
            for _ in range(chance.choice((1, 1, 2, 5, 30))):
                self._step(session, chance)
                if chance.random() < 0.05:
                    time.sleep(chance.random() * 0.05)
        except psycopg.errors.DeadlockDetected:
            session.rollback()
            return
        if chance.random() < 0.15:
            session.rollback()
        else:
            session.commit()

    def _step(self, session, chance):
        key = chance.randint(1, 3 if chance.random() < 0.1 else KEYS)
        write = ("SELECT write_event(%s, %s)", (key, chance.choice((1, 100, 4000))))
        if chance.random() < 0.3:
            session.execute("SAVEPOINT step")
            session.execute(*write)
            session.execute("ROLLBACK TO step" if chance.random() < 0.5 else "RELEASE step")
        else:
            session.execute(*write)
