"""The window reader: every committed event once, in order per key, whatever the writers and the limits are."""

import os
import signal
from collections import Counter, defaultdict

import psycopg
import pytest

from harness.poller import NaivePoller
from lane import BEGINNING, Lane, ranges, read, read_all
from writers import SETUP, Writers

EMIT = "SELECT outbox.emit('t', jsonb_build_object('n', n), 'e', n::text) FROM generate_series(%s::int, %s::int) AS n"


def numbers(events):
    return [event["payload"]["n"] for event in events]


def assert_each_once_in_order(pg, events, who):
    committed = {str(id) for (id,) in pg.execute("SELECT event_id FROM outbox.event")}
    times = Counter(event["event_id"] for event in events)
    assert set(times) == committed, f"{who}: lost {len(committed - set(times))}, made up {len(set(times) - committed)}"
    assert max(times.values()) == 1, f"{who}: repeated {times.most_common(3)}"

    versions = defaultdict(list)
    for event in events:
        versions[event["entity_id"]].append(event["payload"]["version"])
    for key, seen in versions.items():
        assert seen == list(range(1, len(seen) + 1)), f"{who}: key {key} came out of order"


def test_every_committed_event_is_read_once_in_order_per_key_and_a_cursor_on_the_id_loses_some(log, note):
    log.execute(SETUP)
    lanes = {
        "large chunks": Lane(rows=1000),
        "small chunks": Lane(rows=7),
        "few bytes": Lane(rows=1000, size=3000),
        "restarts": Lane(restarts=True, rows=50),
    }
    naive = NaivePoller(log)
    bystander = log.connect(autocommit=False)
    bystander.execute("SELECT pg_current_xact_id()")
    writers = Writers(log, count=12, seconds=15)
    with log.connect() as session:
        session.execute("SET plan_cache_mode = force_generic_plan")
        while writers.busy():
            for lane in lanes.values():
                lane.advance(session)
        writers.finish()
        bystander.rollback()
        for lane in lanes.values():
            while not lane.advance(session):
                pass

    for who, lane in lanes.items():
        assert_each_once_in_order(log, lane.settled, who)
    committed = log.value("SELECT count(*) FROM outbox.event")
    lost = committed - len(naive.finish())
    note(f"{committed} events by 12 writers: no loss, no repeat, no order break; a cursor on the id lost {lost}")
    assert lost > 0, "the writers do not show the fault that the window algorithm is there for"


def test_a_transaction_that_commits_late_is_read_though_its_ids_are_lower(log):
    with log.connect(autocommit=False) as late, log.connect() as session:
        late.execute(EMIT, (1, 1))
        session.execute(EMIT, (2, 2))
        position, events = read_all(session)
        assert numbers(events) == [2]
        late.commit()
        assert numbers(read_all(session, position)[1]) == [1]


def test_a_transaction_above_xmax_that_took_its_id_earlier_is_read(log):
    """xmax is the latest *completed* transaction plus one: the running one is in no list."""
    with log.connect(autocommit=False) as late, log.connect() as session:
        session.execute(EMIT, (1, 1))
        late.execute(EMIT, (2, 2))
        position, events = read_all(session)
        assert numbers(events) == [1]
        assert int(position["done"].split(":")[1]) <= late.execute("SELECT pg_current_xact_id()::text::int").fetchone()[0]
        session.execute(EMIT, (3, 3))
        position, events = read_all(session, position)
        assert numbers(events) == [3]
        late.commit()
        assert numbers(read_all(session, position)[1]) == [2]


def test_an_open_window_keeps_out_what_commits_while_it_is_read(log):
    with log.connect(autocommit=False) as late, log.connect() as session:
        session.execute(EMIT, (1, 10))
        late.execute(EMIT, (11, 11))
        session.execute(EMIT, (12, 15))
        _, position, events = read(session, BEGINNING, rows=5)
        assert numbers(events) == [1, 2, 3, 4, 5] and position["upper"] is not None
        late.commit()
        while position["upper"] is not None:
            _, position, chunk = read(session, position, rows=5)
            events += chunk
        assert numbers(events) == [*range(1, 11), 12, 13, 14, 15]
        assert numbers(read_all(session, position)[1]) == [11]


