"""The body `batch`: several events in one message, in order per key, and a bad one among them found."""

import json
import time
from dataclasses import replace

import pytest

from harness import checker
from harness.consumer import Consumer, read_queue
from harness.waiting import wait_until


def batching(stage, **options):
    stage.pg.execute("SELECT outbox.alter_relay('default', %s)", (json.dumps({"body": "batch", **options}),))


def unpacked(messages):
    """A message for each event of the batches, as the checker takes them."""
    return [replace(message, event_id=event["event_id"], id=int(event["id"]), event_type=event["event_type"],
                    key=(event["entity_type"], event["entity_id"]))
            for message in messages for event in json.loads(message.body)]


def emit(stage, event_type, count, keys=1, payload="{}", **more):
    stage.pg.execute("SELECT outbox.emit(%s, %s::jsonb, 'thing', (i %% %s)::text, headers => %s) FROM generate_series(1, %s) AS i",
                     (event_type, payload, keys, more.get("headers"), count))


def read_batches(stage, timeout=60):
    """All batches that came, once each committed event was in one."""
    committed = checker.committed_events(stage.pg)
    missing = {row[0] for row in committed}
    messages = []
    deadline = time.monotonic() + timeout
    while missing and time.monotonic() < deadline:
        messages += read_queue(stage.broker, stage.queue, ())
        missing -= {event.event_id for event in unpacked(messages)}
    return committed, messages


def test_each_event_comes_once_in_order_of_its_key_and_most_messages_are_full(stage):
    stage.pg.set(outbox_relay__amqp_url="")
    batching(stage, batch_events=20)
    stage.write(5000, keys=200)
    stage.connect_broker()
    committed, messages = read_batches(stage)
    report = checker.check(committed, unpacked(messages))
    assert report.exact(), report
    sizes = [len(json.loads(message.body)) for message in messages]
    assert max(sizes) == 20 and sum(sizes) == 5000
    assert len(sizes) < 2 * 5000 / 20
    assert all(message.headers["outbox-batch"] == size for message, size in zip(messages, sizes))


def test_a_batch_is_an_array_of_envelopes_with_their_headers(stage):
    batching(stage, linger=500, app_id="batcher", correlation_id="{headers.request}")
    with stage.pg.connect(autocommit=False) as session:
        for number, headers in ((1, '{"request": "r", "weight": 2}'), (2, '{"request": "r"}'), (3, None)):
            session.execute("SELECT outbox.emit('counted', %s, 'thing', 'one', headers => %s)",
                            (json.dumps({"number": number}), headers))
        session.commit()
    rows = stage.pg.execute("SELECT event_id::text, id::text, xid::text, payload::text FROM outbox.event ORDER BY id")
    _, messages = read_batches(stage)
    assert [message.properties.correlation_id for message in messages] == ["r", None], "the properties are one per message"
    first = messages[0]
    assert first.properties.message_id == rows[0][0]
    assert (first.properties.type, first.properties.app_id) == ("counted", "batcher")
    assert (first.properties.content_type, first.properties.delivery_mode) == ("application/json", 2)
    assert set(first.headers) == {"outbox-epoch", "outbox-batch"}
    envelopes = [envelope for message in messages for envelope in json.loads(message.body)]
    assert [envelope["headers"] for envelope in envelopes] == [{"request": "r", "weight": 2}, {"request": "r"}, None]
    assert [(e["event_id"], e["id"], e["transaction_id"]) for e in envelopes] == [row[:3] for row in rows]
    assert [e["payload"] for e in envelopes] == [{"number": 1}, {"number": 2}, {"number": 3}]
    assert rows[0][3].encode() in first.body


def test_one_hot_key_fills_whole_messages_in_order(stage):
    stage.pg.set(outbox_relay__amqp_url="")
    batching(stage)
    emit(stage, "hot", 500)
    stage.connect_broker()
    committed, messages = read_batches(stage)
    assert checker.check(committed, unpacked(messages)).exact()
    assert len(messages) <= 15


def test_events_of_one_message_have_one_routing_key(stage):
    batching(stage, linger=200)
    with stage.pg.connect(autocommit=False) as session:
        for number in range(60):
            session.execute("SELECT outbox.emit(%s, '{}', 'thing', %s)", (f"type.{number % 3}", str(number % 5)))
        session.commit()
    committed, messages = read_batches(stage)
    assert checker.check(committed, unpacked(messages)).exact()
    for message in messages:
        assert {event["event_type"] for event in json.loads(message.body)} == {message.routing_key}


