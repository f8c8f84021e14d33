-- DDL that would break a rule is refused; everything else goes through.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
CREATE SCHEMA guard;
SET search_path = guard;

-- What the rule names stays.
CREATE TABLE t (id int PRIMARY KEY, a text, owner_id int, spare int);
SELECT outbox.track('t', '{"initiator_id": ["owner_id"]}') IS NOT NULL AS tracked;
INSERT INTO t VALUES (1, 'x', 7, 0);
ALTER TABLE t RENAME COLUMN owner_id TO keeper_id;
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE t DROP COLUMN owner_id;
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE t DROP COLUMN a, DROP COLUMN owner_id, ADD COLUMN b int;
ALTER TABLE t RENAME COLUMN id TO number;
ALTER TABLE t DROP COLUMN id CASCADE;
-- The server takes a table for a view here.
ALTER VIEW t RENAME COLUMN owner_id TO keeper_id;
ALTER MATERIALIZED VIEW t RENAME COLUMN owner_id TO keeper_id;
-- Nothing of it was done.
INSERT INTO t VALUES (2, 'y', 8, 0);
-- What it does not name is free.
ALTER TABLE t RENAME COLUMN a TO text;
ALTER TABLE t ALTER COLUMN spare TYPE text;
ALTER TABLE t ALTER COLUMN owner_id TYPE text;
ALTER TABLE t DROP COLUMN spare;
ALTER TABLE t ADD COLUMN more int DEFAULT 5;
ALTER TABLE t RENAME TO t2;
ALTER TABLE t2 SET SCHEMA public;
ALTER TABLE public.t2 SET SCHEMA guard;
-- A column dropped and added at once is there.
ALTER TABLE t2 DROP COLUMN owner_id, ADD COLUMN owner_id bigint DEFAULT 9;
INSERT INTO t2 VALUES (3, 'z');
SELECT event_type, entity_id, initiator_id, payload -> 'data' AS data FROM seen WHERE entity_type = 't' ORDER BY id;
-- The way that the hint names.
SELECT outbox.track('t2', '{"entity": "t", "initiator_id": null}') IS NOT NULL AS tracked;
ALTER TABLE t2 RENAME COLUMN owner_id TO keeper_id;
SELECT outbox.track('t2', '{"entity": "t", "initiator_id": "keeper_id"}') IS NOT NULL AS tracked;
INSERT INTO t2 (id, keeper_id) VALUES (4, 10);
SELECT entity_id, initiator_id FROM seen WHERE entity_type = 't' ORDER BY id DESC LIMIT 1;
SELECT outbox.untrack('t2');
ALTER TABLE t2 DROP COLUMN keeper_id;

-- Every key that names columns.
CREATE TABLE keys (id int PRIMARY KEY, c int NOT NULL, d int);
CREATE FUNCTION refused(rule jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    said text;
BEGIN
    PERFORM outbox.track('keys', rule);
    ALTER TABLE keys DROP COLUMN c;
    RETURN 'dropped';
EXCEPTION WHEN dependent_objects_still_exist THEN
    GET STACKED DIAGNOSTICS said = PG_EXCEPTION_DETAIL;
    RETURN said;
END
$$;
SELECT key, refused(jsonb_build_object(key, value::jsonb))
  FROM (VALUES ('entity_id', '["id", "c"]'), ('ordering_key', '"c"'), ('columns', '["id", "c"]'), ('exclude', '["c"]'),
               ('watch', '["c"]'), ('mask', '{"c": "redact"}'), ('soft_delete', '"c"'), ('workspace_id', '"c"'), ('project_id', '"c"'),
               ('initiator_id', '["d", "c"]')) AS k (key, value);
SELECT refused('{}');

-- SQL in a rule: what it needs stays, and keeps a type that fits.
CREATE TABLE with_sql (id int PRIMARY KEY, kind text, n int, spare int);
SELECT outbox.track('with_sql', '{"condition": "kind = ''a''", "enrich": {"twice": "$1.n * 2"}}') IS NOT NULL AS tracked;
ALTER TABLE with_sql RENAME kind TO sort;
ALTER TABLE with_sql DROP COLUMN n;
ALTER TABLE with_sql ALTER COLUMN spare TYPE bigint, ALTER COLUMN n TYPE date USING now();
ALTER TABLE with_sql ALTER COLUMN n TYPE bigint;
ALTER TABLE with_sql RENAME spare TO rest;
ALTER TABLE with_sql DROP COLUMN rest;
INSERT INTO with_sql VALUES (1, 'a', 10000000000);
SELECT payload -> 'data' AS data FROM seen WHERE entity_type = 'with_sql';

-- In a transaction, the refusal can be caught and the transaction goes on.
CREATE TABLE caught (id int PRIMARY KEY, a int);
SELECT outbox.track('caught', '{"columns": ["a"]}') IS NOT NULL AS tracked;
BEGIN;
INSERT INTO caught VALUES (1, 1);
SAVEPOINT before;
ALTER TABLE caught RENAME a TO b;
ROLLBACK TO before;
INSERT INTO caught VALUES (2, 2);
COMMIT;
SELECT entity_id, payload -> 'data' AS data FROM seen WHERE entity_type = 'caught' ORDER BY id;

-- A rule written by hand leaves out what comes from the table: the key, and at least one column to capture.
CREATE TABLE hand (id int PRIMARY KEY, a int, b int);
CREATE TRIGGER capture AFTER INSERT ON hand FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"exclude": ["a"], "workspace_id": "b"}');
ALTER TABLE hand RENAME id TO number;
ALTER TABLE hand DROP COLUMN number;
ALTER TABLE hand RENAME a TO c;
ALTER TABLE hand RENAME b TO c;
CREATE OR REPLACE TRIGGER capture AFTER INSERT ON hand FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"entity_id": "number", "exclude": ["number", "a"]}');
ALTER TABLE hand DROP COLUMN b;
DROP TRIGGER capture ON hand;
ALTER TABLE hand DROP COLUMN number, DROP COLUMN b;

