-- entity_id: of one column its text, of several a JSON array; odd names of tables and columns.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
CREATE SCHEMA keys;
SET search_path = keys;

CREATE TABLE pair (a int, b text, c date, n int, PRIMARY KEY (b, a));
SELECT outbox.track('pair') -> 'entity_id' AS entity_id;
INSERT INTO pair VALUES (1, 'x "y"', '2024-02-29', 0);
SELECT outbox.track('pair', '{"entity_id": ["c", "a"], "ordering_key": ["a"]}') AS rule;
UPDATE pair SET n = 1;
DELETE FROM pair;
SELECT event_type, entity_id, ordering_key FROM seen WHERE entity_type = 'pair' ORDER BY id;

-- The text is to_json's, without the quotes of a string.
CREATE TYPE colour AS ENUM ('red', 'gr"een');
CREATE TABLE typed (id int PRIMARY KEY, e colour, t timestamptz, o bool, f float8, j jsonb, js json, c char(4), y bytea, i interval, u name, d numeric);
INSERT INTO typed VALUES (1, 'gr"een', '2024-01-02 03:04:05.6+02', true, 0.1, '"a\"b"', ' {"k": 1}', 'ab', '\x01ff', '1 day 02:00', 'nm', 'NaN');
SET TimeZone = 'Asia/Tokyo';
DO $$
DECLARE
    c text;
BEGIN
    FOREACH c IN ARRAY ARRAY['e', 't', 'o', 'f', 'j', 'js', 'c', 'y', 'i', 'u', 'd'] LOOP
        PERFORM outbox.track('typed', jsonb_build_object('entity_id', c, 'entity', 'typed_' || c, 'columns', ARRAY['id']));
        UPDATE typed SET id = id + 1;
    END LOOP;
END
$$;
RESET TimeZone;
SELECT entity_type, '<' || entity_id || '>' AS entity_id FROM seen WHERE entity_type LIKE 'typed%' ORDER BY id;

-- The replica identity serves a table without primary key.
CREATE TABLE identified (code text NOT NULL, n int);
CREATE UNIQUE INDEX identified_code ON identified (code);
SELECT outbox.track('identified');
ALTER TABLE identified REPLICA IDENTITY USING INDEX identified_code;
SELECT outbox.track('identified') -> 'entity_id' AS entity_id;
INSERT INTO identified VALUES ('k1', 1);
SELECT event_type, entity_id FROM seen WHERE entity_type = 'identified';
-- The rule that is stored names the column: it stays usable when the identity goes.
ALTER TABLE identified REPLICA IDENTITY DEFAULT;
INSERT INTO identified VALUES ('k2', 1);
SELECT event_type, entity_id FROM seen WHERE entity_type = 'identified' ORDER BY id;

-- A deferrable primary key is one too.
CREATE TABLE later (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED);
SELECT outbox.track('later') -> 'entity_id' AS entity_id;

-- A null in entity_id: the row could not be told from others.
CREATE TABLE nullable (id int, n int);
SELECT outbox.track('nullable', '{"entity_id": ["id", "n"]}') -> 'entity_id' AS entity_id;
INSERT INTO nullable VALUES (1, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM nullable;

-- Odd names.
CREATE SCHEMA "Odd ""schema"".x";
CREATE TABLE "Odd ""schema"".x"."Tab.le'\ ""q""" ("Id.""x"" \ y" int PRIMARY KEY, "größe" text, "SELECT" int, "line
break" text);
SELECT outbox.track('"Odd ""schema"".x"."Tab.le''\ ""q"""', '{"workspace_id": "größe"}') AS rule;
INSERT INTO "Odd ""schema"".x"."Tab.le'\ ""q""" VALUES (1, 'süß', 2, 'é');
UPDATE "Odd ""schema"".x"."Tab.le'\ ""q""" SET "SELECT" = 3;
SELECT event_type, entity_type, entity_id, workspace_id, payload FROM seen WHERE entity_type LIKE 'Tab%' ORDER BY id;
SELECT target, rule -> 'entity' AS entity FROM outbox.rules WHERE rule ->> 'entity' LIKE 'Tab%';
SELECT outbox.track('"Odd ""schema"".x"."Tab.le''\ ""q"""', '{"exclude": ["Id.\"x\" \\ y"]}') IS NOT NULL AS tracked;
DELETE FROM "Odd ""schema"".x"."Tab.le'\ ""q""";
SELECT event_type, entity_id, payload FROM seen WHERE entity_type LIKE 'Tab%' ORDER BY id DESC LIMIT 1;
SELECT outbox.untrack('"Odd ""schema"".x"."Tab.le''\ ""q"""');
-- standard_conforming_strings off changes how our commands would be read.
SET standard_conforming_strings = off;
SET escape_string_warning = off;
SELECT outbox.track('"Odd ""schema"".x"."Tab.le''\\ ""q"""') IS NOT NULL AS tracked;
RESET standard_conforming_strings;
RESET escape_string_warning;
SELECT target, rule -> 'entity_id' AS entity_id FROM outbox.rules WHERE rule ->> 'entity' LIKE 'Tab%';

-- 63 bytes, each of them.
CREATE TABLE t23456789_123456789_123456789_123456789_123456789_123456789_123
    (c23456789_123456789_123456789_123456789_123456789_123456789_123 int PRIMARY KEY);
SELECT outbox.track('t23456789_123456789_123456789_123456789_123456789_123456789_123') ->> 'entity' AS entity;
INSERT INTO t23456789_123456789_123456789_123456789_123456789_123456789_123 VALUES (1);
SELECT event_type, payload FROM seen WHERE entity_type LIKE 't23456789%';

SET client_min_messages = warning;
DROP SCHEMA keys CASCADE;
DROP SCHEMA "Odd ""schema"".x" CASCADE;
