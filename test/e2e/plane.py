"""The project tracker Plane, tracked by demo/plane.sql: every event its consumers know, as one of them receives it."""

import sys
import tempfile
import uuid
from pathlib import Path

import pytest
from psycopg.types.json import Jsonb

from harness.postgres import Postgres
from harness.stage import Stage
from harness.waiting import wait_until

DEMO = Path(__file__).resolve().parents[2] / "demo"
sys.path.insert(0, str(DEMO))
import story  # noqa: E402
from story import ADA, BEN, CLEO, PROJECT, WORKSPACE  # noqa: E402

EXCHANGE = "plane.event_stream"
DESCRIPTIONS = {"description_json", "description_html", "description_stripped", "description_binary"}
PLACE = {"workspace_id": WORKSPACE, "project_id": PROJECT}


class Plane:
    """The tracker's database, and a consumer of its events."""

    def __init__(self, stage):
        self.stage = stage
        self.pg = stage.pg

    def open(self):
        """Installs what the team does. The exchange is the relay's own declaration: RabbitMQ refuses to declare it
        again as any other than it is."""
        self.pg.start()
        for part in ("tables.sql", "plane.sql"):
            self.pg.execute((DEMO / part).read_text(encoding="utf-8"))
        self.do("INSERT INTO states (name) VALUES ('first')")
        wait_until(lambda: self.stage.stats()["parked"] == 1, 30, "the relay has declared its exchange")
        self.stage.broker.declare(self.stage.queue, EXCHANGE, exchange_type="fanout", binding="")
        self.news()
        return self

    def close(self):
        self.stage.close()
        self.stage.broker.delete(exchanges=[EXCHANGE])

    def do(self, sql, parameters=None):
        """One transaction."""
        return self.pg.execute(sql, parameters)

    def insert(self, table, **columns):
        """Inserts a row, in the usual place unless another is given; returns its id."""
        columns = {**PLACE, **columns}
        values = [Jsonb(value) if isinstance(value, dict) else value for value in columns.values()]
        names = ", ".join(f'"{name}"' for name in columns)
        return str(self.do(f"INSERT INTO {table} ({names}) VALUES ({', '.join(['%s'] * len(columns))}) RETURNING id",
                           values)[0][0])

    def update(self, table, row, **columns):
        self.do(f"UPDATE {table} SET " + ", ".join(f'"{name}" = %s' for name in columns) + " WHERE id = %s",
                [*columns.values(), row])

    def soft_delete(self, table, row, by=ADA):
        self.do(f"UPDATE {table} SET deleted_at = now(), updated_by_id = %s WHERE id = %s", (by, row))

    def delete(self, table, row):
        self.do(f"DELETE FROM {table} WHERE id = %s", (row,))

    def row(self, table, row):
        """The row as JSON, times in UTC: an opinion that is not the extension's."""
        with self.pg.connect() as session:
            session.execute("SET TimeZone = 'UTC'")
            return session.execute(f"SELECT to_json(t) FROM {table} t WHERE id = %s", (row,)).fetchone()[0]

    def issue(self, **columns):
        """An issue whose own event is read already."""
        row = self.insert("issues", **{"name": "an issue", "created_by_id": ADA, **columns})
        self.news()
        return row

    def news(self):
        """The messages since the last time. Between entities there is no order: a test of what events say wants them as
        they were written."""
        return sorted(self.stage.read()[1], key=lambda message: message.id)

    def events(self):
        return [message.envelope for message in self.news()]


@pytest.fixture(scope="module")
def opened(workdir, pg_config, template, session_broker):
    directory = Path(tempfile.mkdtemp(prefix="pg.", dir=workdir))
    directory.chmod(0o755)
    pg = Postgres(directory, pg_config, {"outbox_relay.amqp_url": session_broker.url()})
    plane = Plane(Stage(pg.create(template), session_broker))
    try:
        yield plane.open()
    finally:
        plane.close()


@pytest.fixture
def plane(opened):
    opened.news()
    return opened


def types(events):
    return [event["event_type"] for event in events]


def data(event):
    return event["payload"]["data"]


def previous(event):
    return event["payload"]["previous_attributes"]


def shown(plane, issue, assignees=(), labels=()):
    """What the events of an issue have in data."""
    columns = {name: value for name, value in plane.row("issues", issue).items() if name not in DESCRIPTIONS}
    return {**columns, "assignee_ids": sorted(assignees), "label_ids": sorted(labels)}


