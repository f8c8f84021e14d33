"""A backlog of events, written while its relays have no broker, and how long they take to drain it; and the publisher
that does nothing but publish as many messages of the same size."""

import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from harness import processes
from harness.consumer import read_queue
from harness.waiting import wait_until

TYPE = "bench_event.created"
BINDING = "bench_event.*"


def queue_of(relay):
    return f"bench_{relay}"


def exchange_of(relay):
    return "outbox" if relay == "default" else f"outbox_{relay}"


def prepare(pg, broker):
    """The table, and the relay default with its exchange and queue, running."""
    pg.execute("CREATE TABLE bench_event (id bigint PRIMARY KEY, name text, body text)")
    pg.execute("""SELECT outbox.track('bench_event', '{"verbs": {"truncate": null}}')""")
    fresh_queues(broker, ["default"])
    start(pg, broker, ["default"])


def add_relays(pg, broker, relays):
    """Each with a topic exchange and a queue of its own; they begin now."""
    for relay in relays:
        broker.declare(queue_of(relay), exchange_of(relay), binding=BINDING)
        pg.execute("SELECT outbox.create_relay(%s, %s)", (relay, json.dumps({"exchange": exchange_of(relay)})))
    start(pg, broker, relays)


def start(pg, broker, relays):
    """Connects, and waits until each relay has a first record of progress to count from."""
    pg.execute("INSERT INTO bench_event SELECT -1 - count(*), 'first', 'x' FROM bench_event")
    connect(pg, broker)
    wait_until(lambda: set(relays) <= settled(pg).keys(), 30, "the relays run")


def fresh_queues(broker, relays):
    for relay in relays:
        broker.delete(queues=[queue_of(relay)])
        broker.declare(queue_of(relay), exchange_of(relay), binding=BINDING)


def connect(pg, broker):
    pg.set(outbox_relay__amqp_url=broker.url())


def disconnect(pg):
    pg.set(outbox_relay__amqp_url="")
    wait_until(lambda: {state for _, state in lanes(pg).values()} == {"unconfigured"}, 15, "the relays have no broker")


def lanes(pg):
    """relay: (pid, state)"""
    return {relay: (pid, state) for relay, pid, state in
            pg.execute("SELECT relay, pid, state FROM outbox.stats() WHERE state <> 'paused'")}


def settled(pg):
    """relay: (events its lane has settled in its life, when it last recorded that)"""
    rows = pg.execute("SELECT DISTINCT ON (relay_id) r.name, p.settled, extract(epoch FROM p.recorded_at)::float8"
                      " FROM outbox.progress p JOIN outbox.relay r USING (relay_id) ORDER BY relay_id, p.seq DESC")
    return {relay: (count, at) for relay, count, at in rows}


def write(pg, events):
    """A key for each event."""
    pg.execute("TRUNCATE bench_event")
    for share in range(100):
        pg.execute("INSERT INTO bench_event SELECT i, 'bench', repeat('x', 400) FROM generate_series(%s::int, %s::int) AS i",
                   (share * events // 100 + 1, (share + 1) * events // 100))


def drain(pg, broker, events):
    """Lets the running relays drain the events, of which each has all: (events/s of all of them together, CPU us per
    event)."""
    pg.execute("CHECKPOINT")
    running = lanes(pg)
    before = {relay: settled(pg)[relay][0] for relay in running}
    cpu = {relay: processes.cpu_seconds(pid) for relay, (pid, _) in running.items()}
    began = time.time()
    connect(pg, broker)
    wait_until(lambda: all(settled(pg)[relay][0] >= before[relay] + events for relay in running), 300,
               "the backlog is drained", interval=0.25)
    seconds = max(settled(pg)[relay][1] for relay in running) - began
    spent = sum(processes.cpu_seconds(pid) - cpu[relay] for relay, (pid, _) in running.items())
    total = events * len(running)
    return total / seconds, spent / total * 1e6


def publish(broker, publisher, relays, events, size, window):
    """A bare publisher for each relay's exchange, all at once: (messages/s of all of them together, CPU us per message)."""
    fresh_queues(broker, relays)

    def run(relay):
        command = [str(publisher), "--url", broker.url(), "--exchange", exchange_of(relay), "--routing-key", TYPE,
                   "--count", str(events), "--size", str(size), "--window", str(window)]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout)

    with ThreadPoolExecutor(len(relays)) as pool:
        results = list(pool.map(run, relays))
    return (events * len(relays) / max(result["seconds"] for result in results),
            sum(result["cpu_us_per_message"] for result in results) / len(results))


def body_size(broker, relay):
    """The size of the bodies that the relay has just sent."""
    return len(read_queue(broker, queue_of(relay), ())[-1].body)
