"""What capture costs where there is little to say: updates that make no event, and rows with a large value that the
event leaves out."""

import json
from statistics import median

import cost
from capture import COLUMNS, UPDATE

ROWS = 20_000
BODY_ROWS, BODY_ROUNDS, BODY_SIZE = 20, 200, 1024 * 1024
TURNS = 3       # for each round: these are short

CHANGE_NOTHING = "UPDATE {table} SET name = name, amount = amount, updated_at = updated_at"
WATCH = {"watch": ["state_id", "priority"]}
EXCLUDED = {"exclude": ["body"]}
NOT_LISTED = {"columns": [name for name, *_ in COLUMNS]}


def at_once(session, table, update):
    return cost.per_row(session, update.format(table=table), ROWS)


def again_and_again(session, table, update):
    """In short transactions, so that the few rows leave no dead ones."""
    loop = cost.one_by_one(f"{update.format(table=table)}; COMMIT", range(BODY_ROUNDS))
    return cost.per_row(session, loop, BODY_ROWS * BODY_ROUNDS)


# What the update does, rule, statement, how it is measured, rows, bytes of the column body, and whether it makes events.
CASES = [
    ("changes nothing", {}, CHANGE_NOTHING, at_once, ROWS, 0, False),
    ("changes nothing that is watched", WATCH, UPDATE, at_once, ROWS, 0, False),
    ("changes 3 columns beside an empty body, excluded", EXCLUDED, UPDATE, again_and_again, BODY_ROWS, 0, True),
    ("the same, with a body of 1 MB", EXCLUDED, UPDATE, again_and_again, BODY_ROWS, BODY_SIZE, True),
    ("changes 3 columns beside an empty body, not listed", NOT_LISTED, UPDATE, again_and_again, BODY_ROWS, 0, True),
    ("the same, with a body of 1 MB", NOT_LISTED, UPDATE, again_and_again, BODY_ROWS, BODY_SIZE, True),
]


def create_table(pg, table, rows, body_size):
    definition = ", ".join(f"{name} {kind}" for name, kind, _ in COLUMNS)
    values = ", ".join(value for *_, value in COLUMNS)
    pg.execute(f"CREATE TABLE {table} ({definition}, body text, PRIMARY KEY (id))")
    pg.execute(f"ALTER TABLE {table} ALTER body SET STORAGE EXTERNAL")
    pg.execute(f"INSERT INTO {table} SELECT {values}, repeat('x', {body_size}) FROM generate_series(1, {rows}) AS i")


def measure(pg, table, case):
    _, _, update, how, *_ = case
    pg.execute(f"VACUUM {table}")
    pg.execute("CHECKPOINT")
    with pg.connect() as session:
        session.execute(update.format(table=table) + " WHERE sequence_id = 1")
        return how(session, table, update)


def check_events(pg, table, case):
    made = pg.value("SELECT EXISTS (SELECT FROM outbox.event WHERE entity_type = %s)", (table,))
    if made != case[-1]:
        raise AssertionError(f"{table}: {'events' if made else 'no events'} of an update that {case[0]}")


def run(pg, rounds):
    pg.set(outbox_relay__amqp_url="")
    for number, (_, rule, _, _, rows, body_size, _) in enumerate(CASES):
        create_table(pg, f"plain_{number}", rows, body_size)
        create_table(pg, f"tracked_{number}", rows, body_size)
        pg.execute(f"SELECT outbox.track('tracked_{number}', %s::jsonb)", (json.dumps(rule),))
    extra = [[] for _ in CASES]
    for _ in range(rounds * TURNS):
        for number, case in enumerate(CASES):
            extra[number].append(measure(pg, f"tracked_{number}", case) - measure(pg, f"plain_{number}", case))

    print(f"Updates of a table of {len(COLUMNS) + 1} columns, medians of {rounds * TURNS} alternating rounds\n")
    print("| an update that | extra per row |\n|---|---|")
    for number, case in enumerate(CASES):
        check_events(pg, f"tracked_{number}", case)
        print(f"| {case[0]} | {median(extra[number]):.1f} us |")
    print(flush=True)