def test_a_message_waits_for_more_events_no_longer_than_linger_and_never_when_full(stage):
    batching(stage, linger=1500, batch_events=3)
    emit(stage, "warm", 3)
    read_batches(stage)
    emit(stage, "slow", 1)
    time.sleep(0.2)
    emit(stage, "slow", 1)
    assert read_queue(stage.broker, stage.queue, ()) == []
    emit(stage, "slow", 1)      # full
    began = time.monotonic()
    (message,) = wait_until(lambda: read_queue(stage.broker, stage.queue, (), quiet=0.2), 5, "the full message is there")
    assert len(json.loads(message.body)) == 3 and time.monotonic() - began < 1.2
    emit(stage, "slow", 1)
    (message,) = wait_until(lambda: read_queue(stage.broker, stage.queue, (), quiet=0.2), 5, "the lone event is there")
    assert len(json.loads(message.body)) == 1


def test_no_body_is_larger_than_asked_for_unless_one_event_is(stage):
    batching(stage, batch_body_size=5000, linger=200)
    emit(stage, "small", 40, keys=40, payload=json.dumps({"x": "y" * 500}))
    emit(stage, "large", 2, keys=2, payload=json.dumps({"x": "y" * 8000}))
    committed, messages = read_batches(stage)
    assert checker.check(committed, unpacked(messages)).exact()
    sizes = [len(message.body) for message in messages]
    assert len([size for size in sizes if size > 5100]) == 2
    assert len(messages) < 20


def test_a_refused_message_is_tried_in_halves_until_the_bad_event_is_found_and_only_that_is_parked(stage):
    # A queue that refuses what is larger than it may hold, with a consumer that keeps it empty.
    stage.broker.delete(queues=[stage.queue])
    stage.broker.declare(stage.queue, **{"x-max-length-bytes": 60_000, "x-overflow": "reject-publish"})
    consumer = Consumer(stage.broker, stage.queue)
    try:
        batching(stage, linger=300)
        with stage.pg.connect(autocommit=False) as session:
            for number in range(40):
                size = 70_000 if number == 17 else 10
                session.execute("SELECT outbox.emit('thing.happened', %s, 'thing', %s)",
                                (json.dumps({"number": number, "x": "y" * size}), str(number % 8)))
            session.commit()
        wait_until(lambda: stage.stats().get("parked", 0) > 0, 30, "the bad event is parked")
        parked = stage.pg.execute("SELECT (payload->>'number')::int, state, reason FROM outbox.parked ORDER BY id")
        assert parked[0] == (17, "parked", "refused")
        assert {row[0] % 8 for row in parked} == {1}, "only those of its key wait behind it"
        others = {number for number in range(40) if number % 8 != 1 or number < 17}
        messages = []

        def come():
            messages.extend(consumer.messages(0.2))
            return {e["payload"]["number"] for m in messages for e in json.loads(m.body)} >= others
        wait_until(come, 20, "all others arrive")
        numbers = [e["payload"]["number"] for m in messages for e in json.loads(m.body)]
        assert sorted(numbers) == sorted(others), "once each, and nothing that waits"
        for key in range(8):
            of_key = [number for number in numbers if number % 8 == key]
            assert of_key == sorted(of_key)
        assert 2 <= stage.stats()["refused"] <= 12

        stage.pg.execute("SELECT outbox.alter_relay('default', '{\"max_attempts\": 1}')")
        wait_until(lambda: stage.stats().get("dead", 0) == 1, 30, "the bad event is dead")

        def followed():
            messages.extend(consumer.messages(0.2))
            return {e["payload"]["number"] for m in messages for e in json.loads(m.body)} == set(range(40)) - {17}
        wait_until(followed, 20, "those behind it follow")
    finally:
        consumer.close()


def test_what_no_queue_takes_is_parked_and_follows_in_order_once_one_is_bound(stage):
    stage.broker.delete(queues=[stage.queue])
    stage.broker.declare(stage.queue, binding="good.#")
    batching(stage, linger=200)
    with stage.pg.connect(autocommit=False) as session:
        for number in range(60):
            session.execute("SELECT outbox.emit(%s, '{}', 'thing', %s)",
                            ("bad.type" if number % 10 == 5 else "good.type", str(number % 3)))
        session.commit()
    wait_until(lambda: stage.pg.value("SELECT count(*) FROM outbox.parked WHERE reason = 'unroutable'") >= 3, 30,
               "unroutable ones are parked")
    stage.broker.declare(stage.queue, binding="#")
    committed, messages = read_batches(stage)
    report = checker.check(committed, unpacked(messages))
    assert report.exact(), report


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_nothing_is_lost_or_out_of_order_when_the_server_ends_in_the_middle(stage, how):
    stage.pg.set(outbox_relay__amqp_url="")
    batching(stage, batch_events=10)
    stage.write(20_000, keys=100)
    stage.connect_broker()
    stage.wait_confirmed(200)
    if how == "stop":
        stage.pg.restart()
    else:
        stage.pg.kill(stage.lane_pid())
    committed, messages = read_batches(stage)
    report = checker.check(committed, unpacked(messages))
    assert report.nothing_wrong(), report
    assert report.repeats == 0 if how == "stop" else report.repeats < 20_000
