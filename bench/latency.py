"""From commit to consumer at a steady rate, beside a bare publisher of messages of the same size to the same queue.
The time of a commit is the one that the server keeps of it (track_commit_timestamp), taken before its commit record is
written; the bare publisher reads the clock before it calls basic.publish."""

import json
import subprocess
import time
from contextlib import contextmanager
from statistics import median, quantiles

from backlog import TYPE, body_size, connect, disconnect, exchange_of, fresh_queues, prepare, queue_of

RATE = 100
EVENTS = 1000
RELAY = ["default"]


@contextmanager
def consuming(broker, consumer, count):
    """Yields a function that returns message_id: when it arrived, in microseconds since 1970."""
    command = [str(consumer), "--url", broker.url(), "--queue", queue_of("default"), "--count", str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"

        def arrivals():
            output = process.communicate(timeout=60)[0]
            return {message_id: int(at) for message_id, at in (line.split() for line in output.splitlines())}

        yield arrivals


def delays(began, arrived):
    """Milliseconds, of messages that both know."""
    if began.keys() != arrived.keys():
        raise AssertionError(f"{len(began)} messages sent, {len(arrived)} arrived")
    return [float(arrived[message] - began[message]) / 1000 for message in began]


def relay_round(pg, broker, programs):
    fresh_queues(broker, RELAY)
    pg.execute("TRUNCATE bench_event")
    with consuming(broker, programs["bare_consumer"], EVENTS) as arrivals, pg.connect(autocommit=False) as session:
        start = time.time()
        for number in range(EVENTS):
            time.sleep(max(0.0, start + number / RATE - time.time()))
            session.execute("INSERT INTO bench_event VALUES (%s, 'bench', repeat('x', 400))", (number,))
            session.commit()
        arrived = arrivals()
    committed = pg.execute("SELECT event_id::text, extract(epoch FROM pg_xact_commit_timestamp(xid::xid)) * 1000000"
                           " FROM outbox.event WHERE event_id = ANY (%s::uuid[])", (list(arrived),))
    return delays(dict(committed), arrived)


def bare_round(broker, programs, size):
    fresh_queues(broker, RELAY)
    with consuming(broker, programs["bare_consumer"], EVENTS) as arrivals:
        command = [str(programs["bare_publisher"]), "--url", broker.url(), "--exchange", exchange_of("default"),
                   "--routing-key", TYPE, "--count", str(EVENTS), "--size", str(size), "--rate", str(RATE)]
        out = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout)
        return delays({str(number): at for number, at in enumerate(out["published_at"])}, arrivals())


def percentiles(delays_of_round):
    return median(delays_of_round), quantiles(delays_of_round, n=100)[98]


def run(pg, broker, programs, rounds):
    pg.set(track_commit_timestamp="on")
    pg.restart()
    prepare(pg, broker)
    pg.execute("INSERT INTO bench_event VALUES (1, 'bench', repeat('x', 400))")
    connect(pg, broker)
    time.sleep(2)
    size = body_size(broker, "default")
    bare, ours = [], []
    for _ in range(rounds):
        bare.append(percentiles(bare_round(broker, programs, size)))
        ours.append(percentiles(relay_round(pg, broker, programs)))
    bare, ours = ([median(side) for side in zip(*figures)] for figures in (bare, ours))
    print(f"From commit to consumer at {RATE} events/s, {EVENTS:,} events of {size} bytes, medians of {rounds} alternating"
          " rounds\n")
    print("| publisher | median | 99th percentile |")
    print("|---|---|---|")
    for name, (middle, high) in (("bare librabbitmq", bare), ("outbox_relay", ours)):
        print(f"| {name} | {middle:.2f} ms | {high:.2f} ms |")
    print(f"| ratio | {ours[0] / bare[0]:.2f} | {ours[1] / bare[1]:.2f} |\n", flush=True)
    disconnect(pg)
    pg.execute("DROP TABLE bench_event")
