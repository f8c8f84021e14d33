"""Every line of the tables in docs/types.md is true."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "types.md"
LINE = re.compile(r"^\| `(.+)` \| `(.+)` \| `(.+)` \|$", re.MULTILINE)
CODE = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def event_of(session, type, value):
    session.execute(f"CREATE TABLE sample (id int PRIMARY KEY, value {type})")
    session.execute("SELECT outbox.track('sample')")
    session.execute(f"INSERT INTO sample VALUES (1, {value})")
    session.execute("DROP TABLE sample")
    return session.execute("SELECT payload::text FROM outbox.event ORDER BY id DESC LIMIT 1").fetchone()[0]


def test_every_line_of_the_page_is_what_an_event_holds(make_server, note):
    pg = make_server().start()
    pg.execute("CREATE EXTENSION outbox_relay")
    page = PAGE.read_text(encoding="utf-8")
    wrong = []
    with pg.connect() as session:
        for block in CODE.findall(page):
            session.execute(block)
        session.execute("SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German'; SET IntervalStyle = 'iso_8601'; SET bytea_output = 'escape'")
        lines = LINE.findall(page)
        for type, value, shown in lines:
            found = event_of(session, type, value)
            if found != '{"data":{"id":1,"value":%s},"previous_attributes":{}}' % shown:
                wrong.append(f"{type} {value}: {shown} on the page, but {found}")
    assert not wrong, "\n".join(wrong)
    tables = re.findall(r"^\| `.*$", page, re.MULTILINE)
    assert len(lines) == len(tables) > 80, "a line that the test does not read"
    note(f"{len(lines)} lines")
