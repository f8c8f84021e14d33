"""What the documentation shows is what happens: its SQL is run as it stands there."""

import re
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("heading", ["### condition", "### watch", "## SQL in a rule"])
def test_the_examples_of_rules_make_the_events_shown_below_them(pg, heading):
    shown = 0
    events = []
    for language, text in blocks(section("capture.md", heading)):
        if language == "sql":
            events = run(pg, text)
        else:
            assert text.splitlines() == events
            shown += len(events)
    assert shown >= 2
