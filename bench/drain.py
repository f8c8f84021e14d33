"""How fast a backlog drains, against a publisher that does nothing but publish the same number of messages of the
same size with the same flags and window to the same queue."""

import json
import subprocess
import time
from statistics import median

from harness import processes
from harness.consumer import read_queue
from harness.waiting import wait_until

EVENTS = 100_000
WINDOW = 4096
BATCH = 50
QUEUE = "bench"
EXCHANGE = "outbox"


def fresh_queue(broker):
    broker.delete(queues=[QUEUE])
    broker.declare(QUEUE, EXCHANGE)


def lane(pg):
    return pg.execute("SELECT pid, state FROM outbox.stats() WHERE relay = 'default'")[0]


def settled(pg):
    """(events the lane has settled in its life, when it last recorded that)."""
    return pg.execute("SELECT settled, extract(epoch FROM recorded_at)::float8 FROM outbox.progress"
                      " ORDER BY seq DESC LIMIT 1")[0]


def relay_round(pg, broker):
    """Writes the backlog while the relay has no broker, then lets it drain: (events/s, CPU us per event)."""
    pg.set(outbox_relay__amqp_url="")
    wait_until(lambda: lane(pg)[1] == "unconfigured", 15, "the relay has no broker")
    fresh_queue(broker)
    pg.execute("TRUNCATE bench_event")
    for share in range(100):
        pg.execute("INSERT INTO bench_event SELECT i, 'bench', repeat('x', 400) FROM generate_series(%s::int, %s::int) AS i",
                   (share * EVENTS // 100 + 1, (share + 1) * EVENTS // 100))
    pg.execute("CHECKPOINT")
    before, _ = settled(pg)
    pid, _ = lane(pg)
    cpu = processes.cpu_seconds(pid)
    began = time.time()
    pg.set(outbox_relay__amqp_url=broker.url())
    wait_until(lambda: settled(pg)[0] >= before + EVENTS, 120, "the backlog is drained", interval=0.25)
    seconds = settled(pg)[1] - began
    return EVENTS / seconds, (processes.cpu_seconds(pid) - cpu) / EVENTS * 1e6


def bare_round(broker, publisher, size):
    fresh_queue(broker)
    command = [str(publisher), "--url", broker.url(), "--exchange", EXCHANGE, "--count", str(EVENTS), "--size", str(size),
               "--window", str(WINDOW)]
    out = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout)
    return out["messages_per_second"], out["cpu_us_per_message"]


def batch_round(pg, broker):
    """The same backlog with BATCH events to a message: (events/s, CPU us per event)."""
    pg.execute("SELECT outbox.alter_relay('default', %s)", (json.dumps({"body": "batch", "batch_events": BATCH}),))
    figures = relay_round(pg, broker)
    pg.execute("""SELECT outbox.alter_relay('default', '{"body": null}')""")
    return figures


def body_size(broker):
    """The size of the bodies that the relay has just sent."""
    return len(read_queue(broker, QUEUE, ())[0].body)


def run(pg, broker, publisher, rounds):
    pg.execute("CREATE TABLE bench_event (id bigint PRIMARY KEY, name text, body text)")
    pg.execute("""SELECT outbox.track('bench_event', '{"verbs": {"truncate": null}}')""")
    pg.set(outbox_relay__max_in_flight=WINDOW)
    pg.execute("INSERT INTO bench_event VALUES (0, 'first', 'x')")      # the lane's first progress record
    broker.declare(QUEUE, EXCHANGE)
    pg.set(outbox_relay__amqp_url=broker.url())
    wait_until(lambda: pg.execute("SELECT 1 FROM outbox.progress"), 30, "the relay runs")
    relay_round(pg, broker)     # warms both servers up, and gives the size of a body
    size = body_size(broker)

    relay, bare, batch = [], [], []
    for _ in range(rounds):
        bare.append(bare_round(broker, publisher, size))
        relay.append(relay_round(pg, broker))
        batch.append(batch_round(pg, broker))
    relay_rate, relay_cpu = (median(side) for side in zip(*relay))
    batch_rate, batch_cpu = (median(side) for side in zip(*batch))
    bare_rate, bare_cpu = (median(side) for side in zip(*bare))
    print(f"Draining {EVENTS:,} events of {size} bytes, {WINDOW} in flight, medians of {rounds} alternating rounds\n")
    print("| publisher | events/s | own CPU per event |")
    print("|---|---|---|")
    print(f"| bare librabbitmq | {bare_rate:,.0f} | {bare_cpu:.1f} us |")
    print(f"| outbox_relay, lane worker | {relay_rate:,.0f} | {relay_cpu:.1f} us |")
    print(f"| outbox_relay, {BATCH} events to a message | {batch_rate:,.0f} | {batch_cpu:.1f} us |")
    print(f"| ratio | {relay_rate / bare_rate:.2f} | {relay_cpu / bare_cpu:.2f} |")
    print(f"| ratio, {BATCH} events to a message | {batch_rate / bare_rate:.2f} | {batch_cpu / bare_cpu:.2f} |\n", flush=True)
