"""An event's values are those of to_json(row) under canonical settings, for every type, whatever settings the writer has.

Rows are made at random; FIDELITY_SEED repeats a run, and the seed is among the figures.
"""

import os
import random
import time

import pytest

from harness import processes, session_settings, typed_table

BATCH = 25      # rows that are written under the same settings

# Objects whose names have to be quoted, and others that only some search paths see.
ODD_OBJECTS = """
    CREATE SCHEMA fidelity;
    CREATE ROLE "An ""odd"" role";
    CREATE SCHEMA "An ""odd"" schema";
    CREATE TABLE "An ""odd"" schema"."select" (id int PRIMARY KEY DEFAULT 1 + 1, a int, b int, c text DEFAULT upper('a'));
    CREATE VIEW "An ""odd"" schema"."A view" AS SELECT id, c || 'x' AS "C x" FROM "An ""odd"" schema"."select" WHERE id > 1;
    CREATE TYPE "An ""odd"" schema"."Type" AS (a int);
    CREATE FUNCTION "An ""odd"" schema"."Do it"(int, "An ""odd"" schema"."Type") RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION public.lower(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE OPERATOR public.@#@ (FUNCTION = public.lower, RIGHTARG = int);
    CREATE COLLATION public."Odd" FROM "C";
    CREATE TEXT SEARCH CONFIGURATION "An ""odd"" schema"."Words" (COPY = pg_catalog.simple);
    CREATE TEXT SEARCH DICTIONARY public."Words" (TEMPLATE = pg_catalog.simple);
    INSERT INTO "An ""odd"" schema"."select" SELECT i, i % 5, i % 5 / 2, (i % 3)::text FROM generate_series(1, 500) AS i;
    CREATE STATISTICS public.all_kinds (ndistinct, dependencies, mcv) ON a, b, c FROM "An ""odd"" schema"."select";
    ANALYZE "An ""odd"" schema"."select";
"""

# What jsonb cannot hold: the character 0, half a surrogate pair, a string of 256 MB. Anything else is a fault.
AS_JSONB = r"""
    CREATE FUNCTION fidelity.as_jsonb(value json) RETURNS jsonb LANGUAGE plpgsql AS $$
    BEGIN
        RETURN value::jsonb;
    EXCEPTION
        WHEN untranslatable_character THEN RETURN NULL;
        WHEN invalid_text_representation THEN
            IF value::text !~ '\\u[dD][89abAB]' THEN RAISE; END IF;
            RETURN NULL;
    END $$;
"""

# The payloads of one table's events beside what they should be. Equal images are no change; an update without change is no
# event. (As a whole, because json's operators read no value with \\u0000 in it.)
COMPARE = """
    WITH changed AS MATERIALIZED (
        SELECT b.id, to_json(a)::text AS data, '{{' || concat_ws(',', {previous}) || '}}' AS previous
          FROM fidelity.{table}_before b JOIN fidelity.{table}_after a USING (id)
    ), expected AS (
        SELECT 1 AS step, 'created' AS verb, id, to_json(b)::text AS data, '{{}}' AS previous FROM fidelity.{table}_before b
        UNION ALL SELECT 2, 'updated', id, data, previous FROM changed WHERE previous <> '{{}}'
        UNION ALL SELECT 3, 'deleted', id, data, '{{}}' FROM changed
    ), event AS (
        SELECT split_part(event_type, '.', 2) AS verb, entity_id::bigint AS id, payload AS found
          FROM outbox.event WHERE id > {start} AND entity_type = '{table}'
    ), compared AS MATERIALIZED (
        SELECT *, found::text IS NOT DISTINCT FROM wanted::text AS same_text,
               fidelity.as_jsonb(found) AS found_jsonb, fidelity.as_jsonb(wanted) AS wanted_jsonb
          FROM event FULL JOIN (SELECT *, format('{{"data":%s,"previous_attributes":%s}}', data, previous)::json AS wanted
                                  FROM expected) AS expected USING (id, verb)
    )
    SELECT count(*) FILTER (WHERE step = 1), count(*), count(found_jsonb),
           count(*) FILTER (WHERE NOT same_text OR found_jsonb IS DISTINCT FROM wanted_jsonb),
           (SELECT format(E'%s of row %s:\\n  found    %s\\n  expected %s', verb, id, left(found::text, 3000), left(wanted::text, 3000))
              FROM compared WHERE NOT same_text ORDER BY length(wanted::text), id, step LIMIT 1)
      FROM compared
"""


