"""A tracked table around one type: the type itself, arrays and domains of it, composites with it, and these nested.

Beside it are two tables of the same columns, which nobody tracks: `before` has the rows as they are to be inserted, `after`
as they are to be updated to. They are filled in a session with settings of its own, so the session that writes the
tracked table only copies.
"""

from dataclasses import dataclass

from harness import values

# Name and type of each column. {0} is the type that the table is about, {1} what makes the names of those around it its own,
# {2} a type that has arrays: the type, but some have none, and then a domain of it.
SHAPES = {
    "value": "{0}",
    "elements": "{2}[]",
    "wrapped": "fidelity.{1}_twice",
    "listed": "fidelity.{1}_list",
    "wraps": "fidelity.{1}_twice[]",
    "record": "fidelity.{1}_outer",
    "held": "fidelity.{1}_held",
    "records": "fidelity.{1}_outer[]",
    'Last \\ "value"': "{0}",
}

# What is dropped was there once: a row has a hole in its place.
CREATE = """
    CREATE DOMAIN fidelity.{1}_once AS {0};
    CREATE DOMAIN fidelity.{1}_twice AS fidelity.{1}_once;
    CREATE DOMAIN fidelity.{1}_list AS {2}[];
    CREATE TYPE fidelity.{1}_inner AS ("in" {0}, gone int, name text);
    ALTER TYPE fidelity.{1}_inner DROP ATTRIBUTE gone;
    CREATE TYPE fidelity.{1}_outer AS (one {0}, gone text, "many ""of"" it" {2}[], inside fidelity.{1}_inner);
    ALTER TYPE fidelity.{1}_outer DROP ATTRIBUTE gone;
    CREATE DOMAIN fidelity.{1}_held AS fidelity.{1}_outer;
    CREATE TABLE fidelity.{1} (id bigint PRIMARY KEY, gone int, {3});
    ALTER TABLE fidelity.{1} DROP COLUMN gone;
    CREATE TABLE fidelity.{1}_before (LIKE fidelity.{1});
    CREATE TABLE fidelity.{1}_after (LIKE fidelity.{1});
    SELECT outbox.track('fidelity.{1}');
"""


def copy_field(value):
    if value is None:
        return "\\N"
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def quote(name):
    return '"' + name.replace('"', '""') + '"'


@dataclass
class TypedTable:
    type: str           # as SQL writes it
    name: str           # of the table
    generate: object    # the generator of the type's values
    delimiter: str = ","
    large: object = None
    source: str = None  # a query of the server's own values, if there is no generator
    has_arrays: bool = True

    def create(self, session):
        names = (self.type, self.name, self.type if self.has_arrays else f"fidelity.{self.name}_once")
        columns = ", ".join(f"{quote(column)} {shape.format(*names)}" for column, shape in SHAPES.items())
        session.execute(CREATE.format(*names, columns))

    def fill(self, session, rng, rows):
        if self.source:
            self._fill_from_source(session, rng, rows)
            return
        columns = self._columns()
        before = [[generate(rng) for generate in columns] for _ in range(rows)]
        after = [self._changed(rng, columns, row) for row in before]
        self._copy(session, "before", before)
        self._copy(session, "after", after)

    def random_row(self, rng):
        return [generate(rng) for generate in self._columns()]

    def _columns(self):
        """A generator for each column."""
        value = values.null_or(self.generate, 0.05)

        def array(rng):
            return values.array(rng, value, self.delimiter)

        def record(rng):
            return values.row((value(rng), array(rng), values.row((value(rng), values.text(rng)))))

        def records(rng):
            return values.array(rng, record)

        def whole(rng):
            return (self.large if self.large and rng.random() < 0.005 else value)(rng)

        record_or_null = values.null_or(record)
        return [whole, array, value, array, array, record_or_null, record_or_null, records, value]

    @staticmethod
    def _changed(rng, columns, row):
        """Some columns as they were, in some rows all, in others none."""
        share = rng.choice((0, 1, rng.random()))
        return [generate(rng) if rng.random() < share else old for generate, old in zip(columns, row)]

    def _copy(self, session, which, rows):
        with session.cursor().copy(f"COPY fidelity.{self.name}_{which} FROM STDIN") as copy:
            for number, row in enumerate(rows, 1):
                copy.write("\t".join((str(number), *map(copy_field, row))) + "\n")

    def _fill_from_source(self, session, rng, rows):
        """Values that only SQL can move: their types read no text."""
        session.execute("SELECT setseed(%s)", (rng.random(),))
        session.execute(f"CREATE TABLE fidelity.{self.name}_source AS SELECT row_number() OVER () AS n, v FROM ({self.source}) AS s(v)")
        some = f"(SELECT v FROM fidelity.{self.name}_source WHERE n = pick)"
        several = f"ARRAY[NULL, {some}]::fidelity.{self.name}_once[]"   # of the domain: these types have no arrays
        record = f"ROW({some}, {several}, ROW({some}, 'name'))::fidelity.{self.name}_outer"
        columns = (some, several, some, several, f"ARRAY[{some}]::fidelity.{self.name}_twice[]", record, record, f"ARRAY[{record}]", "NULL")
        for which in ("before", "after"):
            session.execute(f"""INSERT INTO fidelity.{self.name}_{which}
                SELECT i, {', '.join(columns)} FROM (SELECT i, 1 + floor(random() * (SELECT count(*) FROM fidelity.{self.name}_source))::int
                  AS pick FROM generate_series(1, {rows}) AS i OFFSET 0) AS picked""")


