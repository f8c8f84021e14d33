-- Values are what to_json(row) gives under canonical settings, whatever the session's settings are.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
CREATE SCHEMA types;
SET search_path = types;

CREATE TYPE colour AS ENUM ('red', 'deep "blue"');
CREATE TYPE place AS (street text, since timestamptz, span interval, spots float8[]);
CREATE DOMAIN email AS text CHECK (VALUE LIKE '%@%');
CREATE DOMAIN amounts AS numeric[];
CREATE DOMAIN moment AS timestamptz;
CREATE TABLE sample (
    id int PRIMARY KEY, "bool" bool, "int2" int2, "int8" int8, "float4" float4, "float8" float8, "numeric" numeric,
    "text" text, "varchar" varchar(20), "bpchar" char(5), "name" name, "char" "char", "uuid" uuid, "bytea" bytea,
    "date" date, "time" time, "timetz" timetz, "timestamp" timestamp, "timestamptz" timestamptz, "interval" interval,
    "json" json, "jsonb" jsonb, "money" money, "inet" inet, "cidr" cidr, "macaddr" macaddr, "bit" bit(4), "varbit" varbit,
    "point" point, "box" box, "circle" circle, "tsvector" tsvector, "tsquery" tsquery, "xml" xml, "oid" oid, "xid8" xid8,
    "pg_lsn" pg_lsn, "regclass" regclass, "regtype" regtype, "int4range" int4range, "tstzrange" tstzrange, "daterange" daterange,
    "numrange" numrange, "tstzmultirange" tstzmultirange, "colour" colour, "place" place, "email" email, "moment" moment,
    "amounts" amounts, "ints" int[][], "texts" text[], "dates" date[], "stamps" timestamptz[], "colours" colour[], "places" place[],
    "jsons" json[], "bytes" bytea[], "floats" float4[]
);

CREATE FUNCTION fill(first int) RETURNS void LANGUAGE sql AS $$
INSERT INTO sample VALUES (first);
INSERT INTO sample VALUES (first + 1, true, -32768, 9223372036854775807, 1e20, 0.1, 12345678901234567890.120,
    E'quote " slash \\ / tab \t newline \n cr \r bs \b ff \f bell \x07 del \x7f é 𝄞', 'v', 'ab', 'a name', 'c',
    '00112233-4455-6677-8899-aabbccddeeff', '\x00ff5c22', '2024-02-29', '12:34:56.789', '12:34:56+05:30', '2024-02-29 12:34:56.789',
    '2024-02-29 12:34:56.789+02', '1 year 2 mons -3 days 04:05:06.7', E'{ "b" : [1 ,2],\n "a":"x" }', '{"b": [1, 2.50], "a": "x\ty"}',
    1234.5, '192.168.0.1/24', '10.0.0.0/8', '08:00:2b:01:02:03', B'1010', B'1', '(0.1,1e300)', '(1,2),(3,4)', '<(1,2),0.3>',
    'a fat:2A "cat"', 'fat & "rat"', '<a b="c">&amp;</a>', 42, '123456789012', '16/B374D848', 'sample', 'colour', '[1,5)',
    '[2024-01-01 00:00+00,2024-06-01 12:00+00)', '[2024-01-01,2024-06-01)', '(0.5,]', '{[2024-01-01 00:00+00,2024-06-01 12:00+00)}',
    'deep "blue"', ROW('High "St"', '2024-01-01 00:00+00', '1 day', '{0.1,NaN}'), 'a@b', '2024-01-01 00:00+00', '{1.50,NaN}',
    '{{1,2},{3,4}}', E'{a,"b\\"c",NULL,""}', '{2024-01-01,infinity}', '{2024-01-01 00:00+00}', E'{red,"deep \\"blue\\""}',
    ARRAY[ROW('x', 'infinity', '-1 mon', NULL)::place], ARRAY['{"a":  1}'::json], ARRAY['\x01'::bytea], '{0.1,1e-10}');
INSERT INTO sample VALUES (first + 2, false, 0, -9223372036854775808, 'NaN', '-Infinity', 'NaN', '', '', '', '', '', NULL, '', 'infinity', '00:00', '24:00:00-12',
    '-infinity', 'infinity', '0', 'null', 'null', 0, '::1', '::/0', '00:00:00:00:00:00', B'0000', B'', '(NaN,Infinity)', '(0,0),(0,0)',
    '<(0,0),0>', '', 'x', '<x/>', 0, '0', '0/0', 'pg_class', 'int', 'empty', 'empty', 'empty', 'empty', '{}', 'red', ROW(NULL, NULL, NULL, NULL), '@',
    '-infinity', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}');
