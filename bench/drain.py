"""How fast a backlog drains, against a publisher that does nothing but publish the same number of messages of the
same size with the same flags and window to the same queue; with many events to a message; and with three relays, each
of which has events parked."""

import json
from statistics import median

from backlog import add_relays, body_size, connect, disconnect, drain, fresh_queues, prepare, publish, write
from harness.waiting import wait_until

EVENTS = 100_000
WINDOW = 4096
BATCH = 50
ONE, THREE = ["default"], ["default", "second", "third"]
PARKED = 200        # events that no queue takes, for each of the three relays


def relay_round(pg, broker, relays):
    disconnect(pg)
    fresh_queues(broker, relays)
    write(pg, EVENTS)
    return drain(pg, broker, EVENTS)


def batch_round(pg, broker):
    """The same backlog with BATCH events to a message."""
    pg.execute("SELECT outbox.alter_relay('default', %s)", (json.dumps({"body": "batch", "batch_events": BATCH}),))
    figures = relay_round(pg, broker, ONE)
    pg.execute("""SELECT outbox.alter_relay('default', '{"body": null}')""")
    return figures


def park(pg, broker, relays):
    connect(pg, broker)
    pg.execute("SELECT outbox.emit('unbound', '{}', entity_type => 'bench', entity_id => i::text)"
               " FROM generate_series(1, %s) AS i", (PARKED,))
    wait_until(lambda: pg.value("SELECT count(*) FROM outbox.parked") == PARKED * len(relays), 60, "events are parked")


def medians(rounds):
    return [median(side) for side in zip(*rounds)]


def run(pg, broker, programs, rounds):
    prepare(pg, broker)
    pg.set(outbox_relay__max_in_flight=WINDOW)
    relay_round(pg, broker, ONE)     # warms both servers up, and gives the size of a body
    size = body_size(broker, "default")

    def bare(relays):
        return publish(broker, programs["bare_publisher"], relays, EVENTS, size, WINDOW)

    one, one_bare, batch, three, three_bare = [], [], [], [], []
    for _ in range(rounds):
        one_bare.append(bare(ONE))
        one.append(relay_round(pg, broker, ONE))
        batch.append(batch_round(pg, broker))
    add_relays(pg, broker, THREE[1:])
    park(pg, broker, THREE)
    for _ in range(rounds):
        three_bare.append(bare(THREE))
        three.append(relay_round(pg, broker, THREE))
    parked = pg.value("SELECT count(*) FROM outbox.parked")
    if parked != PARKED * len(THREE):
        raise AssertionError(f"{parked} events are parked")

    print(f"Draining {EVENTS:,} events of {size} bytes, {WINDOW} in flight, medians of {rounds} alternating rounds\n")
    print("| publisher | events/s | own CPU per event | ratio of rates | ratio of CPU |")
    print("|---|---|---|---|---|")
    reference = medians(one_bare)
    for name, (rate, cpu), against in (
            ("bare librabbitmq", reference, None),
            ("outbox_relay, one relay", medians(one), reference),
            (f"outbox_relay, one relay, {BATCH} events to a message", medians(batch), reference),
            ("three bare publishers at once", medians(three_bare), None),
            (f"outbox_relay, three relays at once, each with {PARKED} events parked", medians(three), medians(three_bare))):
        ratios = f"{rate / against[0]:.2f} | {cpu / against[1]:.2f}" if against else "|"
        print(f"| {name} | {rate:,.0f} | {cpu:.1f} us | {ratios} |")
    print(flush=True)
    pg.execute("SELECT outbox.discard(name, id, 'of the benchmark') FROM outbox.parked JOIN outbox.relay USING (relay_id)")
    for relay in THREE[1:]:
        pg.execute("SELECT outbox.drop_relay(%s)", (relay,))
    disconnect(pg)
    pg.execute("DROP TABLE bench_event")
