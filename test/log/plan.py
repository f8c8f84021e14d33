"""What the reader touches does not grow with what is settled behind its position. Counted in rows, not in time."""

import pytest

from lane import BEGINNING, ranges, read, read_all

SLICES = 8
EVENTS = 5000  # per slice
EMIT = "SELECT count(outbox.emit('t', jsonb_build_object('n', n), 'e', n::text)) FROM generate_series(1, %s) AS n"
TOUCHED = """SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_xact_user_tables
              WHERE schemaname = 'outbox' AND relname LIKE 'event%'"""
INDEX_ENTRIES = """SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid))::bigint FROM pg_index
                    WHERE indrelid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'outbox.event'::regclass)"""


def fill(pg, slices):
    """EVENTS in each slice, in transactions of a hundred, as a relay would have settled them long ago."""
    for slice in range(slices):
        pg.execute("UPDATE outbox.slice SET writing = false WHERE writing")
        pg.execute("UPDATE outbox.slice SET writing = true WHERE slice = %s", (slice,))
        with pg.connect() as session:  # a new session: it learns the slice
            for _ in range(EVENTS // 100):
                session.execute(EMIT, (100,))


def counters(session):
    return sum(session.execute(counter).fetchone()[0] or 0 for counter in (TOUCHED, INDEX_ENTRIES))


def touched(session, position, **limits):
    """Reads a chunk: (how many rows and index entries of the log it touched, the chunk)."""
    with session.transaction():  # counts are not sent away within
        before = counters(session)
        chunk = read(session, position, **limits)
        return counters(session) - before, chunk


@pytest.fixture(params=[(1, "without"), (1, "with"), (SLICES, "without"), (SLICES, "with")],
                ids=lambda value: f"{value[0]} slices {value[1]} statistics")
def filled(request, log):
    slices, statistics = request.param
    fill(log, slices)
    if statistics == "with":
        log.execute("ANALYZE outbox.event")
    return log


def test_reading_touches_little_more_than_what_it_shows(filled):
    with filled.connect() as session, filled.connect(autocommit=False) as bystander:
        position, events = read_all(session, rows=5000)
        everything = len(events)
        bystander.execute("SELECT pg_current_xact_id()")

        count, (all_read, position, _) = touched(session, position)
        assert all_read and count == 0, "an empty window"

        session.execute(EMIT, (10,))
        count, (_, after, new) = touched(session, position)
        assert len(new) == 10 and count <= 30, "the first query of a window"

        # Far into a window as large as the log: what is left of it must not be read for each chunk.
        _, open_position, first = read(session, BEGINNING, rows=100)
        assert open_position["upper"] is not None
        count, (_, _, chunk) = touched(session, open_position, rows=100)
        assert len(chunk) == 100 and count <= 400, "a chunk of an open window"

        out = {**after, "outstanding": ranges(event["id"] for event in events[::9])}
        count, (_, _, chunk) = touched(session, out, rows=100)
        assert len(chunk) == 100 and count <= 400, "outstanding ids one by one"

        out = {**after, "outstanding": f"{{[{events[0]['id']},{events[-1]['id'] + 1})}}"}
        count, (_, _, chunk) = touched(session, out, rows=100)
        assert len(chunk) == 100 and count <= 400, "outstanding ids in one large range"
        assert everything >= EVENTS
