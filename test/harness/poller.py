"""The classic mistake: a cursor on the id. A lower id can commit after a higher one; this reader never sees it."""

import threading

QUERY = "SELECT id, event_id::text FROM outbox.event WHERE id > %s ORDER BY id LIMIT 1000"


class NaivePoller:
    """Reads the log by `id > last` in a thread; `seen` holds the event ids it met."""

    def __init__(self, pg, interval=0.01):
        self.seen = set()
        self._pg = pg
        self._interval = interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        last = 0
        stopping = False
        with self._pg.connect() as session:
            while True:
                rows = session.execute(QUERY, (last,)).fetchall()
                if rows:
                    last = rows[-1][0]
                    self.seen.update(event_id for _, event_id in rows)
                elif stopping:
                    return
                stopping = self._stop.wait(self._interval)

    def finish(self):
        """Lets it read up to the end of the log; returns what it saw."""
        self._stop.set()
        self._thread.join(60)
        return self.seen