def test_the_demos_story_makes_the_events_that_it_says_and_no_others(plane):
    with plane.pg.connect(autocommit=False) as session:
        for _, sql, _ in story.STEPS:
            session.execute(sql)
            session.commit()
        session.execute(story.ROLLED_BACK[1])
        session.rollback()
    assert types(plane.events()) == [event for _, _, events in story.STEPS for event in events]


def test_messages_are_persistent_and_carry_the_envelope_of_version_1_0(plane):
    issue = plane.insert("issues", name="Login fails", created_by_id=ADA)
    (message,) = plane.news()
    assert message.properties.delivery_mode == 2
    assert message.properties.type == message.routing_key == "workitem.created"
    envelope = message.envelope
    assert set(envelope) == {"version", "id", "event_id", "event_type", "entity_type", "entity_id", "payload",
                             "workspace_id", "project_id", "initiator_id", "initiator_type", "schema_version",
                             "transaction_id", "created_at"}
    assert (envelope["version"], envelope["schema_version"]) == ("1.0", "1.0")
    assert uuid.UUID(envelope["event_id"]).version == 7
    assert (envelope["entity_type"], envelope["entity_id"]) == ("workitem", issue)
    assert (envelope["workspace_id"], envelope["project_id"]) == (WORKSPACE, PROJECT)
    assert set(envelope["payload"]) == {"data", "previous_attributes"}


def test_an_issue_is_a_workitem_without_its_descriptions(plane):
    issue = plane.insert("issues", name="Login fails", priority="high", start_date="2025-01-15", point=3, sort_order=0.5,
                         description_json={"a": 1}, description_html="<p>", description_stripped="text",
                         description_binary=b"\x00\x01", completed_at="2025-01-15 12:00:00+01")
    created = shown(plane, issue)
    plane.update("issues", issue, description_html="<b>", description_json=None)
    plane.update("issues", issue, name="Login fails on Safari", priority="urgent", description_stripped=None)
    updated = shown(plane, issue)
    plane.soft_delete("issues", issue)
    deleted = shown(plane, issue)
    plane.delete("issues", issue)
    events = plane.events()
    assert types(events) == ["workitem.created", "workitem.updated", "workitem.deleted"]
    assert [data(event) for event in events] == [created, updated, deleted]
    assert previous(events[0]) == {}
    assert previous(events[1]) == {"name": "Login fails", "priority": "high"}
    assert previous(events[2]) == {"deleted_at": None, "updated_by_id": None}


def test_an_issue_that_is_deleted_from_the_table_is_deleted_with_its_lists(plane):
    issue = plane.issue()
    plane.insert("issue_assignees", issue_id=issue, assignee_id=BEN)
    plane.news()
    before = shown(plane, issue, assignees=[BEN])
    plane.delete("issues", issue)
    (event,) = plane.events()
    assert (event["event_type"], data(event), previous(event)) == ("workitem.deleted", before, {})


def test_an_issue_whose_type_is_an_epic_makes_the_events_of_an_epic(plane):
    task, epic = (plane.insert("issue_types", name=name, is_epic=name == "Epic") for name in ("Task", "Epic"))
    always = plane.insert("issues", name="A login without cookies", type_id=epic)
    plane.update("issues", always, name="A login without a password")
    plane.insert("issue_assignees", issue_id=always, assignee_id=BEN)
    plane.soft_delete("issues", always)
    hard = plane.insert("issues", name="Another", type_id=epic)
    plane.delete("issues", hard)
    assert types(plane.events()) == ["epic.created", "epic.updated", "workitem.updated", "epic.deleted", "epic.created",
                                     "epic.deleted"]

    issue = plane.insert("issues", name="Login fails", type_id=task)
    plane.update("issues", issue, type_id=epic)
    plane.update("issues", issue, type_id=None)
    events = plane.events()
    assert types(events) == ["workitem.created", "epic.updated", "workitem.updated"]
    assert [previous(event) for event in events] == [{}, {"type_id": task}, {"type_id": epic}]
    assert {(event["entity_type"], event["entity_id"]) for event in events} == {("workitem", issue)}


@pytest.mark.parametrize("table, column, member", [("issue_assignees", "assignee_id", "assignee_ids"),
                                                   ("issue_labels", "label_id", "label_ids")])
