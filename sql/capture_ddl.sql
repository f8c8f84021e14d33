-- A session that lives long notices what DDL does to the table and to its rule.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
CREATE SCHEMA ddl;
SET search_path = ddl;

CREATE TABLE t (id int PRIMARY KEY, a text);
SELECT outbox.track('t') IS NOT NULL AS tracked;
INSERT INTO t VALUES (1, 'x');
ALTER TABLE t ADD COLUMN b int DEFAULT 5;
UPDATE t SET a = 'y';
ALTER TABLE t RENAME COLUMN a TO "a""2";
UPDATE t SET "a""2" = 'z';
ALTER TABLE t ALTER COLUMN b TYPE text USING 'n' || b;
UPDATE t SET b = 'm';
ALTER TABLE t DROP COLUMN "a""2";
UPDATE t SET b = 'l';
-- The entity stays what it was when the table was tracked.
ALTER TABLE t RENAME TO t_new;
UPDATE t_new SET b = 'k';
SELECT event_type, payload FROM seen WHERE entity_type = 't' ORDER BY id;
SELECT target, rule -> 'entity' AS entity FROM outbox.rules WHERE target = 't_new'::regclass;

-- In one transaction, and undone.
BEGIN;
ALTER TABLE t_new ADD COLUMN c int DEFAULT 1;
UPDATE t_new SET b = 'in the transaction';
SELECT payload -> 'data' AS data FROM seen WHERE entity_type = 't' ORDER BY id DESC LIMIT 1;
ROLLBACK;
UPDATE t_new SET b = 'after it';
SELECT payload -> 'data' AS data FROM seen WHERE entity_type = 't' ORDER BY id DESC LIMIT 1;

-- Another rule, in the same session.
SELECT outbox.track('t_new', '{"entity": "other"}') IS NOT NULL AS tracked;
UPDATE t_new SET b = 'j';
SELECT outbox.untrack('t_new');
UPDATE t_new SET b = 'i';
SELECT outbox.track('t_new', '{"entity": "again"}') IS NOT NULL AS tracked;
UPDATE t_new SET b = 'h';
SELECT event_type, payload FROM seen WHERE entity_type IN ('other', 'again') ORDER BY id;

-- A column that the rule names stays (capture_ddl_guard has the rest of it).
CREATE TABLE named (id int PRIMARY KEY, a text, owner_id int);
SELECT outbox.track('named', '{"initiator_id": "owner_id"}') IS NOT NULL AS tracked;
INSERT INTO named VALUES (1, 'x', 7);
ALTER TABLE named RENAME COLUMN owner_id TO keeper_id;
\echo :LAST_ERROR_SQLSTATE
INSERT INTO named VALUES (2, 'y', 8);
SELECT event_type, entity_id, initiator_id FROM seen WHERE entity_type = 'named' ORDER BY id;

-- A trigger disabled and enabled; sessions that replicate.
ALTER TABLE named DISABLE TRIGGER "!outbox_capture";
INSERT INTO named VALUES (3, 'disabled', 8);
ALTER TABLE named ENABLE TRIGGER "!outbox_capture";
SET session_replication_role = replica;
INSERT INTO named VALUES (4, 'replica', 8);
RESET session_replication_role;
ALTER TABLE named ENABLE ALWAYS TRIGGER "!outbox_capture";
SET session_replication_role = replica;
INSERT INTO named VALUES (5, 'always', 8);
RESET session_replication_role;
SELECT entity_id FROM seen WHERE entity_type = 'named' ORDER BY id;

-- A composite type that grows.
CREATE TYPE place AS (street text);
CREATE TABLE visit (id int PRIMARY KEY, at place);
SELECT outbox.track('visit') IS NOT NULL AS tracked;
INSERT INTO visit VALUES (1, ROW('High St'));
ALTER TYPE place ADD ATTRIBUTE since timestamptz;
SET TimeZone = 'Asia/Tokyo';
INSERT INTO visit VALUES (2, ROW('Low St', '2024-01-01 00:00:00+00'));
RESET TimeZone;
SELECT payload -> 'data' AS data FROM seen WHERE entity_type = 'visit' ORDER BY id;

-- A type's cast to json may run SQL that fires the trigger whose plan is in use, and that replaces it.
CREATE TYPE loud AS ENUM ('a', 'b');
CREATE TABLE nested (id int PRIMARY KEY, l loud);
CREATE FUNCTION loud_to_json(loud) RETURNS json LANGUAGE plpgsql SET search_path = ddl, pg_temp AS $$
BEGIN
    IF $1 = 'a' THEN
        GRANT SELECT ON nested TO pg_monitor;
        INSERT INTO nested VALUES (2, 'b');
    END IF;
    RETURN to_json('cast of ' || $1::text);
END
$$;
CREATE CAST (loud AS json) WITH FUNCTION loud_to_json(loud);
SELECT outbox.track('nested') IS NOT NULL AS tracked;
INSERT INTO nested VALUES (1, 'a');
SELECT entity_id, payload FROM seen WHERE entity_type = 'nested' ORDER BY id;

-- Dropped with the table.
DROP TABLE nested;
SELECT count(*) FROM outbox.rules WHERE rule ->> 'entity' = 'nested';

SET client_min_messages = warning;
DROP SCHEMA ddl CASCADE;