-- One that did not work before does not stand in the way of what mends it.
CREATE TABLE broken (id int PRIMARY KEY, a int, b int, c int);
CREATE TRIGGER no_json AFTER INSERT ON broken FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"columns": ');
CREATE TRIGGER no_key AFTER INSERT ON broken FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"colums": ["a"]}');
CREATE TRIGGER no_rule AFTER INSERT ON broken FOR EACH ROW EXECUTE FUNCTION outbox.capture();
CREATE TRIGGER no_column AFTER INSERT ON broken FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"columns": ["x", "y", "b"]}');
ALTER TABLE broken RENAME a TO x;
ALTER TABLE broken DROP COLUMN c;
ALTER TABLE broken ADD COLUMN y int;
ALTER TABLE broken RENAME x TO a;
-- Disabled, it may be enabled again.
ALTER TABLE broken DISABLE TRIGGER no_column;
ALTER TABLE broken RENAME x TO a;
DROP TRIGGER no_column ON broken;
ALTER TABLE broken RENAME x TO a;

-- Tables that inherit, partitions, tables of a type: the command names another one.
CREATE TABLE parent (id int, a int, b int);
CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent);
CREATE TABLE grandchild (PRIMARY KEY (id)) INHERITS (child);
SELECT outbox.track('grandchild', '{"columns": ["a"]}') IS NOT NULL AS tracked;
ALTER TABLE parent RENAME a TO c;
ALTER TABLE parent DROP COLUMN a;
ALTER TABLE parent RENAME b TO c;
ALTER TABLE parent DROP COLUMN c;
CREATE TABLE parted (id int, a int, b int, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (10);
SELECT outbox.track('parted', '{"columns": ["a"]}') IS NOT NULL AS tracked;
ALTER TABLE parted RENAME a TO c;
ALTER TABLE parted DROP COLUMN a;
ALTER TABLE parted RENAME b TO c;
ALTER TABLE parted DROP COLUMN c;
CREATE TYPE shape AS (id int, a int, b int);
CREATE TABLE typed OF shape (PRIMARY KEY (id));
SELECT outbox.track('typed', '{"columns": ["a"]}') IS NOT NULL AS tracked;
ALTER TYPE shape RENAME ATTRIBUTE a TO c CASCADE;
ALTER TYPE shape DROP ATTRIBUTE a CASCADE;
ALTER TYPE shape RENAME ATTRIBUTE b TO c CASCADE;
ALTER TYPE shape ALTER ATTRIBUTE a TYPE bigint CASCADE;
ALTER TYPE shape DROP ATTRIBUTE c CASCADE;
INSERT INTO typed VALUES (1, 1);
SELECT payload -> 'data' AS data FROM seen WHERE entity_type = 'typed';

-- A column that goes with its type.
CREATE DOMAIN short AS text;
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE of_types (id int PRIMARY KEY, s short, m mood);
SELECT outbox.track('of_types', '{"ordering_key": "s", "columns": ["id"]}') IS NOT NULL AS tracked;
DROP DOMAIN short CASCADE;
DROP TYPE mood CASCADE;
SELECT attname FROM pg_attribute WHERE attrelid = 'of_types'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum;

-- What is dropped as a whole takes its rule along.
CREATE TABLE whole (id int PRIMARY KEY, a int, s short);
SELECT outbox.track('whole', '{"columns": ["a"], "ordering_key": "s"}') IS NOT NULL AS tracked;
BEGIN;
DROP TABLE whole;
ROLLBACK;
BEGIN;
DROP SCHEMA guard CASCADE;
ROLLBACK;
BEGIN;
DROP EXTENSION outbox_relay CASCADE;
ALTER TABLE whole RENAME a TO b;
ALTER TABLE whole DROP COLUMN b;
ROLLBACK;
CREATE TABLE of_column (id int PRIMARY KEY, a int);
CREATE TRIGGER capture AFTER UPDATE OF a ON of_column FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"columns": ["a"]}');
ALTER TABLE of_column DROP COLUMN a CASCADE;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'of_column'::regclass;

-- Whoever owns the table, without any privilege on the extension.
CREATE ROLE regress_outbox_owner;
GRANT USAGE, CREATE ON SCHEMA guard TO regress_outbox_owner;
ALTER TABLE whole OWNER TO regress_outbox_owner;
SET ROLE regress_outbox_owner;
ALTER TABLE whole RENAME a TO b;
ALTER TABLE whole DROP COLUMN a;
ALTER TABLE whole ADD COLUMN c int, ALTER COLUMN a TYPE bigint;
ALTER TABLE whole RENAME c TO d;
ALTER TABLE whole DROP COLUMN d;
CREATE TABLE untracked (a int, b int);
ALTER TABLE untracked RENAME a TO c;
ALTER TABLE untracked ALTER COLUMN c TYPE text;
ALTER TABLE untracked DROP COLUMN c;
DROP TABLE untracked;
RESET ROLE;

-- Not a function to call.
SELECT outbox.guard_rules();
-- A superuser may switch the guard off; then the table's next change says what is wrong, and is not lost.
BEGIN;
ALTER EVENT TRIGGER outbox_guard_rules DISABLE;
ALTER TABLE whole RENAME a TO b;
INSERT INTO whole VALUES (1, 1);
ROLLBACK;

DROP SCHEMA guard CASCADE;
DROP ROLE regress_outbox_owner;
