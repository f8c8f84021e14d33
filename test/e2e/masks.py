"""Columns masked by sha256: the secret that they are hashed with, and that nobody reads it."""

import hashlib

import psycopg
import pytest

from harness.waiting import wait_until

TRACKED = """
    CREATE EXTENSION outbox_relay;
    CREATE TABLE person (id int PRIMARY KEY, email text, born timestamptz, phone int8);
    SELECT outbox.track('person', '{"mask": {"email": "sha256", "born": "sha256", "phone": "sha256"}}');
"""


def hashed(salt, value):
    return hashlib.sha256(f"{salt}{value}".encode()).hexdigest()


def payloads(pg):
    return [payload for payload, in pg.execute("SELECT payload FROM outbox.event ORDER BY id")]


def test_a_value_is_hashed_with_the_salt_whatever_the_session_has_set(make_server):
    pg = make_server(outbox_relay__mask_salt="pepper").start()
    pg.execute(TRACKED)
    pg.execute("SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German';"
               " INSERT INTO person VALUES (1, 'ann@example.org', '2024-01-01 00:00+00', 42), (2, NULL, NULL, NULL)")
    pg.execute("UPDATE person SET email = 'crème' WHERE id = 1")
    first, second, updated = payloads(pg)
    assert first["data"] == {"id": 1, "email": hashed("pepper", "ann@example.org"), "phone": hashed("pepper", 42),
                             "born": hashed("pepper", "2024-01-01T00:00:00+00:00")}
    assert second["data"] == {"id": 2, "email": None, "born": None, "phone": None}
    assert updated["data"]["email"] == hashed("pepper", "crème")
    assert updated["previous_attributes"] == {"email": hashed("pepper", "ann@example.org")}


def test_a_reload_changes_the_salt_and_without_one_nothing_is_hashed(make_server):
    pg = make_server(outbox_relay__mask_salt="old").start()
    pg.execute(TRACKED)
    with pg.connect() as session:
        def insert(number):
            session.execute("INSERT INTO person VALUES (%s, 'a')", (number,))
            return payloads(pg)[-1]["data"]["email"]

        numbers = iter(range(1, 1000))
        assert insert(next(numbers)) == hashed("old", "a")
        pg.set(outbox_relay__mask_salt="new")
        wait_until(lambda: insert(next(numbers)) == hashed("new", "a"), 20, "the session uses the new salt")
        pg.set(outbox_relay__mask_salt=None)
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState) as refused:
            wait_until(lambda: insert(next(numbers)) is None, 20, "the session has no salt")
    assert "outbox_relay.mask_salt" in refused.value.diag.message_hint


def test_the_salt_is_never_shown(make_server):
    pg = make_server(outbox_relay__mask_salt="pepper", log_min_messages="debug1").start()
    assert pg.value("SHOW outbox_relay.mask_salt") == "(hidden)"
    pg.set(outbox_relay__mask_salt="cayenne")
    wait_until(lambda: "reloading configuration files" in pg.log_text(), 20, "reload")
    with pg.connect() as session:
        shown = str(session.execute("SELECT s::text FROM pg_settings AS s WHERE name = 'outbox_relay.mask_salt'").fetchall())
    assert "(hidden)" in shown and "pepper" not in shown and "cayenne" not in shown
    assert "pepper" not in pg.log_text() and "cayenne" not in pg.log_text()
