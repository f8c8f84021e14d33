"""What capture costs where there is little to say: updates that make no event, and rows with a large value that the
event leaves out."""

import json
from statistics import median

import cost
from capture import COLUMNS, UPDATE

ROWS = 20_000
BODY_ROWS, BODY_ROUNDS, BODY_SIZE = 20, 200, 1024 * 1024

CHANGE = UPDATE.format(table="quiet")
CHANGE_NOTHING = "UPDATE quiet SET name = name, amount = amount, updated_at = updated_at"


def create_table(pg, rule, rows, body_size):
    definition = ", ".join(f"{name} {kind}" for name, kind, _ in COLUMNS)
    values = ", ".join(value for *_, value in COLUMNS)
    pg.execute("DROP TABLE IF EXISTS quiet")
    pg.execute(f"CREATE TABLE quiet ({definition}, body text, PRIMARY KEY (id))")
    pg.execute("ALTER TABLE quiet ALTER body SET STORAGE EXTERNAL")
    pg.execute(f"INSERT INTO quiet SELECT {values}, repeat('x', {body_size}) FROM generate_series(1, {rows}) AS i")
    if rule is not None:
        pg.execute("SELECT outbox.track('quiet', %s::jsonb)", (json.dumps(rule),))
    pg.execute("VACUUM ANALYZE quiet")
    pg.execute("CHECKPOINT")


def without_event(update):
    """Measures one statement for all rows, which must make no event."""
    def measure(pg, rule):
        create_table(pg, rule, ROWS, body_size=0)
        with pg.connect() as session:
            session.execute(f"{update} WHERE sequence_id = 1")
            taken = cost.per_row(session, update, ROWS)
        if rule is not None and pg.value("SELECT count(*) FROM outbox.event WHERE entity_type = 'quiet'"):
            raise AssertionError(f"made events: {update}")
        return taken
    return measure


def beside_body(size):
    """Measures short transactions that update all of a row but its body."""
    def measure(pg, rule):
        create_table(pg, rule, BODY_ROWS, size)
        with pg.connect() as session:
            session.execute(CHANGE)
            return cost.per_row(session, cost.one_by_one(f"{CHANGE}; COMMIT", BODY_ROUNDS), BODY_ROWS * BODY_ROUNDS)
    return measure


EXCLUDED = {"entity": "large", "exclude": ["body"]}
NOT_LISTED = {"entity": "large", "columns": [name for name, *_ in COLUMNS]}
CASES = [
    ("changes nothing", without_event(CHANGE_NOTHING), {}),
    ("changes nothing that is watched", without_event(CHANGE), {"watch": ["state_id", "priority"]}),
    ("changes 3 columns beside an excluded body of 0 bytes", beside_body(0), EXCLUDED),
    ("changes 3 columns beside an excluded body of 1 MB", beside_body(BODY_SIZE), EXCLUDED),
    ("changes 3 columns beside a body of 0 bytes that is not listed", beside_body(0), NOT_LISTED),
    ("changes 3 columns beside a body of 1 MB that is not listed", beside_body(BODY_SIZE), NOT_LISTED),
]


def run(pg, rounds):
    pg.set(outbox_relay__amqp_url="")
    taken = {name: [] for name, *_ in CASES}
    for _ in range(rounds):
        for name, measure, rule in CASES:
            taken[name].append((measure(pg, rule), measure(pg, None)))
    print(f"Updates of a table of {len(COLUMNS) + 1} columns: extra time per row, medians of {rounds} alternating rounds\n")
    print("| an update that | extra per row |\n|---|---|")
    for name, rounds_taken in taken.items():
        captured, base = (median(side) for side in zip(*rounds_taken))
        print(f"| {name} | {captured - base:.1f} us |")
    print(flush=True)
