"""How fast the events of one key drain: strict, one at a time, against a publisher that waits for each confirm; and
pipelined, against one that does not wait."""

import json
from statistics import median

from backlog import body_size, disconnect, drain, fresh_queues, prepare, publish

EVENTS = 20_000
WINDOW = 4096
RELAY = ["default"]


def relay_round(pg, broker, ordering):
    disconnect(pg)
    pg.execute("SELECT outbox.alter_relay('default', %s)", (json.dumps({"ordering": ordering}),))
    fresh_queues(broker, RELAY)
    with pg.connect(autocommit=False) as session:
        session.execute(f"""DO $$ BEGIN FOR i IN 1..{EVENTS} LOOP
                                PERFORM outbox.emit('bench_event.created', json_build_object('body', repeat('x', 400))::jsonb,
                                                    entity_type => 'bench_event', entity_id => '1');
                            END LOOP; END $$""")
        session.commit()
    return drain(pg, broker, EVENTS)


def run(pg, broker, programs, rounds):
    prepare(pg, broker)
    pg.set(outbox_relay__max_in_flight=WINDOW)
    relay_round(pg, broker, "pipelined")
    size = body_size(broker, "default")
    sides = {
        "bare librabbitmq, one in flight": lambda: publish(broker, programs["bare_publisher"], RELAY, EVENTS, size, 1),
        "outbox_relay, strict": lambda: relay_round(pg, broker, "strict"),
        f"bare librabbitmq, {WINDOW} in flight": lambda: publish(broker, programs["bare_publisher"], RELAY, EVENTS, size,
                                                                 WINDOW),
        "outbox_relay, pipelined": lambda: relay_round(pg, broker, "pipelined"),
    }
    figures = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            figures[name].append(side())
    print(f"Draining {EVENTS:,} events of one key, {size} bytes, medians of {rounds} alternating rounds\n")
    print("| publisher | events/s | own CPU per event |")
    print("|---|---|---|")
    for name, rows in figures.items():
        rate, cpu = (median(side) for side in zip(*rows))
        print(f"| {name} | {rate:,.0f} | {cpu:.1f} us |")
    print(flush=True)
    pg.execute("""SELECT outbox.alter_relay('default', '{"ordering": null}')""")
    disconnect(pg)
    pg.execute("DROP TABLE bench_event")
