-- Rules with on_failure "record": a change goes on without an event that cannot be made, and the failure is kept.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT event_type, entity_id FROM outbox.event WHERE id > :start ORDER BY id;
CREATE TEMP VIEW failures AS
    SELECT target, operation, row_key, row_data, sqlstate, message FROM outbox.capture_failure ORDER BY id;
CREATE SCHEMA failing;
SET search_path = failing;
CREATE TABLE divisor (n int);
INSERT INTO divisor VALUES (0);

-- The default is to fail.
CREATE TABLE strict (id int PRIMARY KEY);
SELECT outbox.track('strict', '{"enrich": {"q": "SELECT 100 / n FROM failing.divisor"}}') ->> 'on_failure' AS on_failure;
INSERT INTO strict VALUES (1);

-- One warning for each statement, one failure for each row; what is excluded is not kept, but for the key.
CREATE TABLE lax (id int PRIMARY KEY, name text, secret text);
SELECT outbox.track('lax', '{"on_failure": "record", "columns": ["name"], "max_event_size": 60, "on_oversize": "block"}')
       ->> 'on_failure' AS on_failure;
INSERT INTO lax SELECT i, repeat('x', i % 2 * 30), 's' FROM generate_series(1, 4) AS i;
UPDATE lax SET name = repeat('y', 30) WHERE id = 1;
DELETE FROM lax WHERE id = 3;
SELECT * FROM seen;
SELECT * FROM failures;
SELECT count(DISTINCT id) = count(*) AS ids_differ, bool_and(xid < pg_current_xact_id()) AS xid_is_set,
       bool_and(failed_at > now() - interval '1 hour') AS dated, bool_and(detail LIKE 'Its payload has % bytes%') AS detail,
       bool_and(hint LIKE 'Exclude large columns%') AS hint
  FROM outbox.capture_failure;
SELECT events, failures, last_failure > last_event AS failed_last FROM outbox.capture_stats() WHERE target = 'lax'::regclass;

-- What is rolled back has not failed.
BEGIN;
INSERT INTO lax VALUES (11, repeat('x', 30));
SAVEPOINT inner_work;
INSERT INTO lax VALUES (12, repeat('x', 30)), (13, 'short');
ROLLBACK TO inner_work;
SAVEPOINT inner_work;
INSERT INTO lax VALUES (14, repeat('x', 30)), (15, 'short');
RELEASE inner_work;
COMMIT;
BEGIN;
INSERT INTO lax VALUES (16, repeat('x', 30)), (17, 'short');
ROLLBACK;
SELECT row_key FROM failures OFFSET 4;
SELECT events, failures FROM outbox.capture_stats() WHERE target = 'lax'::regclass;

-- A large update uses no transaction id for each of its rows, whether their events fail or not. (Others may use some.)
CREATE TABLE many (id int PRIMARY KEY, n int);
INSERT INTO many SELECT i, 0 FROM generate_series(1, 2000) AS i;
SELECT outbox.track('many', '{"on_failure": "record", "enrich": {"q": "100 / $1.n"}}') IS NOT NULL AS tracked;
BEGIN;
SELECT pg_current_xact_id() AS before \gset
UPDATE many SET n = 1;
UPDATE many SET n = 0;
COMMIT;
SELECT pg_current_xact_id()::text::bigint - :'before' < 100 AS few_used;
SELECT count(DISTINCT xmin::text) AS transactions FROM outbox.event WHERE id > :start AND entity_type = 'many';
SELECT events, failures FROM outbox.capture_stats() WHERE target = 'many'::regclass;

-- A rule that does not fit its table any more is a failure as well, if its text can be read.
CREATE TABLE by_hand (id int PRIMARY KEY);
CREATE TRIGGER captured AFTER INSERT OR UPDATE OR DELETE ON by_hand
    FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"on_failure": "record", "ordering_key": "gone"}');
INSERT INTO by_hand VALUES (1);
SELECT * FROM failures WHERE target = 'by_hand'::regclass;
CREATE OR REPLACE TRIGGER captured AFTER INSERT OR UPDATE OR DELETE ON by_hand
    FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"on_failure": "record", "orderingkey": "id"}');
INSERT INTO by_hand VALUES (2);

