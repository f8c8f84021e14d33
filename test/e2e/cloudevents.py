"""The bodies cloudevents and cloudevents-binary, read as the CloudEvents specification says, by a client and a schema
that know nothing of the extension."""

import datetime
import json
import pathlib
import re

import jsonschema
import pytest

SCHEMA = json.loads((pathlib.Path(__file__).parent.parent / "third_party/cloudevents/cloudevents.json").read_text())
PREFIX = "cloudEvents_"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SAMPLES = """
    CREATE TABLE customer (id int PRIMARY KEY, workspace_id int, name text);
    SELECT outbox.track('customer', '{"schema_version": "2"}');
    INSERT INTO customer VALUES (1, 7, 'Ünïcode "quoted"');
    UPDATE customer SET name = 'new';
    SELECT outbox.emit('ping', '{}');
    SELECT outbox.emit('list', '[1, "two", null]', 'list', 'a b/ü');
    SELECT outbox.emit('number', '12.50', headers => '{"traceparent": "TRACE", "tracestate": "rojo=1", "weight": 3}');
    SELECT outbox.emit('odd', '"text"', 'odd', E'line\\nbreak');
""".replace("TRACE", TRACE)


def parse(message):
    """A CloudEvent as (attributes, data) from either mode, by the rules of the AMQP binding."""
    content_type = message.properties.content_type
    if content_type.lower().startswith("application/cloudevents"):
        assert re.fullmatch(r"application/cloudevents\+json(; ?charset=utf-8)?", content_type, re.IGNORECASE)
        event = json.loads(message.body.decode("utf-8"))
        jsonschema.validate(event, SCHEMA)
        return {name: value for name, value in event.items() if name != "data"}, event["data"]
    attributes = {name.removeprefix(PREFIX): value for name, value in message.headers.items() if name.startswith(PREFIX)}
    attributes["datacontenttype"] = content_type
    return attributes, json.loads(message.body.decode("utf-8"))


def check_attributes(attributes):
    """What the specification demands of names and values, and the schema cannot say."""
    assert attributes["specversion"] == "1.0"
    for required in ("id", "source", "type"):
        assert attributes[required]
    for name, value in attributes.items():
        assert re.fullmatch("[a-z0-9]{1,20}", name), name
        assert isinstance(value, str) and value and not re.search("[\x00-\x1f\x7f-\x9f]", value), (name, value)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", attributes["time"])


def relayed(stage, **options):
    """The attributes and data of all samples, by type, and their messages."""
    stage.pg.execute("SELECT outbox.alter_relay('default', %s)", (json.dumps(options),))
    with stage.pg.connect() as session:
        session.execute(SAMPLES)
    _, messages = stage.read()
    events = {}
    for message in messages:
        attributes, data = parse(message)
        check_attributes(attributes)
        events[attributes["type"]] = attributes, data, message
    return events


@pytest.mark.parametrize("body", ["cloudevents", "cloudevents-binary"])
def test_every_event_is_a_valid_cloudevent_with_the_same_attributes_in_both_modes(stage, body):
    events = relayed(stage, body=body)
    assert set(events) == {"customer.created", "customer.updated", "ping", "list", "number", "odd"}
    rows = stage.pg.execute("SELECT event_type, id, event_id::text, xid::text, created_at FROM outbox.event")
    log_id = stage.pg.value("SELECT log_id::text FROM outbox.installation")
    for event_type, id, event_id, xid, created_at in rows:
        attributes, _, message = events[event_type]
        assert attributes["id"] == event_id == message.event_id
        assert attributes["source"] == f"urn:uuid:{log_id}"
        assert attributes["sequence"] == str(id)
        assert attributes["outboxepoch"] == message.headers["outbox-epoch"]
        assert attributes["transactionid"] == xid
        assert datetime.datetime.fromisoformat(attributes["time"]) == created_at
        assert attributes["datacontenttype"] == "application/json"

    attributes, data, _ = events["customer.created"]
    assert (attributes["subject"], attributes["entitytype"], attributes["workspaceid"]) == ("1", "customer", "7")
    assert attributes["schemaversion"] == "2"
    assert data == {"data": {"id": 1, "workspace_id": 7, "name": 'Ünïcode "quoted"'}, "previous_attributes": {}}
    assert events["customer.updated"][1]["previous_attributes"] == {"name": 'Ünïcode "quoted"'}
    assert "subject" not in events["ping"][0], "what is null is left out"
    assert events["list"][0]["subject"] == "a b/ü"
    assert events["list"][1] == [1, "two", None]
    assert events["number"][1] == 12.5
    assert (events["number"][0]["traceparent"], events["number"][0]["tracestate"]) == (TRACE, "rojo=1")
    assert "weight" not in events["number"][0] and events["number"][2].headers["weight"] == 3
    assert "subject" not in events["odd"][0], "CloudEvents has no control characters in attributes"
    assert events["odd"][1] == "text"


def test_the_source_is_the_relays_option(stage):
    events = relayed(stage, body="cloudevents", source="https://example.com/orders")
    assert {attributes["source"] for attributes, _, _ in events.values()} == {"https://example.com/orders"}


def test_in_binary_mode_the_body_is_the_payload_byte_for_byte(stage):
    events = relayed(stage, body="cloudevents-binary")
    payload = stage.pg.value("SELECT payload::text FROM outbox.event WHERE event_type = 'customer.created'")
    assert events["customer.created"][2].body == payload.encode()


def test_the_schema_refuses_what_is_no_cloudevent(stage):
    events = relayed(stage, body="cloudevents")
    event = json.loads(events["ping"][2].body)
    for name in ("id", "source", "specversion", "type"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({key: value for key, value in event.items() if key != name}, SCHEMA)
