"""What capture adds to the statement that changes a row, beside other ways to do it, and beside the least that any of
them must do: write the row of an event."""

from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import cost

# Name, type, value in row i. The first five are the narrow table; the wide one has all of them three times.
COLUMNS = [
    ("id", "uuid", "gen_random_uuid()"), ("workspace_id", "uuid", "gen_random_uuid()"),
    ("name", "varchar(255)", "'row ' || i"), ("amount", "numeric(12, 2)", "i * 0.25"),
    ("updated_at", "timestamptz", "now()"), ("parent_id", "uuid", "NULL"), ("state_id", "uuid", "gen_random_uuid()"),
    ("type_id", "uuid", "gen_random_uuid()"), ("priority", "varchar(30)", "'high'"), ("point", "int", "i % 10"),
    ("sequence_id", "int", "i"), ("sort_order", "float8", "i * 1.5"), ("is_draft", "boolean", "false"),
    ("start_date", "date", "'2025-01-15'"), ("target_date", "date", "NULL"), ("completed_at", "timestamptz", "NULL"),
    ("external_source", "varchar(255)", "'github'"), ("external_id", "varchar(255)", "i::text"),
    ("description", "text", "repeat('text ', 20)"), ("created_at", "timestamptz", "now()"),
]
WIDTHS = {5: COLUMNS[:5], 20: COLUMNS,
          60: COLUMNS + [(f"{name}_{copy}", kind, value) for copy in (2, 3) for name, kind, value in COLUMNS]}

# In the order they run: each finds the rows that it changes. An update changes three columns.
OPERATIONS = {"insert": "created", "update": "updated", "delete": "deleted"}
UPDATE = "UPDATE {table} SET name = 'row ' || amount, amount = amount + 1, updated_at = clock_timestamp()"
WHOLE = {"insert": "INSERT INTO {table} SELECT {columns} FROM source WHERE n <= {last}",
         "update": UPDATE,
         "delete": "DELETE FROM {table}"}
SINGLE = {"insert": "INSERT INTO {table} SELECT {columns} FROM source WHERE n = i",
          "update": UPDATE + " WHERE id = (SELECT id FROM source WHERE n = i)",
          "delete": "DELETE FROM {table} WHERE id = (SELECT id FROM source WHERE n = i)"}
WHOLE_ROWS, WARM_UP_ROWS = 20_000, 20
TURNS, TURN_ROWS = 10, 400

# Side: what it is called, its trigger, and the share of the rows it gets: the slow ones are as slow on fewer.
FOR_EACH_ROW = "CREATE TRIGGER capture AFTER INSERT OR UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION "
FOR_EACH_STATEMENT = FOR_EACH_ROW.replace("EACH ROW", "EACH STATEMENT")
SIDES = {
    "none": ("no trigger", None, 1),
    "nothing": ("a trigger that does nothing", FOR_EACH_ROW + "floor_nothing()", 1),
    "floor": ("the floor: ready-made rows, a loop in C", FOR_EACH_STATEMENT + "floor_write()", 1),
    "relay": ("outbox_relay", "SELECT outbox.track('{table}')", 1),
    "logutriga": ("PgQ, logutriga", FOR_EACH_ROW + "pgq.logutriga('bench')", 1),
    "jsontriga": ("PgQ, jsontriga", FOR_EACH_ROW + "pgq.jsontriga('bench')", 1),
    "good": ("PL/pgSQL, to_jsonb and a diff", FOR_EACH_ROW + "capture_good()", 1 / 2),
    "catalog": ("PL/pgSQL that reads information_schema per row", FOR_EACH_ROW + "capture_catalog()", 1 / 10),
}


def table_of(side):
    return f"captured_{side}"


def create_tables(pg, columns):
    definition = ", ".join(f"{name} {kind}" for name, kind, _ in columns)
    pg.execute("DROP TABLE IF EXISTS source, " + ", ".join(map(table_of, SIDES)))
    pg.execute(f"CREATE TABLE source (n int PRIMARY KEY, {definition})")
    pg.execute(f"INSERT INTO source SELECT i, {', '.join(value for *_, value in columns)}"
               f" FROM generate_series(1, {WHOLE_ROWS}) AS i")
    pg.execute("VACUUM ANALYZE source")
    for side, (_, trigger, _) in SIDES.items():
        pg.execute(f"CREATE TABLE {table_of(side)} ({definition}, PRIMARY KEY (id))")
        if trigger:
            pg.execute(trigger.format(table=table_of(side)))


