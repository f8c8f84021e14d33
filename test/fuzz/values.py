"""Random and mutated values of all types, through the capture of a sanitized server, compared with to_json."""

import psycopg

from harness import session_settings, typed_table

from fuzzing import mutate

ROUND = 40      # rows of one type before the next one's turn


def insert(reader, writer, fuzzing, table, number):
    """One row of random values, half the time one of them mutated: what its type refuses is no value. What it takes must be captured."""
    row = table.random_row(fuzzing.rng)
    place = fuzzing.rng.randrange(len(row))
    if fuzzing.rng.random() < 0.5 and row[place] is not None and len(row[place]) < 10_000:
        row[place] = mutate(fuzzing.rng, row[place])
    columns = ", ".join(map(typed_table.quote, typed_table.SHAPES))
    holes = ", ".join(["%s"] * len(row))
    fuzzing.say(row)
    try:
        reader.execute(f"INSERT INTO fidelity.{table.name}_before (id, {columns}) VALUES ({number}, {holes})", row)
    except psycopg.Error:
        if reader.closed:
            raise
        return 0
    writer.execute(f"INSERT INTO fidelity.{table.name} SELECT * FROM fidelity.{table.name}_before WHERE id = {number}")
    return 1


def differing(session, table):
    return session.execute(f"""
        SELECT count(*), count(*) FILTER (WHERE e.payload::text IS DISTINCT FROM format('{{"data":%s,"previous_attributes":{{}}}}', to_json(t)))
          FROM fidelity.{table.name} AS t LEFT JOIN outbox.event AS e ON e.entity_type = '{table.name}' AND e.entity_id::bigint = t.id""").fetchone()


def test_no_value_harms_the_server_or_looks_other_than_to_json_shows_it(server, fuzzing, note):
    server.execute("CREATE SCHEMA fidelity; CREATE ROLE \"An \"\"odd\"\" role\"")
    server.execute(typed_table.OWN_TYPES)
    given = written = 0
    with server.connect() as reader, server.connect() as writer:
        session_settings.apply(reader, session_settings.CANONICAL)
        tables = [table for table in typed_table.built_in_types(reader) + typed_table.own_types() if not table.source]
        for table in tables:
            table.create(reader)
        while fuzzing.goes_on():
            table = fuzzing.rng.choice(tables)
            session_settings.apply(writer, session_settings.random_settings(fuzzing.rng, "C"))
            for number in range(given, given + ROUND):
                written += insert(reader, writer, fuzzing, table, number)
            given += ROUND
        for table in tables:
            rows, wrong = differing(reader, table)
            assert wrong == 0, f"{table.type}: {wrong} of {rows} events differ"
    note(f"seed {fuzzing.seed}: {given} rows of {len(tables)} types, {written} of them taken by their types and captured, 0 differ")
