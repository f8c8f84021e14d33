-- Whose privileges, settings and names the SQL of a rule has: the table's owner's, those of the rule, and never those
-- of whoever changes a row, makes a partition or looks on.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start ORDER BY id;
CREATE ROLE rule_owner;
CREATE ROLE rule_writer;
CREATE SCHEMA guarded AUTHORIZATION rule_owner;
GRANT USAGE ON SCHEMA outbox TO rule_owner, rule_writer;
GRANT USAGE, CREATE ON SCHEMA guarded TO rule_writer;
GRANT EXECUTE ON FUNCTION outbox.capture(), outbox.track(regclass, jsonb) TO rule_owner, rule_writer;
SET search_path = guarded;
CREATE FUNCTION whoami() RETURNS text STABLE LANGUAGE sql AS 'SELECT current_user::text';
CREATE TABLE noted (who text);
GRANT ALL ON noted TO PUBLIC;
CREATE FUNCTION note_it() RETURNS boolean LANGUAGE plpgsql AS $$BEGIN INSERT INTO guarded.noted VALUES (current_user); RETURN true; END$$;
CREATE FUNCTION looks_pure(int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN guarded.note_it(); END$$;

-- A partition of somebody else's does not lend the rule its owner.
SET ROLE rule_owner;
CREATE TABLE parent (id int PRIMARY KEY) PARTITION BY RANGE (id);
SELECT outbox.track('parent', '{"enrich": {"by": "guarded.whoami()"}}') IS NOT NULL AS tracked;
RESET ROLE;
CREATE TABLE part PARTITION OF parent FOR VALUES FROM (0) TO (10);
INSERT INTO parent VALUES (1);
SELECT payload -> 'data' AS data FROM seen;
ALTER TABLE parent OWNER TO rule_writer;
INSERT INTO parent VALUES (2);
SELECT payload -> 'data' AS data FROM seen OFFSET 1;

-- The privilege TRIGGER does not lend the owner's privileges, neither by track nor by hand.
SET ROLE rule_owner;
CREATE TABLE item (id int PRIMARY KEY, n int, day date);
GRANT TRIGGER, INSERT, SELECT ON item TO rule_writer;
SET ROLE rule_writer;
SELECT outbox.track('item', '{"enrich": {"by": "guarded.whoami()"}}');
SELECT outbox.track('item', '{"condition": "id > 0"}');
CREATE TRIGGER mine AFTER INSERT ON item FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"enrich": {"by": "guarded.whoami()"}}');
CREATE TRIGGER mine AFTER INSERT ON item FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"entity": "plain"}');
INSERT INTO item VALUES (1);
SELECT count(*) FROM item;
RESET ROLE;
DROP TRIGGER mine ON item;
-- Once the owner has such a rule, others may still make triggers of another kind.
SET ROLE rule_owner;
SELECT outbox.track('item', '{"enrich": {"by": "guarded.whoami()"}}') IS NOT NULL AS tracked;
SET ROLE rule_writer;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER other AFTER INSERT ON item FOR EACH ROW EXECUTE FUNCTION nothing();
RESET ROLE;
DROP TRIGGER other ON item;

-- A condition runs as the owner: when a superuser changes a row, alters the table or looks on, too.
SET ROLE rule_owner;
SELECT outbox.track('item', '{"condition": "guarded.looks_pure(n) AND guarded.looks_pure(1)"}') IS NOT NULL AS tracked;
RESET ROLE;
INSERT INTO item VALUES (2, 1);
ALTER TABLE item ALTER n TYPE bigint;
ALTER TABLE item ALTER n TYPE int;
SELECT count(*) FROM outbox.preview('item', 'insert', NULL, '{"id": 3}');
SELECT outbox.track('item', '{"condition": "guarded.looks_pure(n) AND guarded.looks_pure(2)"}') IS NOT NULL AS tracked;
SELECT DISTINCT who FROM noted;

-- A name never comes to mean a temporary object.
SET ROLE rule_owner;
CREATE TABLE kind (id int, name text);
SELECT outbox.track('item', '{"enrich": {"kind": "(SELECT name FROM kind WHERE id = $1.n)"}}') IS NOT NULL AS tracked;
SELECT outbox.track('item', '{"enrich": {"kind": "1"}, "search_path": "pg_temp, guarded"}');
INSERT INTO item VALUES (4);
DROP TABLE kind;
SET ROLE rule_writer;
CREATE TEMP VIEW kind AS SELECT 1 AS id, 'trap'::text AS name;
GRANT SELECT ON kind TO PUBLIC;
INSERT INTO item VALUES (5);
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
DROP VIEW pg_temp.kind;

-- Settings: the session's do not change what the rule means, the rule's do not stay in the session.
SET ROLE rule_owner;
CREATE FUNCTION sets_path() RETURNS int STABLE LANGUAGE plpgsql AS $$BEGIN PERFORM set_config('search_path', 'elsewhere', false); RETURN 1; END$$;
SELECT outbox.track('item', '{"enrich": {"one": "sets_path()", "null": "$1.n = NULL", "text": "''a\\b''", "day": "$1.day = ''02/03/2025''"},
    "exclude": ["day"], "condition": "day = ''02/03/2025''"}') IS NOT NULL AS tracked;
SET DateStyle = 'ISO, DMY';
SET transform_null_equals = on;
SET standard_conforming_strings = off;
SET escape_string_warning = off;
INSERT INTO item VALUES (6, NULL, '2025-03-02'), (7, NULL, '2025-02-03');
SHOW search_path;
RESET DateStyle;
RESET transform_null_equals;
RESET standard_conforming_strings;
RESET escape_string_warning;
RESET ROLE;
SELECT entity_id, payload -> 'data' AS data FROM seen WHERE entity_type = 'item' ORDER BY id DESC LIMIT 1;

SET search_path = public;
DROP SCHEMA guarded CASCADE;
DROP OWNED BY rule_owner, rule_writer;
DROP ROLE rule_owner, rule_writer;