def test_links_are_news_of_the_issue_with_the_list_as_it_was(plane, table, column, member):
    one, two, three = sorted((plane.insert("labels", name="a label") for _ in range(3)))
    issue = plane.issue()
    link = plane.insert(table, issue_id=issue, **{column: one}, created_by_id=ADA)
    plane.insert(table, issue_id=issue, **{column: two}, created_by_id=ADA)
    plane.update(table, link, updated_at="2030-01-01")
    plane.update(table, link, **{column: three}, updated_by_id=BEN)
    plane.soft_delete(table, link, by=CLEO)
    plane.update(table, link, deleted_at=None)
    plane.soft_delete(table, link)
    plane.delete(table, link)
    plane.do(f"DELETE FROM {table} WHERE issue_id = %s", (issue,))
    events = [event for event in plane.events() if event["event_type"] != "label.created"]
    assert types(events) == ["workitem.updated"] * 7
    assert {(event["entity_type"], event["entity_id"]) for event in events} == {("workitem", issue)}
    assert [(previous(event), data(event)[member]) for event in events] == [
        ({member: before}, after) for before, after in [
            ([], [one]), ([one], [one, two]), ([one, two], [two, three]), ([two, three], [two]),
            ([two], [two, three]), ([two, three], [two]), ([two], [])]]
    assert [event["initiator_id"] for event in events] == [ADA, ADA, BEN, CLEO, CLEO, ADA, ADA]

    plane.insert(table, issue_id=issue, **{column: one})
    plane.update("issues", issue, name="renamed")
    linked, renamed = plane.events()
    assert list(data(linked)) == list(data(renamed)), "the same members in the same order"
    assert {**data(linked), "name": "renamed"} == data(renamed)


def test_rows_of_one_statement_see_each_other_in_the_lists(plane):
    issue = plane.issue()
    plane.do("INSERT INTO issue_assignees (issue_id, assignee_id) VALUES (%s, %s), (%s, %s)", (issue, BEN, issue, CLEO))
    first, second = plane.events()
    assert data(first) == data(second) == shown(plane, issue, assignees=[BEN, CLEO])
    assert (previous(first), previous(second)) == ({"assignee_ids": [CLEO]}, {"assignee_ids": [BEN]})


def test_links_of_a_deleted_issue_make_no_event(plane):
    issue = plane.issue()
    plane.insert("issue_assignees", issue_id=issue, assignee_id=BEN)
    plane.soft_delete("issues", issue)
    plane.do("UPDATE issue_assignees SET deleted_at = now() WHERE issue_id = %s", (issue,))
    assert types(plane.events()) == ["workitem.updated", "workitem.deleted"]


OWN_EVENTS = [
    ("issue_comments", "workitem.comment", {"comment_stripped": "Hello", "attachments": ["a", "b c"],
                                            "comment_json": {"a": [1]}, "access": "INTERNAL"},
     {"comment_stripped": "Hello again", "edited_at": "2025-01-15 12:00:00+00"}),
    ("issue_links", "workitem.link", {"title": "Cookies", "url": "https://example.org", "metadata": {"icon": None}},
     {"url": "https://example.org/cookies"}),
    ("labels", "label", {"name": "bug", "color": "#d00", "sort_order": 1.5, "project_id": None}, {"name": "fault"}),
    ("states", "state", {"name": "Todo", "group": "unstarted", "sequence": 1e300}, {"group": "started", "default": True}),
]


@pytest.mark.parametrize("table, entity, columns, changes", OWN_EVENTS, ids=[table for table, *_ in OWN_EVENTS])
def test_a_row_is_created_updated_and_deleted(plane, table, entity, columns, changes):
    if table.startswith("issue_"):
        columns = {**columns, "issue_id": plane.issue()}
    row = plane.insert(table, **columns)
    created = plane.row(table, row)
    plane.update(table, row, **changes)
    updated = plane.row(table, row)
    plane.soft_delete(table, row)
    deleted = plane.row(table, row)
    plane.delete(table, row)
    hard = plane.insert(table, **columns)
    twin = plane.row(table, hard)
    plane.delete(table, hard)
    events = plane.events()
    assert types(events) == [f"{entity}.{verb}" for verb in ("created", "updated", "deleted", "created", "deleted")]
    assert [data(event) for event in events] == [created, updated, deleted, twin, twin]
    assert [previous(event) for event in events] == [
        {}, {name: created[name] for name in changes}, {"deleted_at": None, "updated_by_id": None}, {}, {}]
    assert [event["entity_id"] for event in events] == [row] * 3 + [hard] * 2
    assert {event["entity_type"] for event in events} == {entity}
    assert {event["project_id"] for event in events} == {created["project_id"]}


def test_relations_are_created_and_deleted_and_nothing_else(plane):
    one, two = plane.issue(), plane.issue()
    relation = plane.insert("issue_relations", issue_id=one, related_issue_id=two, relation_type="blocked_by")
    plane.update("issue_relations", relation, relation_type="relates_to")
    plane.soft_delete("issue_relations", relation)
    hard = plane.insert("issue_relations", issue_id=one, related_issue_id=two, relation_type="duplicate")
    plane.delete("issue_relations", hard)
    events = plane.events()
    assert types(events) == [f"workitem.relation.{verb}" for verb in ("created", "deleted", "created", "deleted")]
    assert data(events[1]) == plane.row("issue_relations", relation)
    assert (data(events[1])["relation_type"], data(events[1])["related_issue_id"]) == ("relates_to", two)


