"""What a consumer gets: docs/message-format.md, seen through an independent client."""

import datetime
import json
import time
import uuid

from harness.consumer import read_queue

TRACKED = """
    CREATE TABLE customer (id uuid PRIMARY KEY, workspace_id uuid, project_id uuid, name text, updated_by_id uuid,
                           deleted_at timestamptz);
    SELECT outbox.track('customer', '{"initiator_id": ["updated_by_id"], "initiator_type_setting": "app.initiator",
                                      "schema_version": "1.0"}');
"""
ID, WORKSPACE, USER = (str(uuid.UUID(int=n)) for n in (1, 2, 3))


def make_customer(stage):
    stage.pg.execute(TRACKED)
    stage.pg.execute("INSERT INTO customer VALUES (%s, %s, NULL, 'Ünïcode \"quoted\"', %s)", (ID, WORKSPACE, USER))
    _, (message,) = stage.read()
    return message


def test_properties_say_what_the_event_is(stage):
    message = make_customer(stage)
    event_id = str(stage.pg.value("SELECT event_id FROM outbox.event"))
    properties = message.properties
    assert properties.message_id == event_id
    assert properties.type == "customer.created"
    assert properties.delivery_mode == 2
    assert properties.content_type == "application/json"
    assert abs(properties.timestamp - time.time()) < 60
    assert message.routing_key == "customer.created"


def test_headers_are_scalars_that_let_a_consumer_decide_without_the_body(stage):
    headers = make_customer(stage).headers
    id, created_at = stage.pg.execute("SELECT id, created_at FROM outbox.event")[0]
    assert headers["outbox-id"] == id
    log_id, timeline = stage.pg.execute("""SELECT log_id::text, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int
                                             FROM outbox.installation""")[0]
    assert headers["outbox-epoch"] == f"{log_id}/{timeline}"
    assert abs(headers["created-at"] - created_at.timestamp() * 1000) <= 1
    assert headers["entity-type"] == "customer"
    assert headers["entity-id"] == ID
    assert headers["workspace-id"] == WORKSPACE
    assert headers["initiator-id"] == USER
    assert headers["initiator-type"] == "USER"
    assert headers["schema-version"] == "1.0"
    assert "project-id" not in headers, "what is null is left out"
    assert all(isinstance(value, (str, int, float, bool)) for value in headers.values())


def test_a_promotion_begins_another_epoch_of_the_same_log(stage):
    before = make_customer(stage).headers["outbox-epoch"]
    stage.wait_settled()
    stage.pg.stop()
    (stage.pg.data / "standby.signal").touch()
    stage.pg.start()
    stage.pg.execute("SELECT pg_promote()")
    stage.pg.execute("UPDATE customer SET name = 'after'")
    _, (message,) = stage.read()
    log_id, timeline = before.split("/")
    assert message.headers["outbox-epoch"] == f"{log_id}/{int(timeline) + 1}"


def test_the_envelope_holds_all_of_the_event(stage):
    message = make_customer(stage)
    id, event_id, xid, created_at = stage.pg.execute(
        "SELECT id, event_id::text, xid::text, created_at FROM outbox.event")[0]
    envelope = dict(message.envelope)
    created = datetime.datetime.fromisoformat(envelope.pop("created_at").replace("Z", "+00:00"))
    assert created == created_at
    assert str(envelope.pop("transaction_id")) == xid
    assert envelope == {
        "version": "1.0",
        "id": str(id),
        "event_id": event_id,
        "event_type": "customer.created",
        "entity_type": "customer",
        "entity_id": ID,
        "payload": {"data": {"id": ID, "workspace_id": WORKSPACE, "project_id": None, "name": 'Ünïcode "quoted"',
                             "updated_by_id": USER, "deleted_at": None},
                    "previous_attributes": {}},
        "workspace_id": WORKSPACE,
        "project_id": None,
        "initiator_id": USER,
        "initiator_type": "USER",
        "schema_version": "1.0",
    }


def test_update_soft_delete_and_delete_send_what_changed(stage):
    make_customer(stage)
    stage.pg.execute("SET app.initiator = 'SYSTEM.IMPORT'; UPDATE customer SET name = 'new'")
    stage.pg.execute("UPDATE customer SET name = name")
    stage.pg.execute("UPDATE customer SET deleted_at = now()")
    stage.pg.execute("DELETE FROM customer")
    _, messages = stage.read()
    assert [message.event_type for message in messages] == ["customer.updated", "customer.deleted"]
    updated, deleted = (message.envelope for message in messages)
    assert updated["payload"]["previous_attributes"] == {"name": 'Ünïcode "quoted"'}
    assert updated["payload"]["data"]["name"] == "new"
    assert updated["initiator_type"] == "SYSTEM.IMPORT"
    assert deleted["payload"]["data"]["name"] == "new"


