"""Databases that are not in UTF-8, and bytes that are no text at all: what goes on the wire is UTF-8 in any case."""

import json

import pytest

from harness.consumer import read_queue
from harness.waiting import wait_until

TRACKED = """
    CREATE EXTENSION outbox_relay;
    CREATE TYPE "größe" AS ENUM ('überall');
    CREATE TABLE "Straße" (id text PRIMARY KEY, "café" text, j json, b jsonb, many text[], "größe" "größe");
    SELECT outbox.track('"Straße"');
"""


@pytest.fixture
def other_database(stage):
    """other_database(encoding, client_encoding): a session in a new database of that encoding."""
    sessions = []

    def create(encoding, client_encoding):
        stage.pg.execute(f"CREATE DATABASE other ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
        sessions.append(stage.pg.connect("other", client_encoding=client_encoding))
        return sessions[-1]

    yield create
    for session in sessions:
        session.close()


def receive(stage, session, count):
    committed = {str(event_id) for event_id, in session.execute("SELECT event_id FROM outbox.event").fetchall()}
    assert len(committed) == count
    messages = read_queue(stage.broker, stage.queue, committed)
    for message in messages:
        json.loads(message.body.decode("utf-8", errors="strict"))
    return messages


@pytest.mark.parametrize("encoding", ["LATIN1", "WIN1252", "LATIN9"])
def test_names_and_values_of_other_encodings_arrive_as_utf8(stage, other_database, encoding):
    session = other_database(encoding, "utf8")
    session.execute(TRACKED)
    session.execute("""INSERT INTO "Straße" VALUES ('clé', 'crème ÿ "brûlée"', '{ "é" : "\\u20ac ü" }', '{"ü": "ß"}', '{à,"ç d"}', 'überall')""")
    session.execute("""SELECT outbox.emit('gruß.gesendet', '{"für": "Ä"}', 'brief', 'ö', initiator_id => 'Zoë', headers => '{"von": "Jürgen"}')""")
    created, emitted = receive(stage, session, 2)
    assert created.routing_key == created.event_type == "Straße.created"
    assert created.headers["entity-id"] == created.envelope["entity_id"] == "clé"
    assert created.envelope["payload"]["data"] == {"id": "clé", "café": 'crème ÿ "brûlée"', "j": {"é": "€ ü"}, "b": {"ü": "ß"},
                                                   "many": ["à", "ç d"], "größe": "überall"}
    assert '{ "é" : "\\u20ac ü" }'.encode() in created.body
    assert emitted.event_type == "gruß.gesendet" and emitted.headers["von"] == "Jürgen"
    assert (emitted.envelope["payload"], emitted.envelope["entity_id"], emitted.envelope["initiator_id"]) == ({"für": "Ä"}, "ö", "Zoë")


def test_the_euro_sign_of_latin9_is_not_the_currency_sign_of_latin1(stage, other_database):
    session = other_database("LATIN9", "utf8")
    session.execute("CREATE EXTENSION outbox_relay; CREATE TABLE price (id int PRIMARY KEY, unit text); SELECT outbox.track('price')")
    session.execute("INSERT INTO price VALUES (1, '€')")
    message, = receive(stage, session, 1)
    assert message.envelope["payload"]["data"]["unit"] == "€"


def test_sql_ascii_passes_utf8_on_and_replaces_what_is_not(stage, other_database):
    session = other_database("SQL_ASCII", "sql_ascii")
    session.execute("CREATE EXTENSION outbox_relay; CREATE TABLE word (id text PRIMARY KEY, text text); SELECT outbox.track('word')")
    session.execute(r"""
        INSERT INTO word VALUES ('1', E'cr\xc3\xa8me'), (E'caf\xe9', E'br\xfbl\xe9e \xe2\x82'), ('3', 'plain')""")
    stored = session.execute("SELECT count(*) FROM outbox.event"
                             " WHERE position('\\xe9'::bytea IN convert_to(payload::text, 'SQL_ASCII')) > 0").fetchone()
    assert stored == (1,), "the log has the bytes as they were"
    utf8, latin, plain = receive(stage, session, 3)
    assert utf8.envelope["payload"]["data"]["text"] == "crème"
    assert latin.envelope["payload"]["data"] == {"id": "caf\ufffd", "text": "br\ufffdl\ufffde \ufffd\ufffd"}
    assert latin.headers["entity-id"] == "caf\ufffd"
    assert plain.envelope["payload"]["data"]["text"] == "plain"


@pytest.mark.server(bound=False)
@pytest.mark.parametrize("encoding, client, text, routing_key", [
    ("LATIN1", "utf8", "gruß.ÿ", "gruß.ÿ"), ("SQL_ASCII", "sql_ascii", r"gr\xfc\xc3\x9f", "gr\ufffdß")])
def test_what_is_parked_keeps_its_names_in_other_encodings(stage, other_database, encoding, client, text, routing_key):
    session = other_database(encoding, client)
    session.execute("CREATE EXTENSION outbox_relay")
    session.execute(f"SELECT outbox.emit(E'{text}', '{{}}', 'brief', '1') FROM generate_series(1, 3)")
    parked = "SELECT count(*) FROM outbox.parked WHERE reason = 'unroutable' AND last_error IS NOT NULL"
    wait_until(lambda: session.execute(parked).fetchone()[0] >= 1, 15, "it is parked")
    stage.broker.declare(stage.queue)
    assert [message.routing_key for message in receive(stage, session, 3)] == [routing_key] * 3
    wait_until(lambda: session.execute("SELECT count(*) FROM outbox.parked").fetchone()[0] == 0, 15, "none is left")


def test_half_a_character_is_shown_by_its_number(stage):
    stage.pg.execute("""CREATE TABLE half (id int PRIMARY KEY, c "char", many "char"[]); SELECT outbox.track('half')""")
    stage.pg.execute("INSERT INTO half VALUES (1, 'é', '{ü,x}')")     # "char" keeps the first byte
    _, (message,) = stage.read()
    assert message.envelope["payload"]["data"] == {"id": 1, "c": "\\303", "many": ["\\303", "x"]}