def test_files_are_attachments_only_if_they_are_of_an_issue(plane):
    issue = plane.issue()
    file = plane.insert("file_assets", project_id=None, issue_id=issue, entity_type="ISSUE_ATTACHMENT", size=12.5,
                        asset="a.png", attributes={"name": "a.png"})
    other = plane.insert("file_assets", user_id=ADA, entity_type="USER_AVATAR", asset="b.png")
    unnamed = plane.insert("file_assets", asset="c.png")
    created = plane.row("file_assets", file)
    for row in (file, other, unnamed):
        plane.update("file_assets", row, is_uploaded=True)
    for row in (file, other, unnamed):
        plane.soft_delete("file_assets", row)
    for row in (file, other, unnamed):
        plane.delete("file_assets", row)
    hard = plane.insert("file_assets", issue_id=issue, entity_type="ISSUE_ATTACHMENT", asset="d.png")
    plane.delete("file_assets", hard)
    events = plane.events()
    assert types(events) == [f"workitem.attachment.{verb}" for verb in ("created", "deleted", "created", "deleted")]
    assert [event["entity_id"] for event in events] == [file, file, hard, hard]
    assert (data(events[0]), data(events[1])["is_uploaded"], events[0]["project_id"]) == (created, True, None)


@pytest.mark.parametrize("what", ["cycle", "module"])
def test_issues_are_added_to_moved_between_and_removed_from_cycles_and_modules(plane, what):
    table, column = f"{what}_issues", f"{what}_id"
    issue, first, second = plane.issue(), str(uuid.uuid4()), str(uuid.uuid4())
    link = plane.insert(table, issue_id=issue, **{column: first}, created_by_id=ADA)
    plane.update(table, link, updated_at="2030-01-01", updated_by_id=CLEO)
    plane.update(table, link, **{column: second}, updated_by_id=BEN)
    plane.soft_delete(table, link, by=CLEO)
    plane.delete(table, link)
    hard = plane.insert(table, issue_id=issue, **{column: first})
    plane.delete(table, hard)
    events = plane.events()
    assert types(events) == [f"workitem.{what}.{verb}" for verb in ("added", "moved", "removed", "added", "removed")]
    assert [data(event)[column] for event in events] == [first, second, second, first, first]
    assert previous(events[1]) == {column: first, "updated_by_id": CLEO}
    assert [event["initiator_id"] for event in events] == [ADA, BEN, CLEO, None, None]
    assert {data(event)["issue_id"] for event in events} == {issue}


def test_the_initiator_is_who_updated_the_row_or_else_created_it(plane):
    issue = plane.insert("issues", name="an issue", created_by_id=ADA)
    plane.update("issues", issue, name="by nobody known")
    plane.update("issues", issue, name="by Ben", updated_by_id=BEN)
    plane.delete("issues", issue)
    plane.insert("states", name="nobody's")
    assert [event["initiator_id"] for event in plane.events()] == [ADA, ADA, BEN, BEN, None]


def test_imports_and_automations_say_so_and_all_else_is_done_by_users(plane):
    with plane.pg.connect(autocommit=False) as session:
        for initiator in ("SYSTEM.IMPORT", "SYSTEM.AUTOMATION", "", None):
            if initiator is not None:
                session.execute("SELECT set_config('plane.initiator_type', %s, true)", (initiator,))
            issue = session.execute("INSERT INTO issues (name) VALUES ('an issue') RETURNING id").fetchone()[0]
            session.execute("INSERT INTO issue_assignees (issue_id, assignee_id) VALUES (%s, %s)", (issue, ADA))
            session.commit()
    assert [event["initiator_type"] for event in plane.events()] == [
        "SYSTEM.IMPORT", "SYSTEM.IMPORT", "SYSTEM.AUTOMATION", "SYSTEM.AUTOMATION", "USER", "USER", "USER", "USER"]


def test_all_tables_but_the_types_of_issues_are_tracked_and_truncation_makes_no_event(plane):
    tables = {row[0] for row in plane.do("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace ="
                                         " 'public'::regnamespace")}
    assert {row[0] for row in plane.do("SELECT target::text FROM outbox.rules")} == tables - {"issue_types"}
    plane.do("TRUNCATE issue_relations")
    assert plane.events() == []