@pytest.fixture(scope="module")
def foreign_locale(workdir):
    """A locale that writes money in its own way, of which a bare system has none, and its name."""
    directory = workdir / "locales"
    directory.mkdir()
    processes.own(directory)
    name = "de_DE.ISO-8859-15"
    processes.run(["localedef", "-i", "de_DE", "-f", "ISO-8859-15", str(directory / name)])
    return directory, name


@pytest.fixture
def server(make_server, foreign_locale, monkeypatch):
    monkeypatch.setenv("LOCPATH", str(foreign_locale[0]))
    pg = make_server().start()
    pg.execute("CREATE EXTENSION outbox_relay")
    pg.execute(ODD_OBJECTS + AS_JSONB + typed_table.OWN_TYPES)
    return pg


def canonical_session(pg):
    session = pg.connect()
    session_settings.apply(session, session_settings.CANONICAL)
    return session


def write(session, rng, locale, table, rows):
    """Inserts, updates and deletes all rows, with other settings for each batch."""
    columns = ", ".join(map(typed_table.quote, typed_table.SHAPES))
    for first in range(1, rows + 1, BATCH):
        batch = f"id BETWEEN {first} AND {first + BATCH - 1}"
        for statement in (f"INSERT INTO fidelity.{table} SELECT * FROM fidelity.{table}_before WHERE {batch} ORDER BY id",
                          f"UPDATE fidelity.{table} AS t SET ({columns}) = (SELECT {columns} FROM fidelity.{table}_after WHERE id = t.id)"
                          f" WHERE {batch}",
                          f"DELETE FROM fidelity.{table} WHERE {batch}"):
            session_settings.apply(session, session_settings.random_settings(rng, locale))
            session.execute(statement)


def compare(session, table, start):
    previous = ", ".join(
        f"CASE WHEN record_image_ne(ROW(b.{column}), ROW(a.{column})) THEN {member} || coalesce(to_json(b.{column})::text, 'null') END"
        for column, member in ((typed_table.quote(name), f"to_json('{name}'::text)::text || ':'") for name in typed_table.SHAPES))
    return session.execute(COMPARE.format(table=table, start=start, previous=previous)).fetchone()


@pytest.mark.parametrize("rows_of_a_type", [120, pytest.param(1200, marks=pytest.mark.long)])
def test_events_of_every_type_equal_to_json_of_the_row_whatever_the_session_has_set(server, foreign_locale, note, rows_of_a_type):
    seed = int(os.environ.get("FIDELITY_SEED") or random.randrange(2**32))
    rng = random.Random(seed)
    began = time.monotonic()
    totals = [0, 0, 0, 0]
    differences = []
    with canonical_session(server) as reader, server.connect() as writer:
        tables = typed_table.built_in_types(reader) + typed_table.own_types()
        for table in tables:
            table.create(reader)
            table.fill(reader, rng, rows_of_a_type)
            start = reader.execute("SELECT coalesce(max(id), 0) FROM outbox.event").fetchone()[0]
            write(writer, rng, foreign_locale[1], table.name, rows_of_a_type)
            *counts, difference = compare(reader, table.name, start)
            totals = [total + count for total, count in zip(totals, counts)]
            if counts[-1] or counts[0] != rows_of_a_type:
                differences.append(f"{table.type}: {counts[-1]} of {counts[1]} events differ; {difference}")
    rows, events, in_jsonb, different = totals
    note(f"seed {seed}: {rows} rows of {len(tables)} types, {events} events, {events * len(typed_table.SHAPES)} values, as text and"
         f" ({in_jsonb} events that jsonb can hold) as jsonb; {different} differ; {time.monotonic() - began:.0f} s")
    assert not differences, "\n".join(differences)
