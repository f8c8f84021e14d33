"""What the documentation shows is what happens: its SQL is run as it stands there."""

import re
import threading
from pathlib import Path

import pytest

from harness.waiting import wait_until

DOCS = Path(__file__).resolve().parents[2] / "docs"


def section(page, heading):
    """The text from a heading to the next one of its rank or above."""
    text = (DOCS / page).read_text(encoding="utf-8")
    rank = heading.split(" ")[0]
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(rank)}}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"docs/{page} has no section {heading}"
    return found.group(1)


def blocks(text):
    """The code blocks in order: (language, text)."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def pg(make_server):
    server = make_server().start()
    server.execute("CREATE EXTENSION outbox_relay")
    return server


def run(pg, sql):
    """The events that it makes, as the documentation writes them."""
    last = pg.value("SELECT coalesce(max(id), 0) FROM outbox.event")
    pg.psql("-c", sql)
    rows = pg.execute("SELECT event_type || ' | ' || payload FROM outbox.event WHERE id > %s ORDER BY id", (last,))
    return [row[0] for row in rows]


@pytest.mark.parametrize("headings", [
    ["### condition"], ["### watch"], ["## SQL in a rule"], ["### on_failure", "## When an event cannot be made"]])
def test_the_examples_of_rules_make_the_events_shown_below_them(pg, headings):
    pg.execute("CREATE ROLE migrator")
    shown = 0
    events = []
    for language, text in blocks("".join(section("capture.md", heading) for heading in headings)):
        if language == "sql":
            events = run(pg, text)
        else:
            assert text.splitlines() == events
            shown += len(events)
    assert shown >= 2


OLD_TRIGGER = """
    CREATE TABLE issues (id int PRIMARY KEY, name text);
    CREATE FUNCTION issues_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO old_outbox (event_type, entity_type, entity_id, payload, initiator_id)
            VALUES ('issue.' || lower(TG_OP), 'issue', new.id, jsonb_build_object('data', to_jsonb(new)), 'ann');
        RETURN NULL;
    END $$;
    CREATE TRIGGER issues_outbox AFTER INSERT OR UPDATE ON issues FOR EACH ROW EXECUTE FUNCTION issues_outbox();
    INSERT INTO issues SELECT i, 'sent' FROM generate_series(1, 3) AS i;
    UPDATE old_outbox SET claimed_at = now(), processed_at = now();
    UPDATE issues SET name = 'stuck' WHERE id < 3;
    UPDATE old_outbox SET claimed_at = now() - interval '1 day' WHERE processed_at IS NULL;
    UPDATE issues SET name = 'unclaimed';
"""


def test_the_switch_brings_over_what_was_not_sent_and_captures_each_change_once(pg):
    create, switch = (text for _, text in blocks(section("migrating.md", "## The switch")))
    pg.psql("-c", create, "-c", OLD_TRIGGER)
    unsent = pg.execute("SELECT event_id, event_type, entity_id, payload FROM old_outbox WHERE processed_at IS NULL ORDER BY id")
    assert len(unsent) == 5
    with pg.connect(autocommit=False) as before, pg.connect(autocommit=False) as after:
        before.execute("UPDATE issues SET name = 'open when the switch begins' WHERE id = 1")
        switching = threading.Thread(target=pg.psql, args=("-c", switch))
        switching.start()
        wait_until(lambda: pg.value("SELECT count(*) FROM pg_locks WHERE NOT granted") == 1, what="the switch waits")
        writing = threading.Thread(target=after.execute, args=("UPDATE issues SET name = 'came later' WHERE id = 1",))
        writing.start()
        wait_until(lambda: pg.value("SELECT count(*) FROM pg_locks WHERE NOT granted") == 2, what="a writer waits")
        before.commit()
        switching.join(30)
        writing.join(30)
        after.commit()
    events = pg.execute("SELECT event_id, event_type, entity_id, payload FROM outbox.event ORDER BY id")
    assert events[:5] == unsent
    assert [(kind, payload["data"]["name"]) for _, kind, _, payload in events[5:]] == [
        ("issue.update", "open when the switch begins"), ("issue.updated", "came later")]
    assert {row[0] for row in pg.execute("SELECT entity_type FROM outbox.event")} == {"issue"}
    assert pg.value("SELECT count(*) FROM outbox.event WHERE headers ? 'first-created-at'") == 6
    assert pg.value("SELECT count(*) FROM old_outbox WHERE processed_at IS NULL") == 0
    assert pg.value("SELECT count(*) FROM old_outbox") == 9


def test_an_application_that_writes_debeziums_outbox_goes_on_as_it_is(pg):
    ((_, sql),) = blocks(section("migrating.md", "## From Debezium's outbox"))
    pg.psql("-c", sql, "-c", "CREATE ROLE app LOGIN", "-c", "GRANT INSERT, DELETE, SELECT ON outboxevent TO app")
    with pg.connect(user="app", autocommit=False) as session:
        for row in ("'Order', '7', 'OrderCreated', '{\"total\": 1}'", "'Order', '7', 'OrderForgotten', NULL"):
            session.execute(f"INSERT INTO outboxevent VALUES (gen_random_uuid(), {row})")
        ids = [row[0] for row in session.execute("SELECT id FROM outboxevent ORDER BY type").fetchall()]
        session.execute("DELETE FROM outboxevent")
        session.commit()
    assert pg.execute("SELECT event_id, event_type, entity_type, entity_id, payload::text FROM outbox.event ORDER BY id") == [
        (ids[0], "OrderCreated", "Order", "7", '{"total": 1}'), (ids[1], "OrderForgotten", "Order", "7", "null")]


def test_the_grants_let_an_application_emit_and_a_deployer_track(pg):
    ((_, sql),) = blocks(section("migrating.md", "## Privileges"))
    pg.psql("-c", sql, "-c", "GRANT CREATE ON SCHEMA public TO deployer")
    with pg.connect(user="deployer") as deployer, pg.connect(user="app") as app:
        deployer.execute("CREATE TABLE issues (id int PRIMARY KEY)")
        deployer.execute("GRANT INSERT ON issues TO app")
        deployer.execute("SELECT outbox.track('issues')")
        assert deployer.execute("SELECT count(*) FROM outbox.rules").fetchone() == (1,)
        app.execute("INSERT INTO issues VALUES (1)")
        app.execute("SELECT outbox.emit('report.sent', '{}')")
    assert pg.execute("SELECT event_type FROM outbox.event ORDER BY id") == [("issues.created",), ("report.sent",)]


@pytest.mark.parametrize("databases", ["none", ""])
def test_a_test_server_needs_no_broker_and_copies_of_a_template_relay_nothing(make_server, databases):
    command, test, output = (text for _, text in blocks(section("migrating.md", "## In CI")))
    settings = dict(re.findall(r"-c (\S+)=(\S+)", command))
    assert settings == {"shared_preload_libraries": "outbox_relay", "outbox_relay.databases": "none"}
    pg = make_server(outbox_relay__databases=databases).start()
    pg.execute("CREATE DATABASE app_test")
    pg.psql("-c", "CREATE EXTENSION outbox_relay", "-c", "SELECT outbox.emit('a.b', '{}')", dbname="app_test")
    for i in range(3):
        pg.execute(f"CREATE DATABASE test_{i} TEMPLATE app_test")
        assert pg.psql("-q", "-At", "-c", test, dbname=f"test_{i}").splitlines()[1:] == output.splitlines()
    if databases:
        assert pg.pids("outbox_relay keeper") == pg.pids("outbox_relay lane") == []