def test_the_payload_is_sent_byte_for_byte(stage):
    make_customer(stage)
    stage.pg.execute("INSERT INTO customer (id, name) VALUES (%s, %s)", (uuid.uuid4(), "back\\slash, tab\t, \u2028, 😀"))
    payload = stage.pg.value("SELECT payload::text FROM outbox.event ORDER BY id DESC LIMIT 1")
    _, (message,) = stage.read()
    assert payload.encode() in message.body
    assert json.loads(payload)["data"]["name"] == "back\\slash, tab\t, \u2028, 😀"


def test_an_emitted_event_carries_its_own_headers_and_id(stage):
    given = str(uuid.uuid4())
    emit = """SELECT outbox.emit('order.paid', '{"amount": 12.50}', 'order', '7', workspace_id => 'w', initiator_type => 'SYSTEM',
              headers => '{"traceparent": "00-abc-def-01", "retry": false, "weight": 3}', event_id => %s)"""
    for _ in range(2):
        stage.pg.execute(emit, (given,))
    _, (message,) = stage.read()
    assert message.properties.message_id == given
    assert message.routing_key == "order.paid"
    assert message.headers["traceparent"] == "00-abc-def-01"
    assert message.headers["retry"] is False
    assert message.headers["weight"] == 3
    assert message.envelope["payload"] == {"amount": 12.50}
    assert (message.envelope["entity_type"], message.envelope["entity_id"]) == ("order", "7")


def test_priority_expiration_and_correlation_id_are_sent_on_request_and_only_if_the_broker_takes_them(stage):
    def properties():
        _, messages = stage.read()
        return [(m.properties.priority, m.properties.expiration, m.properties.correlation_id) for m in messages]

    stage.pg.execute("""SELECT outbox.emit('plain', '{}', headers => '{"priority": 1}')""")
    assert properties() == [(None, None, None)]
    stage.pg.execute("""SELECT outbox.alter_relay('default', '{"priority": "{headers.priority}", "expiration": 4294967295,
                                                              "correlation_id": "{entity_type}/{headers.request}"}')""")
    with stage.pg.connect() as session:
        for headers in ('{"priority": 9, "request": "r-7"}', '{"priority": "high"}', '{"priority": 256}', None):
            session.execute("SELECT outbox.emit('e', '{}', 'order', '1', headers => %s)", (headers,))
    longest = "4294967295"
    assert properties() == [(9, longest, "order/r-7"), (None, longest, "order/"), (None, longest, "order/"),
                            (None, longest, "order/")]
    assert stage.stats()["last_error"] is None, "no channel was closed over them"


def test_the_trace_of_a_transaction_arrives_as_headers(stage):
    make_customer(stage)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with stage.pg.connect(autocommit=False) as session:
        session.execute("SELECT set_config('outbox_relay.traceparent', %s, true)", (trace,))
        session.execute("SET LOCAL outbox_relay.tracestate = 'rojo=1'; UPDATE customer SET name = 'traced'")
        session.commit()
        session.execute("UPDATE customer SET name = 'not traced'")
        session.commit()
    _, (traced, not_traced) = stage.read()
    assert (traced.headers["traceparent"], traced.headers["tracestate"]) == (trace, "rojo=1")
    assert not {"traceparent", "tracestate"} & not_traced.headers.keys()


def test_bodies_are_utf8_whatever_the_encoding_of_the_database(stage):
    stage.pg.execute("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    with stage.pg.connect("latin", client_encoding="utf8") as session:
        session.execute("CREATE EXTENSION outbox_relay")
        session.execute("CREATE TABLE word (id int PRIMARY KEY, text text)")
        session.execute("SELECT outbox.track('word')")
        session.execute("INSERT INTO word VALUES (1, 'crème brûlée')")
        committed = session.execute("SELECT event_id::text FROM outbox.event").fetchall()
    (message,) = read_queue(stage.broker, stage.queue, {row[0] for row in committed})
    assert message.envelope["payload"]["data"]["text"] == "crème brûlée"