@pytest.mark.parametrize("how", ["rows", "size"])
def test_a_chunk_ends_at_the_first_limit_and_one_event_always_fits(log, how):
    with log.connect() as session:
        session.execute(EMIT, (1, 100))
        limits = {"rows": 30} if how == "rows" else {"size": 1}
        all_read, _, events = read(session, BEGINNING, **limits)
        assert not all_read
        assert len(events) == (30 if how == "rows" else 1)
        assert numbers(read_all(session, **limits)[1]) == list(range(1, 101))


def test_what_is_outstanding_is_read_first_and_only_that(log):
    with log.connect() as session:
        session.execute(EMIT, (1, 100))
        position, events = read_all(session)
        session.execute(EMIT, (101, 110))
        position["outstanding"] = ranges(event["id"] for event in events if event["payload"]["n"] % 7 == 0)
        all_read, position, events = read(session, position, rows=10)
        assert not all_read and numbers(events) == [7, 14, 21, 28, 35, 42, 49, 56, 63, 70]
        _, position, events = read(session, position, rows=10)
        assert numbers(events) == [77, 84, 91, 98] and position["outstanding"] == "{}"
        assert numbers(read_all(session, position)[1]) == list(range(101, 111))


def test_a_range_of_outstanding_ids_names_no_event_that_was_not_read(log):
    """A transaction that commits late has ids between those that were read."""
    with log.connect(autocommit=False) as late, log.connect() as session:
        session.execute(EMIT, (1, 2))
        late.execute(EMIT, (3, 3))
        session.execute(EMIT, (4, 5))
        _, position, events = read(session, BEGINNING, rows=3)
        assert numbers(events) == [1, 2, 4]
        late.commit()
        position["outstanding"] = f"{{[{events[0]['id']},{events[-1]['id'] + 1})}}"
        position, events = read_all(session, position)
        assert numbers(events) == [1, 2, 4, 5, 3]


def test_a_sink_that_throws_leaves_the_position_and_the_transaction_whole(log):
    with log.connect() as session:
        session.execute(EMIT, (1, 20))
        _, _, events = read(session, BEGINNING, throw_at=7)
        assert numbers(events) == list(range(1, 21))


def test_commits_are_on_disk_before_their_events_are_shown(log):
    """G3, without the help of the WAL writer: what was read survives a crash."""
    (walwriter,) = log.pids("walwriter")
    with log.connect() as session:
        session.execute("SET synchronous_commit = off")
        os.kill(walwriter, signal.SIGSTOP)
        try:
            session.execute(EMIT, (1, 10))
            commit = session.execute("SELECT pg_current_wal_insert_lsn()").fetchone()[0]
            unflushed = "SELECT pg_current_wal_flush_lsn() < %s::pg_lsn"
            assert session.execute(unflushed, (commit,)).fetchone()[0], "the test shows nothing: already on disk"
            _, _, events = read(session, BEGINNING)
            assert not session.execute(unflushed, (commit,)).fetchone()[0]
        finally:
            os.kill(walwriter, signal.SIGCONT)
    log.crash()
    log.start()
    assert log.value("SELECT count(*) FROM outbox.event") == len(events) == 10


def test_an_event_is_shown_as_it_was_written(log):
    with log.connect() as session:
        event_id = session.execute("SELECT outbox.emit('a.b', '{\"x\": [1, null]}', 'thing', '7', 'key', "
                                   "headers => '{\"h\": 1}')").fetchone()[0]
        row = session.execute("SELECT id, xid::text::bigint, (extract(epoch FROM created_at) * 1000000)::bigint"
                              " FROM outbox.event").fetchone()
        _, _, (event,) = read(session, BEGINNING)
    assert event == {"id": row[0], "xid": row[1], "event_id": str(event_id), "event_type": "a.b", "entity_type": "thing",
                     "entity_id": "7", "ordering_key": "key", "initiator_type": "USER", "headers": {"h": 1},
                     "created_at": row[2], "payload": {"x": [1, None]}}


