-- The rule's key search_path: what it may be, and that schemas it names are there.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT event_type, entity_id, payload -> 'data' AS data FROM outbox.event WHERE id > :start ORDER BY id;
CREATE ROLE path_owner;
CREATE ROLE path_other;
GRANT USAGE ON SCHEMA outbox TO path_owner;
GRANT EXECUTE ON FUNCTION outbox.track, outbox.untrack, outbox.capture TO path_owner;
CREATE SCHEMA "Odd, ""path" AUTHORIZATION path_owner;
CREATE SCHEMA path_owner AUTHORIZATION path_owner;
CREATE SCHEMA path_other AUTHORIZATION path_other;
CREATE SCHEMA path_tables AUTHORIZATION path_owner;
SET ROLE path_owner;
CREATE TABLE "Odd, ""path".kind (name text);
INSERT INTO "Odd, ""path".kind VALUES ('of the odd schema');
CREATE TABLE path_owner.kind (name text);
INSERT INTO path_owner.kind VALUES ('of the owner');
SET search_path = path_tables;
CREATE TABLE t (id int PRIMARY KEY, a text);
GRANT INSERT ON t TO PUBLIC;
GRANT USAGE ON SCHEMA path_tables TO PUBLIC;
CREATE TABLE "Odd, ""path".t (id int PRIMARY KEY);
CREATE FUNCTION track(path text) RETURNS text LANGUAGE sql
    AS $$SELECT outbox.track('t', jsonb_build_object('enrich', '{"kind": "(SELECT name FROM kind)"}'::jsonb, 'search_path', path)) ->> 'search_path'$$;

-- A list of schemas, and nothing else.
SELECT track('path_owner; public');
SELECT track('path_owner,');
SELECT track('"path_owner');
SELECT track(' ');
SELECT track('public, pg_temp_3');
SELECT outbox.track('t', '{"search_path": ["path_owner"]}');
-- Names in quotes; $user is the owner of the table, whoever changes a row; the path may be empty.
SELECT track('"Odd, ""path"');
INSERT INTO t VALUES (1);
SELECT track('public, "$user"');
RESET ROLE;
SET ROLE path_other;
SET search_path = path_other;
CREATE TABLE kind (name text);
INSERT INTO path_tables.t VALUES (2);
RESET ROLE;
SET ROLE path_owner;
SET search_path = path_tables;
SELECT outbox.track('t', '{"enrich": {"path": "current_setting(''search_path'')"}, "search_path": "\"\""}') ->> 'search_path' AS search_path;
INSERT INTO t VALUES (3);
RESET ROLE;
SELECT entity_id, data FROM seen;
-- Without SQL there is none; null is then the default, so that SQL can be added to a rule as it is shown.
SELECT outbox.track('t') -> 'search_path' AS search_path;
SELECT outbox.track('t', rule || '{"enrich": {"one": "1"}}') -> 'search_path' AS search_path FROM outbox.rules WHERE target = 't'::regclass;
SELECT outbox.track('"Odd, ""path".t', '{"condition": "id > 0"}') ->> 'search_path' AS search_path;
SELECT outbox.untrack('"Odd, ""path".t');

SET ROLE path_owner;
-- What a rule with SQL names is neither renamed nor dropped.
SELECT track('path_tables, "Odd, ""path"');
RESET ROLE;
ALTER SCHEMA "Odd, ""path" RENAME TO even;
\echo :LAST_ERROR_SQLSTATE
DROP SCHEMA "Odd, ""path" CASCADE;
\echo :LAST_ERROR_SQLSTATE
ALTER SCHEMA path_other RENAME TO path_another;
ALTER SCHEMA path_another OWNER TO path_owner;
ALTER SCHEMA path_another RENAME TO path_other;
-- The way that the hint names, and a rule without SQL.
BEGIN;
SELECT outbox.track('path_tables.t', '{"search_path": "\"Odd, \"\"path\""}') IS NOT NULL AS tracked;
ALTER SCHEMA "Odd, ""path" RENAME TO even;
SELECT outbox.track('path_tables.t', '{"enrich": {"kind": "(SELECT name FROM kind)"}, "search_path": "path_tables, even"}') IS NOT NULL AS tracked;
INSERT INTO path_tables.t VALUES (4);
SELECT entity_id, data FROM seen OFFSET 3;
ROLLBACK;
-- $user names the schema of the table's owner.
SET ROLE path_owner;
SELECT track('"$user"');
RESET ROLE;
ALTER SCHEMA path_owner RENAME TO path_gone;
DROP SCHEMA path_owner CASCADE;
\echo :LAST_ERROR_SQLSTATE
ALTER SCHEMA "Odd, ""path" RENAME TO even;
-- A trigger by hand that leaves the path out goes by the schema of its table, which a session notices that has the plan.
SET ROLE path_owner;
SELECT outbox.untrack('t');
CREATE TABLE even.hand (id int PRIMARY KEY);
CREATE TRIGGER hand AFTER INSERT ON even.hand FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"enrich": {"kind": "(SELECT name FROM kind)"}}');
INSERT INTO even.hand VALUES (5);
RESET ROLE;
ALTER SCHEMA even RENAME TO uneven;
INSERT INTO uneven.hand VALUES (6);
SELECT entity_id, data FROM seen OFFSET 3;
-- A table that goes with the schema takes its rule along.
DROP SCHEMA uneven CASCADE;

RESET search_path;
DROP SCHEMA path_owner, path_other, path_tables CASCADE;
DROP OWNED BY path_owner, path_other;
DROP ROLE path_owner, path_other;