def share_of(side, rows):
    return round(rows * SIDES[side][2])


def change(session, shape, operation, side, columns, rows):
    """Changes the rows of the range; returns the microseconds per row."""
    if side == "floor":
        session.execute("SELECT floor_prepare(event, 'floor_event', %s) FROM floor_sample AS event WHERE event_type = %s",
                        (1 if shape is SINGLE else len(rows), f"{table_of('relay')}.{OPERATIONS[operation]}"))
    text = shape[operation].format(table=table_of(side), columns=", ".join(name for name, *_ in columns), last=rows[-1])
    return cost.per_row(session, cost.one_by_one(text, rows) if shape is SINGLE else text, len(rows))


def warm_up(session, side, columns):
    for operation in OPERATIONS:
        change(session, SINGLE, operation, side, columns, range(1, WARM_UP_ROWS + 1))


def take_samples(pg, columns):
    """The events of one row, for the floor: it writes the same."""
    empty_tables(pg, ["relay"])
    with pg.connect() as session:
        for operation in OPERATIONS:
            change(session, SINGLE, operation, "relay", columns, range(1, 2))
        session.execute("DROP TABLE IF EXISTS floor_sample")
        session.execute("CREATE TABLE floor_sample AS SELECT * FROM outbox.event")


def empty_tables(pg, sides):
    tables = [table_of(side) for side in sides] + ["outbox.event", "floor_event", "classic_outbox", "pgq.event_1"]
    with pg.connect() as session:
        session.execute("SET session_replication_role = replica")    # or the log would refuse
        session.execute(f"TRUNCATE {', '.join(tables)}")
        session.execute("CHECKPOINT")


def whole_round(pg, columns):
    """Yields (side, operation, microseconds per row): one side after the other, each with the buffers for itself."""
    for side in SIDES:
        empty_tables(pg, [side])
        with pg.connect() as session:
            warm_up(session, side, columns)
            for operation in OPERATIONS:
                rows = range(1, share_of(side, WHOLE_ROWS) + 1)
                yield side, operation, change(session, WHOLE, operation, side, columns, rows)


def single_round(pg, columns):
    """The same, but the sides take turns: single-row statements cost much beside their triggers, so that the machine's
    moods would hide these."""
    empty_tables(pg, SIDES)
    with ExitStack() as stack:
        sessions = {side: stack.enter_context(pg.connect()) for side in SIDES}
        for side, session in sessions.items():
            warm_up(session, side, columns)
        for operation in OPERATIONS:
            for turn in range(TURNS):
                for side, session in sessions.items():
                    rows = share_of(side, TURN_ROWS)
                    yield side, operation, change(session, SINGLE, operation, side, columns,
                                                  range(turn * rows + 1, (turn + 1) * rows + 1))


def cell(extra, side, operation):
    own = extra[side][operation]
    if side in ("nothing", "floor"):
        return f"{own:.1f} us"
    other = "floor" if side == "relay" else "relay"
    return f"{own:.1f} us, {own / extra[other][operation]:.1f}"


def print_table(taken, title):
    extra = {side: {operation: median(taken[side, operation]) - median(taken["none", operation])
                    for operation in OPERATIONS} for side in SIDES if side != "none"}
    print(f"{title}\n\n| capture | {' | '.join(OPERATIONS)} |\n|---|{'---|' * len(OPERATIONS)}")
    for side in extra:
        print(f"| {SIDES[side][0]} | {' | '.join(cell(extra, side, operation) for operation in OPERATIONS)} |")
    print(flush=True)


def run(pg, rounds):
    pg.execute((Path(__file__).parent / "capture.sql").read_text(encoding="utf-8"))
    pg.set(outbox_relay__amqp_url="")
    print(f"Extra time per row, medians of {rounds} alternating rounds. Behind it: outbox_relay's in floors, the others'"
          " in outbox_relay's\n")
    for width, columns in WIDTHS.items():
        create_tables(pg, columns)
        take_samples(pg, columns)
        for measure, name in (single_round, "a statement for each row"), (whole_round, f"statements of {WHOLE_ROWS:,} rows"):
            taken = defaultdict(list)
            for _ in range(rounds):
                for side, operation, microseconds in measure(pg, columns):
                    taken[side, operation].append(microseconds)
            print_table(taken, f"{width} columns, {name}")