# The types that the server does not bring: name of the table, type, generator.
OWN_TYPES = """
    CREATE TYPE fidelity.colour AS ENUM ('red', 'deep "blue"', 'it''s', E'back\\\\slash', '', 'grün {1,2}', 'NULL');
    CREATE TYPE fidelity.floats AS RANGE (subtype = float8);
    CREATE TYPE fidelity.names AS RANGE (subtype = text, collation = "C");
    CREATE TYPE fidelity.instants AS RANGE (subtype = timestamptz, multirange_type_name = fidelity.many_instants);
    CREATE TYPE fidelity.mood AS ENUM ('good', 'bad');
    CREATE FUNCTION fidelity.mood_json(fidelity.mood) RETURNS json LANGUAGE sql AS $$
        SELECT json_build_object($1::text, 1 / 3::float8 || ' ' || timestamptz 'epoch' || interval '1 day') $$;
    CREATE CAST (fidelity.mood AS json) WITH FUNCTION fidelity.mood_json;
    CREATE EXTENSION hstore SCHEMA fidelity;
    CREATE EXTENSION citext SCHEMA fidelity;
"""


def hstore(rng):
    return ", ".join(f'"{values.escape(values.text(rng))}"=>' + ("NULL" if rng.random() < 0.2 else f'"{values.escape(values.text(rng))}"')
                     for _ in range(rng.randrange(4)))


def float_bound(rng):
    number = values.float_number(rng)
    return number, repr(number)


def text_bound(rng):
    written = values.text(rng)
    return written, written


def own_types():
    instants = values.RANGES["tstz"]
    generators = {
        "colour": lambda rng: rng.choice(("red", 'deep "blue"', "it's", "back\\slash", "", "grün {1,2}", "NULL")),
        "floats": values.range_of(float_bound), "names": values.range_of(text_bound),
        "mood": lambda rng: rng.choice(("good", "bad")),
        "instants": instants, "many_instants": values.multirange_of(instants),
        "hstore": hstore, "citext": values.text,
    }
    large = {"citext": values.large, "hstore": lambda rng: f'"{values.escape(values.large(rng))}"=>NULL'}
    return [TypedTable(f"fidelity.{name}", f"own_{name}", generate, large=large.get(name)) for name, generate in generators.items()]


def built_in_types(session):
    """Of every type of pg_catalog that a column can have, but arrays; fails if there is one that nobody thought of."""
    rows = session.execute("""
        SELECT typname::text, typdelim::text, typarray <> 0 FROM pg_type t
         WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'd', 'e', 'm', 'r') AND typisdefined
           AND NOT EXISTS (SELECT FROM pg_type e WHERE e.typarray = t.oid) ORDER BY typname""").fetchall()
    found = {name: details for name, *details in rows}
    known = {*values.BUILT_IN, *values.OBJECTS, *values.SERVERS_OWN}
    assert set(found) == known, f"types without a generator: {set(found) - known}, generators without a type: {known - set(found)}"
    return [_built_in_type(session, name, *details) for name, details in found.items()]


def _built_in_type(session, name, delimiter, has_arrays):
    generate = values.BUILT_IN.get(name)
    if name in values.OBJECTS:
        numbers = [str(number) for number, in session.execute(f"SELECT oid FROM pg_catalog.{values.OBJECTS[name]} ORDER BY oid").fetchall()]
        ours = [number for number in numbers if int(number) >= 16384] or numbers
        generate = lambda rng: rng.choice(rng.choice((numbers, ours, ("0", "1", "4294967295"))))   # noqa: E731
    return TypedTable(f'pg_catalog."{name}"', f"t_{name}", generate, delimiter, values.LARGE.get(name), values.SERVERS_OWN.get(name),
                      has_arrays)
