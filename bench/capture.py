"""What capture adds to an UPDATE of 20,000 rows of 20 columns: nothing, outbox_relay, and two PL/pgSQL triggers that
write the classic outbox table."""

import time
from pathlib import Path
from statistics import median

ROWS = 20_000
SIDES = {"none": "no capture", "relay": "outbox_relay", "good": "PL/pgSQL, to_jsonb and a diff",
         "catalog": "PL/pgSQL that reads information_schema per row"}


def update(pg, side, round):
    """Seconds that the statement and its commit take, on a table without dead rows."""
    table = f"wide_{side}"
    pg.execute(f"VACUUM {table}")
    pg.execute("TRUNCATE classic_outbox")
    pg.execute("CHECKPOINT")
    with pg.connect() as session:
        began = time.monotonic()
        session.execute(f"UPDATE {table} SET name = 'round {round}', amount = amount + 1, updated_at = now()")
        return time.monotonic() - began


def run(pg, rounds):
    pg.execute((Path(__file__).parent / "capture.sql").read_text(encoding="utf-8"))
    pg.set(outbox_relay__amqp_url="")
    taken = {side: [] for side in SIDES}
    for round in range(rounds + 1):
        for side, seconds in taken.items():
            seconds.append(update(pg, side, round))
    base = median(taken["none"][1:])
    extra = {side: (median(seconds[1:]) - base) / ROWS * 1e6 for side, seconds in taken.items()}

    print(f"UPDATE of {ROWS:,} rows of 20 columns (3 change), medians of {rounds} alternating rounds\n")
    print("| capture | seconds | extra per row | times outbox_relay's |")
    print("|---|---|---|---|")
    for side, name in SIDES.items():
        costs = f"{extra[side]:.1f} us | {extra[side] / extra['relay']:.1f}" if side != "none" else "|"
        print(f"| {name} | {median(taken[side][1:]):.2f} | {costs} |")
    print(flush=True)