def test_large_payloads_come_whole(log):
    with log.connect() as session:
        session.execute("SELECT outbox.emit('t', jsonb_build_object('n', repeat('abc', 1000000)))")
        _, _, (event,) = read(session, BEGINNING)
    assert event["payload"]["n"] == "abc" * 1000000


@pytest.mark.parametrize("encoding,locale", [("LATIN1", "C"), ("SQL_ASCII", "C"), ("WIN1252", "C")])
def test_text_is_utf8_whatever_the_encoding_and_no_byte_stops_the_reader(log, probe_sql, encoding, locale):
    log.execute(f"CREATE DATABASE other ENCODING '{encoding}' LC_COLLATE '{locale}' LC_CTYPE '{locale}' TEMPLATE template0")
    log.execute("CREATE EXTENSION outbox_relay", dbname="other")
    log.execute(probe_sql, dbname="other")
    # 0x81 is no character in WIN1252; in SQL_ASCII a lone 0xE9 is no UTF-8.
    raw, shown = {"LATIN1": (b"caf\xe9", "café"), "SQL_ASCII": (b"caf\xe9 \xc3\xa9", "caf\ufffd é"),
                  "WIN1252": (b"caf\xe9\x81", "café\ufffd")}[encoding]
    with log.connect("other") as session:
        session.execute("SET client_encoding = 'SQL_ASCII'")
        session.pgconn.exec_(b"SELECT outbox.emit('t', '{\"n\": 1}', 'e', '" + raw + b"')")
        result = session.pgconn.exec_(b"SELECT convert_to(entity_id, 'UTF8') FROM outbox.event" if encoding == "LATIN1"
                                      else b"SELECT entity_id::bytea FROM outbox.event")
        assert result.ntuples == 1
        # The probe's text is UTF-8 in a database that is not: taken as bytes.
        result = session.pgconn.exec_(b"SELECT probe_read('1:1:', NULL, NULL, '{}', 10, 1000000)")
        assert f'"entity_id":"{shown}"'.encode() in result.get_value(0, 0)


def test_a_position_that_cannot_be_read_is_an_error(log):
    with log.connect() as session:
        for wrong in ("", "1:2", "5:3:", "1:5:7", "1:9:4,4", "x"):
            with pytest.raises(psycopg.errors.InternalError, match="invalid snapshot"):
                read(session, {**BEGINNING, "done": wrong})
        for wrong in ("", "{", "{[2,1)}", "{[1,3),[2,5)}", "{[1,2)} "):
            with pytest.raises(psycopg.errors.InternalError, match="invalid range of ids"):
                read(session, {**BEGINNING, "outstanding": wrong})


def test_progress_comes_back_as_it_was_recorded(log):
    with log.connect() as session:
        load = "SELECT probe_load(1, 0)"
        assert session.execute(load).fetchone()[0] == "null"
        session.execute("SELECT probe_record(1, 0, 1, 10, 50, '3:9:4,7', NULL, NULL, '{}')")
        session.execute("SELECT probe_record(1, 0, 2, 25, 120, '3:9:4,7', '12:12:', 99, '{[5,6),[8,11)}')")
        session.execute("SELECT probe_record(2, 0, 9, 99, 200, '1:1:', NULL, NULL, '{}')")
        assert session.execute(load + "::json").fetchone()[0] == {
            "seq": 2, "settled": 25, "highest": 120,
            "position": {"done": "3:9:4,7", "upper": "12:12:", "last_id": 99, "outstanding": "{[5,6),[8,11)}"}}
