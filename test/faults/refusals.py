"""Queues that are full or not bound, and events that fit no broker, in the middle of load: all else goes on."""

import time

import psycopg
import pytest

from harness import steady
from harness.load import MAX_IN_FLIGHT, NONE, Fault, cases
from harness.waiting import wait_until

FULL = {"x-max-length": 50, "x-overflow": "reject-publish"}
PROBES = 60         # copies that single tries may leave in the other queues of a fanout while one is full
UNFIT = 20


def bounded_queue(ordering):
    def prepare(load):
        load.queue_arguments = FULL
        load.options = {"ordering": ordering}
        return {}
    return prepare


def drain_by_fits(load):
    """The consumers pause, so that the queues fill and refuse, and go on."""
    for _ in range(3):
        with load.consumers_stopped():
            time.sleep(4)
        time.sleep(2)
    assert load.stats()["refused"] > 0, "no queue was full: the test has shown nothing"
    if load.options["ordering"] == "pipelined":
        load.remark = "the relay counts as order breaks what a refusal let overtake"


def with_fanout(load):
    """Each exchange feeds two healthy queues and a short one that nobody reads."""
    load.exchange_type, load.binding = "fanout", ""
    load.options = {"exchange_type": "fanout"}
    load.more = {relay: (f"{load.place(relay)}.idle", f"{load.place(relay)}.full") for relay in load.relays}
    for relay, (idle, full) in load.more.items():
        load.broker.declare(idle, load.place(relay), "fanout", "")
        load.broker.declare(full, load.place(relay), "fanout", "", **{**FULL, "x-max-length": 400})
        load.closing.callback(load.broker.delete, queues=[idle, full])
    return {}


def one_of_three_full(seconds):
    def fault(load):
        wait_until(lambda: load.stats()["refused"] > 0, 30, "the short queue is full")
        time.sleep(seconds)
        with load.broker.connect() as connection:
            for relay, (_, full) in load.more.items():
                connection.channel().queue_delete(full)
        for relay in load.relays:
            load.pg.execute("SELECT outbox.retry(%s)", (relay,))
    return fault


def half_bound(load):
    """The routing key is the row's number; only the odd ones have a binding."""
    load.options = {"routing_key": "{entity_id}"}
    load.binding = "none"
    with_bindings(load, range(1, steady.KEYS + 1, 2))
    return {}


def with_bindings(load, rows):
    with load.broker.connect() as connection:
        channel = connection.channel()
        for relay in load.relays:
            load.declare(relay)
            for row in rows:
                channel.queue_bind(load.place(relay), load.place(relay), str(row))


def bind_the_rest(seconds):
    def fault(load):
        time.sleep(seconds)
        for messages in load.collect().values():
            late = [message for message in messages if message.arrived - message.id / 1e6 > 3]
            assert not late, "what has a binding does not wait for what has none"
        with_bindings(load, range(2, steady.KEYS + 1, 2))
        for relay in load.relays:
            load.pg.execute("SELECT outbox.retry(%s)", (relay,))
    return fault


def short_limits(load):
    load.options = {"routing_key": "{entity_id}"}
    return {"outbox_relay__max_message_size": "64kB"}


def emit_unfit(load):
    """Headers are refused where they are emitted; the others, each under a key of its own, are dead at once, and kept."""
    with load.pg.connect() as session:
        for number in range(UNFIT // 2):
            session.execute("SELECT outbox.emit('big', jsonb_build_object('x', repeat('x', 100000)), 'unfit', %s)",
                            (f"body {number}",))
            with pytest.raises(psycopg.errors.ProgramLimitExceeded):
                session.execute("SELECT outbox.emit('heads', '{}', headers => jsonb_build_object('x', repeat('x', 200000)))")
            session.execute("SELECT outbox.emit('key', '{}', 'unfit', %s)", (f"key {number} " + "k" * 300,))
    wait_until(lambda: load.stats()["dead"] == UNFIT, 20, "the unfit events are dead")
    load.dropped = {row[0] for row in load.pg.execute("SELECT event_id::text FROM outbox.parked WHERE state = 'dead'"
                                                      " AND reason = 'unfit'")}
    assert len(load.dropped) == UNFIT
    load.remark = f"{UNFIT} dead at once, and kept"


REFUSALS = {
    "full queue that refuses, drained by fits, strict": Fault(drain_by_fits, NONE, bounded_queue("strict")),
    "full queue that refuses, drained by fits, pipelined":
        Fault(drain_by_fits, NONE, bounded_queue("pipelined"), reorders=True),
    "one of three queues of a fanout full for 10 s": Fault(one_of_three_full(10), MAX_IN_FLIGHT + PROBES, with_fanout),
    "one of three queues of a fanout full for 5 minutes": Fault(one_of_three_full(300), MAX_IN_FLIGHT + PROBES, with_fanout),
    "half of the routing keys unbound for 8 s": Fault(bind_the_rest(8), NONE, half_bound),
    "half of the routing keys unbound for 3 minutes": Fault(bind_the_rest(180), NONE, half_bound),
    "body, headers and routing key too large": Fault(emit_unfit, NONE, short_limits),
}


@pytest.mark.parametrize("name, fault", cases(REFUSALS, short=(
    "full queue that refuses, drained by fits, strict", "half of the routing keys unbound for 8 s",
    "body, headers and routing key too large")))
def test_a_refusal_in_the_middle_of_load(load, name, fault):
    load.through("refusals", name, fault)