-- A key that is null does not say which row it is; the primary key does. A TRUNCATE is not recorded: it fails.
CREATE TABLE nullable (id int PRIMARY KEY, code text);
SELECT outbox.track('nullable', '{"on_failure": "record", "entity_id": "code"}') IS NOT NULL AS tracked;
INSERT INTO nullable VALUES (1, NULL);
SELECT * FROM failures WHERE target = 'nullable'::regclass;
CREATE TRIGGER captured_truncate AFTER TRUNCATE ON by_hand
    FOR EACH STATEMENT EXECUTE FUNCTION outbox.capture('{"on_failure": "record", "schema_version": "1", "initiator_type_setting": "data_directory"}');
TRUNCATE by_hand;
-- It needs nothing of the rule but names: a rule that fits the rows no more is no reason to fail.
CREATE OR REPLACE TRIGGER captured_truncate AFTER TRUNCATE ON by_hand
    FOR EACH STATEMENT EXECUTE FUNCTION outbox.capture('{"ordering_key": "gone", "enrich": {"x": "no SQL at all"}, "schema_version": "7"}');
TRUNCATE by_hand;
SELECT event_type, entity_type, entity_id, payload, schema_version FROM outbox.event ORDER BY id DESC LIMIT 1;

-- What says nothing about the event is raised: a serialization failure, a cancel.
CREATE FUNCTION raise(state text) RETURNS int LANGUAGE plpgsql STABLE AS $$BEGIN
    RAISE EXCEPTION 'raised' USING ERRCODE = state; END$$;
CREATE TABLE raising (state text PRIMARY KEY);
SELECT outbox.track('raising', '{"on_failure": "record", "enrich": {"q": "failing.raise($1.state)"}}') IS NOT NULL AS tracked;
INSERT INTO raising VALUES ('40001');
INSERT INTO raising VALUES ('40P01');
INSERT INTO raising VALUES ('57014');
INSERT INTO raising VALUES ('53200');
INSERT INTO raising VALUES ('57P01');
INSERT INTO raising VALUES ('P0001');
SELECT state FROM raising;

-- Replication's role does not keep a failure from being written.
ALTER TABLE lax ENABLE ALWAYS TRIGGER "!outbox_capture";
SET session_replication_role = replica;
INSERT INTO lax VALUES (21, repeat('x', 30));
RESET session_replication_role;
SELECT count(*) FROM failures WHERE target = 'lax'::regclass AND row_key = '{"id": "21"}';

-- Who writes needs no privilege on the failures.
CREATE ROLE regress_outbox_writer;
GRANT USAGE ON SCHEMA failing TO regress_outbox_writer;
GRANT INSERT ON lax TO regress_outbox_writer;
SET ROLE regress_outbox_writer;
INSERT INTO lax VALUES (22, repeat('x', 30));
SELECT count(*) FROM outbox.capture_failure;
RESET ROLE;
SELECT count(*) FROM failures WHERE target = 'lax'::regclass AND row_key = '{"id": "22"}';

-- What a table owes goes with it, and whoever drops it is told; also of partitions, and by whoever may not see the failures.
CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (10) TO (20);
SELECT outbox.track('parted', '{"on_failure": "record", "enrich": {"q": "1 / ($1.id - $1.id)"}}') IS NOT NULL AS tracked;
SET client_min_messages = error;
INSERT INTO parted SELECT generate_series(8, 12);
SET client_min_messages = warning;
SELECT count(*) AS before FROM outbox.capture_failure \gset
BEGIN;
DROP SCHEMA failing CASCADE;
SELECT count(*) FROM outbox.capture_failure;
ROLLBACK;
SELECT count(*) = :before AS kept FROM outbox.capture_failure;
ALTER TABLE parted OWNER TO regress_outbox_writer;
ALTER TABLE parted_0 OWNER TO regress_outbox_writer;
ALTER SCHEMA failing OWNER TO regress_outbox_writer;
SET ROLE regress_outbox_writer;
\set VERBOSITY default
DROP TABLE parted_0;
\set VERBOSITY terse
DROP TABLE parted;
RESET ROLE;
SELECT count(*) = :before - 5 AS dropped FROM outbox.capture_failure;

DELETE FROM outbox.capture_failure;
DROP SCHEMA failing CASCADE;
DROP ROLE regress_outbox_writer;
SELECT count(*) FROM outbox.capture_stats() WHERE target::text LIKE 'failing%';