INSERT INTO sample (id, "float4", "float8", "numeric", "date", "timestamp", "timestamptz", "json", "text", "int8") VALUES
    (first + 3, '-Infinity', 'Infinity', '-Infinity', '0044-03-15 BC', '0044-03-15 12:00 BC', '0044-03-15 12:00+00 BC', '"s"', repeat('"', 9), 0),
    (first + 4, -0.0, '-0', 'Infinity', '99999-12-31', '99999-12-31 23:59:59.999999', '99999-12-31 23:59:59.999999+00', '-1.0e5', repeat('x', 100), -1),
    (first + 5, 3.4028235e38, 2.2250738585072014e-308, -0.000001, '1999-01-08', '1999-01-08 00:00:00.1', '1999-01-08 00:00:00.000001+00', '[]', E'\x01', 10),
    (first + 6, 16777216, 1e15, 1e30, '4713-11-24 BC', '1970-01-01', '1970-01-01 00:00+00', '{}', E'1234567\n', 99),
    (first + 7, 1e-7, 123456789.123456789, 0.0, '0001-01-01', '2000-02-29', '2000-02-29 00:00+14', 'true', E'12345678\\', 1000000);
$$;

SELECT outbox.track('sample') IS NOT NULL AS tracked;
-- The same rows, written by sessions with canonical settings and with settings that change every text.
SELECT fill(100);
SET DateStyle = 'German, DMY';
SET IntervalStyle = 'sql_standard';
SET TimeZone = 'America/St_Johns';
SET extra_float_digits = -3;
SET bytea_output = 'escape';
SET xmloption = 'document';
SET lc_monetary = 'C.UTF-8';
SELECT fill(200);
-- The settings are the session's again.
SELECT current_setting('DateStyle'), current_setting('TimeZone'), current_setting('extra_float_digits'), current_setting('search_path');
RESET ALL;

SET search_path = pg_catalog;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SET IntervalStyle = 'postgres';
SET extra_float_digits = 1;
SET bytea_output = 'hex';
SET lc_monetary = 'C';
-- Byte for byte.
SELECT s.id, (e.payload -> 'data')::text = to_json(s)::text AS same
  FROM seen e JOIN types.sample s ON s.id = e.entity_id::int WHERE e.entity_type = 'sample' ORDER BY s.id;
SELECT CASE WHEN (e.payload -> 'data' -> c)::text IS DISTINCT FROM (to_json(s) -> c)::text
            THEN format('%s %s: %s but %s', s.id, c, e.payload -> 'data' -> c, to_json(s) -> c) END AS difference
  FROM seen e JOIN types.sample s ON s.id = e.entity_id::int, json_object_keys(to_json(s)) c
 WHERE e.entity_type = 'sample' AND (e.payload -> 'data' -> c)::text IS DISTINCT FROM (to_json(s) -> c)::text;
SELECT jsonb_pretty(payload::jsonb -> 'data' #- '{json}') FROM seen WHERE entity_type = 'sample' AND entity_id = '201';
SELECT payload -> 'data' -> 'json' AS json FROM seen WHERE entity_type = 'sample' AND entity_id = '201';
RESET ALL;

-- Json is kept as it was written; what jsonb refuses is no obstacle.
CREATE TABLE types.verbatim (id int PRIMARY KEY, j json);
SELECT outbox.track('types.verbatim') IS NOT NULL AS tracked;
INSERT INTO types.verbatim VALUES (1, E'{ "a" : "\\u0000",\t"a": 1e2 }');
SELECT payload FROM seen WHERE entity_type = 'verbatim';

-- Types of extensions go the server's way too.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS hstore;
CREATE EXTENSION IF NOT EXISTS citext;
RESET client_min_messages;
CREATE TABLE types.extended (id public.citext PRIMARY KEY, h public.hstore);
SELECT outbox.track('types.extended') IS NOT NULL AS tracked;
INSERT INTO types.extended VALUES ('Key "1"', 'a=>1, "b c"=>NULL');
UPDATE types.extended SET h = 'a=>1, "b c"=>NULL', id = 'KEY "1"';
SELECT entity_id, payload FROM seen WHERE entity_type = 'extended' ORDER BY id;

SET client_min_messages = warning;
DROP SCHEMA types CASCADE;
DROP EXTENSION hstore, citext;
