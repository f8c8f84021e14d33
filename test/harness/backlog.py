"""A table `item` whose changes make a given number of events, many to a key."""

SCHEMA = "CREATE TABLE IF NOT EXISTS item (id bigint PRIMARY KEY, version bigint NOT NULL DEFAULT 1, body text)"


def make(session, events, keys=3000, size=300):
    """Writes `events` events over `keys` rows in transactions of up to `keys` events: inserts, then updates."""
    session.execute(SCHEMA)
    session.execute("SELECT outbox.track('item')")
    first = session.execute("SELECT coalesce(max(id), 0) FROM item").fetchone()[0]
    keys = min(keys, events)
    session.execute("INSERT INTO item (id, body) SELECT %s::bigint + i, repeat('b', %s) FROM generate_series(1, %s) AS i",
                    (first, size, keys))
    left = events - keys
    while left > 0:
        now = min(keys, left)
        session.execute("UPDATE item SET version = version + 1 WHERE id BETWEEN %s AND %s", (first + 1, first + now))
        left -= now
