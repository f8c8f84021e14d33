"""Events that do not get through: parked beside the others, tried again, in order, and given up only by the rules."""

import time

import pytest

from harness import checker, workload
from harness.consumer import read_queue
from harness.waiting import wait_until
from harness.workload import Writers


def emit(stage, event_type, key=None, count=1, payload="{}"):
    """Commits events of the entity ('thing', key); unordered if key is None."""
    stage.pg.execute("SELECT outbox.emit(%s, %s::jsonb, CASE WHEN %s::text IS NOT NULL THEN 'thing' END, %s::text)"
                     " FROM generate_series(1, %s)", (event_type, payload, key, key, count))


def parked(stage, condition="true"):
    """[(event type, entity id, state, reason, attempts)] of the parked rows, in the order of ids."""
    return stage.pg.execute("SELECT event_type, entity_id, state, reason, attempts FROM outbox.parked"
                            f" WHERE {condition} ORDER BY id")


def wait_parked(stage, count, condition="true", timeout=30):
    wait_until(lambda: len(parked(stage, condition)) == count, timeout, f"{count} rows are in outbox.parked ({condition})")


def types(messages):
    return [message.event_type for message in messages]


@pytest.fixture
def only(stage):
    """only(binding, ...): the queue takes these routing keys and no others."""
    def bind(*bindings, **arguments):
        stage.broker.delete(queues=[stage.queue])
        for binding in bindings:
            stage.broker.declare(stage.queue, binding=binding, **arguments)
    return bind


def test_an_unroutable_event_is_parked_while_all_others_flow_and_follows_in_order_once_a_queue_is_bound(stage, only):
    only("good.#")
    emit(stage, "good.first", "1")
    emit(stage, "bad.first", "1")
    emit(stage, "good.second", "1")
    emit(stage, "bad.second", "2")
    emit(stage, "good.third", "3")
    emit(stage, "bad.third")
    wait_parked(stage, 4)
    assert parked(stage) == [("bad.first", "1", "parked", "unroutable", 0), ("good.second", "1", "parked", "waiting", 0),
                             ("bad.second", "2", "parked", "unroutable", 0), ("bad.third", None, "parked", "unroutable", 0)]
    assert types(read_queue(stage.broker, stage.queue, (), quiet=1)) == ["good.first", "good.third"]
    emit(stage, "good.fourth", "1")
    emit(stage, "good.fifth", "3")
    wait_parked(stage, 5)
    assert types(read_queue(stage.broker, stage.queue, (), quiet=1)) == ["good.fifth"]
    now = stage.stats()
    assert now["parked"] == 5 and now["dead"] == 0 and now["backlog"] == 0
    assert "bad.first" in now["detail"]
    stage.broker.declare(stage.queue, binding="bad.#")
    wait_parked(stage, 0)
    late = read_queue(stage.broker, stage.queue, (), quiet=1)
    assert sorted(types(late)) == ["bad.first", "bad.second", "bad.third", "good.fourth", "good.second"]
    assert [message.event_type for message in late if message.key[1] == "1"] == ["bad.first", "good.second", "good.fourth"]
    assert not any("outbox-late" in message.headers for message in late)
    assert stage.stats()["order_breaks"] == 0


def test_of_an_unroutable_routing_key_one_event_is_tried_and_one_warning_is_logged(stage, only):
    only("good.#")
    emit(stage, "bad.type", "1")
    wait_parked(stage, 1)
    returned = stage.stats()["returned"]
    stage.pg.execute("SELECT outbox.emit('bad.type', '{}', 'thing', i::text) FROM generate_series(1, 10000) AS i")
    wait_parked(stage, 10_001)
    assert stage.stats()["returned"] <= returned + 6
    assert stage.pg.log_text().count('routing key "bad.type"') == 1
    stage.broker.declare(stage.queue, binding="#")
    wait_parked(stage, 0)
    assert stage.report().exact()
