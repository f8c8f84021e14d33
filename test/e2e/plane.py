"""The demo's story as a test: every step makes the events it says, and no others."""

import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[2] / "demo"
sys.path.insert(0, str(DEMO))
import story  # noqa: E402

EXPECTED = [
    "state.created", "state.created", "label.created", "workitem.created", "workitem.comment.created",
    "workitem.updated", "workitem.updated", "workitem.cycle.added", "workitem.cycle.moved", "workitem.comment.updated",
    "workitem.created", "workitem.created", "workitem.created", "workitem.comment.deleted",
]


@pytest.fixture
def messages(stage):
    stage.broker.declare(stage.queue, "plane.event_stream", exchange_type="fanout", binding="")
    with stage.pg.connect(autocommit=False) as session:
        session.execute((DEMO / "plane.sql").read_text(encoding="utf-8"))
        session.execute((DEMO / "track.sql").read_text(encoding="utf-8").replace("CREATE EXTENSION outbox_relay;", ""))
        session.commit()
        for _, sql, _ in story.STEPS:
            session.execute(sql)
            session.commit()
        session.execute(story.ROLLED_BACK[1])
        session.rollback()
    # Between entities there is no order: a test of what events say wants them as they were written.
    yield sorted(stage.read()[1], key=lambda message: message.id)
    stage.broker.delete(exchanges=["plane.event_stream"])


def test_a_project_trackers_changes_become_the_events_its_consumers_know(messages):
    assert [message.event_type for message in messages] == EXPECTED
    assert sum(events for _, _, events in story.STEPS) == len(EXPECTED)
    envelopes = [message.envelope for message in messages]

    created = envelopes[3]
    assert created["entity_type"] == "workitem"
    assert created["entity_id"] == story.ISSUE
    assert (created["workspace_id"], created["project_id"]) == (story.WORKSPACE, story.PROJECT)
    assert (created["initiator_id"], created["initiator_type"]) == (story.ADA, "USER")
    assert not {"description_json", "description_html", "description_stripped", "description_binary"} & set(
        created["payload"]["data"])

    started = envelopes[5]
    assert started["initiator_id"] == story.BEN
    assert {"state_id": story.TODO, "start_date": None}.items() <= started["payload"]["previous_attributes"].items()

    assert envelopes[8]["payload"]["previous_attributes"]["cycle_id"] == story.SPRINT_1
    assert {envelope["initiator_type"] for envelope in envelopes[10:13]} == {"SYSTEM.IMPORT"}
    assert envelopes[13]["payload"]["data"]["deleted_at"] is not None
