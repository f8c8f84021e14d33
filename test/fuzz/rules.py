"""Mutated rules: through outbox.track(), and as the argument of triggers that somebody wrote by hand, with changes of rows.

Whatever a rule is made of, the server lives, no sanitizer speaks, and the error, if there is one, says what is wrong with
what was given: never an internal one.
"""

import json
import re

import psycopg
import pytest

from harness.build import SOURCE

from fuzzing import expected, mutate

TABLE = """
    CREATE TABLE sample (id bigint PRIMARY KEY, "an ""odd"" name" text, amount numeric, workspace_id uuid, project_id uuid,
                         initiator_id text, many int[], deleted_at timestamptz, "Ünïcode" jsonb, gone int);
    ALTER TABLE sample DROP COLUMN gone;
    CREATE TABLE link (sample_id bigint, other_id int);
"""
COLUMNS = ["id", 'an "odd" name', "amount", "workspace_id", "project_id", "initiator_id", "many", "deleted_at", "Ünïcode", "gone", "ctid",
           "tableoid", "", "nowhere"]
SQL = ["amount > 1", "id % 2 = 0", "deleted_at IS NULL", "true", "NULL", "1/0", "SELECT 'epic'", "SELECT $1.id::text", "SELECT $1",
       "SELECT jsonb_build_object('id', $1.id, 'was', $2.amount)", "SELECT array_agg(other_id ORDER BY other_id) FROM link WHERE sample_id = $1.id",
       "SELECT to_jsonb($2)", "SELECT id FROM sample", "SELECT 1/0", "SELECT $3", "SELECT 1, 2", "DELETE FROM link", "SELECT", ";"]
STRINGS = COLUMNS + SQL + ["created", "null", "redact", "sha256", "number", "string", "block", "record", "truncate", "sample", "app.setting",
                           "x" * 64, "x" * 300, "a.b", "pg_catalog, public", "\t\n", "😀", "é" * 200]
LEAVES = STRINGS + [None, True, False, 0, 1, -1, 1.5, 1e300, 2**31, 2**63, 10**50]
CHANGES = [
    """INSERT INTO sample (id, "an ""odd"" name", amount, initiator_id, many) VALUES (1, E'a\\x01"', 1.5, 'me', '{1}'), (2, NULL, NULL, NULL, NULL)""",
    """UPDATE sample SET amount = coalesce(amount, 0) + 1, "Ünïcode" = '{"a": [1]}'""",
    "UPDATE sample SET deleted_at = now() WHERE id = 1",
    "DELETE FROM sample",
    "TRUNCATE sample",
]


def corpus():
    """Every rule of the docs, and the keys of the table there."""
    page = (SOURCE / "docs" / "capture.md").read_text(encoding="utf-8")
    rules = [json.loads(rule) for rule in re.findall(r"(?:outbox\.track\('[^']*', |outbox\.capture\()'(\{[^']*\})'", page)]
    table = page[page.index("## The rule"):page.index("### entity")]
    keys = sorted({key for line in table.splitlines() if line.startswith("| `") for key in re.findall(r"`(\w+)`", line.split("|")[1])})
    assert len(rules) > 10 and "verbs" in keys
    return rules, keys


def random_value(rng, depth=0):
    kind = rng.random()
    if depth < 3 and kind < 0.15:
        return [random_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if depth < 3 and kind < 0.35:
        return {rng.choice(STRINGS + ["insert", "update", "delete", "email"]): random_value(rng, depth + 1) for _ in range(rng.randrange(4))}
    return rng.choice(LEAVES)


def random_rule(rng, rules, keys):
    rule = dict(rng.choice(rules)) if rng.random() < 0.7 else {}
    for _ in range(rng.randrange(5)):
        key = rng.choice(keys)
        if rng.random() < 0.2:
            rule.pop(key, None)
        elif key in ("condition", "variant", "data_query", "previous_query") and rng.random() < 0.7:
            rule[key] = rng.choice(SQL)
        elif key == "mask" and rng.random() < 0.7:
            rule[key] = {rng.choice(COLUMNS): rng.choice(("null", "redact", "sha256"))}
        elif key == "enrich" and rng.random() < 0.7:
            rule[key] = {rng.choice(STRINGS): rng.choice(SQL)}
        elif rng.random() < 0.4:
            rule[key] = rng.sample(COLUMNS, rng.randrange(4))
        else:
            rule[key] = rng.choice(COLUMNS) if rng.random() < 0.5 else random_value(rng)
    for key in rule:        # the columns of the docs' examples are of other tables
        if isinstance(rule[key], str) and key.endswith(("_id", "_key", "_delete")) and rng.random() < 0.8:
            rule[key] = rng.choice(COLUMNS)
    return json.dumps(rule, ensure_ascii=rng.random() < 0.5)


def outcome(session, statement, counts):
    """Runs it in a savepoint; its first value, or None if it was refused as it should be."""
    try:
        with session.transaction():
            cursor = session.execute(statement)
            return cursor.fetchone()[0] if cursor.description else True
    except psycopg.Error as error:
        expected(error, statement)
        counts[error.sqlstate] = counts.get(error.sqlstate, 0) + 1
        return None


def literal(value):
    return "E'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def change_rows(session, counts):
    """Makes changes; how many events they gave. A payload must be JSON that jsonb takes."""
    done = sum(outcome(session, change, counts) is not None for change in CHANGES)
    events, = session.execute("SELECT count(payload::jsonb) FROM outbox.event").fetchone()
    return done, events


def by_track(session, rule, counts):
    stored = outcome(session, f"SELECT outbox.track('sample', {literal(rule)}::jsonb)::text", counts)
    if stored is not None:
        again, = session.execute(f"SELECT outbox.track('sample', {literal(stored)}::jsonb)::text").fetchone()
        assert again == stored, f"the normal form of {rule} is not its own"
    return stored is not None


def by_hand(session, rule, counts):
    # A trigger's argument may be anything.
    return all(outcome(session, create.format(literal(rule)), counts) is not None for create in (
        'CREATE TRIGGER "!outbox_capture" AFTER INSERT OR UPDATE OR DELETE ON sample FOR EACH ROW EXECUTE FUNCTION outbox.capture({})',
        'CREATE TRIGGER "!outbox_capture_truncate" AFTER TRUNCATE ON sample FOR EACH STATEMENT EXECUTE FUNCTION outbox.capture({})'))


@pytest.mark.parametrize("way", [by_track, by_hand])
def test_no_rule_harms_the_server_or_is_refused_for_an_internal_reason(server, fuzzing, note, way):
    server.execute(TABLE)
    rules, keys = corpus()
    counts, totals = {}, {"rules": 0, "accepted": 0, "changes": 0, "events": 0}
    with server.connect() as session:
        session.execute("SET statement_timeout = '5s'; SET client_min_messages = error")
        while fuzzing.goes_on():
            rule = random_rule(fuzzing.rng, rules, keys)
            if fuzzing.rng.random() < 0.3:
                rule = mutate(fuzzing.rng, rule)
            fuzzing.say(rule)
            totals["rules"] += 1
            with session.transaction(force_rollback=True):
                if way(session, rule, counts):
                    totals["accepted"] += 1
                    changes, events = change_rows(session, counts)
                    totals["changes"] += changes
                    totals["events"] += events
    assert totals["events"] > 0
    note(f"seed {fuzzing.seed}: {totals}, refused: {dict(sorted(counts.items()))}")
