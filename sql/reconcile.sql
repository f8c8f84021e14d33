-- outbox.reconcile(): the events that are missing.
\set VERBOSITY terse
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
CREATE SCHEMA reconciled;
SET search_path = reconciled;
CREATE TABLE start AS SELECT coalesce(max(id), 0) AS id FROM outbox.event;
CREATE VIEW news AS SELECT event_type, entity_id, payload, headers FROM outbox.event
                     WHERE id > (SELECT max(id) FROM start) ORDER BY id;
CREATE VIEW owed AS SELECT target, operation, row_key, message FROM outbox.capture_failure ORDER BY id;
CREATE TABLE divisor (n int);
INSERT INTO divisor VALUES (0);

CREATE TABLE t (id int PRIMARY KEY, name text, deleted_at timestamptz);
SELECT outbox.track('t', '{"on_failure": "record", "enrich": {"q": "SELECT 100 / n FROM reconciled.divisor"}}') IS NOT NULL AS tracked;
INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 6) AS i;
UPDATE t SET name = 'changed' WHERE id = 2;
DELETE FROM t WHERE id = 3;
UPDATE t SET deleted_at = '2026-01-01Z' WHERE id = 4;
SELECT count(*) FROM owed;
SET client_min_messages = notice;

-- As long as the cause is there, all are kept.
SELECT * FROM outbox.reconcile('t');
SELECT count(*) FROM owed;

-- One event for each row: as it is now, or what it was. The log knows already that row 5 is gone.
UPDATE divisor SET n = 10;
DELETE FROM t WHERE id = 5;
UPDATE t SET name = 'changed later' WHERE id = 6;
INSERT INTO start SELECT max(id) FROM outbox.event;
SELECT entity_id, event_type, reason, event_id IS NOT NULL AS has_event_id FROM outbox.reconcile('t');
SELECT * FROM news;
SELECT count(*) FROM owed;
SELECT * FROM outbox.reconcile('t');

-- One that fails again does not stop the others, and is kept with the new error.
CREATE FUNCTION half(n int) RETURNS int LANGUAGE plpgsql STABLE AS $$BEGIN
    IF n % 2 = 0 THEN RAISE EXCEPTION 'row % is even', n; END IF;
    RETURN n / 2; END$$;
SET client_min_messages = error;
SELECT outbox.track('t', '{"on_failure": "record", "enrich": {"q": "100 / ($1.id - $1.id)"}}') IS NOT NULL AS tracked;
INSERT INTO t VALUES (11), (12), (13);
SELECT outbox.track('t', '{"on_failure": "record", "enrich": {"q": "reconciled.half(coalesce($1.id, $2.id))"}}') IS NOT NULL AS tracked;
SET client_min_messages = notice;
SELECT entity_id, event_type, reason FROM outbox.reconcile('t');
SELECT * FROM owed;
DELETE FROM t WHERE id = 12;
SELECT * FROM owed;
SET client_min_messages = error;
SELECT outbox.track('t', '{"on_failure": "record"}') IS NOT NULL AS tracked;
SET client_min_messages = notice;
SELECT entity_id, event_type, reason FROM outbox.reconcile('t');

-- Rows that were changed without an event: with the triggers off. A rule's condition holds here, too.
CREATE TABLE u (id int, part text, state text, updated_at timestamptz DEFAULT clock_timestamp(), deleted_at timestamptz,
                PRIMARY KEY (id, part));
SELECT outbox.track('u', '{"condition": "state <> ''draft''"}') IS NOT NULL AS tracked;
SELECT clock_timestamp() AS since \gset
INSERT INTO u VALUES (1, 'a', 'open'), (2, 'a', 'open'), (3, 'b', 'draft'), (4, 'b', 'open');
ALTER TABLE u DISABLE TRIGGER ALL;
UPDATE u SET state = 'closed', updated_at = clock_timestamp() WHERE id = 2;
UPDATE u SET deleted_at = clock_timestamp(), updated_at = clock_timestamp() WHERE id = 4;
INSERT INTO u VALUES (5, 'c', 'open'), (6, 'c', 'draft');
INSERT INTO u VALUES (7, 'c', 'open', '2020-01-01');
ALTER TABLE u ENABLE TRIGGER ALL;
INSERT INTO start SELECT max(id) FROM outbox.event;
SELECT entity_id, event_type, reason FROM outbox.reconcile('u', :'since');
SELECT event_type, entity_id, payload -> 'data' ->> 'state' AS state, payload -> 'previous_attributes' AS previous, headers FROM news;
SELECT entity_id, event_type, reason FROM outbox.reconcile('u', :'since');

-- Through the partitioned table that is tracked; rows that left the condition are gone.
CREATE TABLE p (id int PRIMARY KEY, state text, changed timestamp) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 (changed timestamp, dropped int, id int NOT NULL, state text);
ALTER TABLE p2 DROP COLUMN dropped;
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20);
SELECT outbox.track('p', '{"on_failure": "record", "condition": "state <> ''draft''", "variant": "SELECT chr(n) FROM reconciled.divisor"}') IS NOT NULL AS tracked;
UPDATE divisor SET n = -1;
SET client_min_messages = error;
INSERT INTO p VALUES (1, 'open', '2026-01-01'), (11, 'open', '2026-01-02');
UPDATE p SET state = 'draft' WHERE id = 11;
SELECT target, operation, row_key FROM owed;
SET client_min_messages = notice;
UPDATE divisor SET n = 80;
SELECT entity_id, event_type, reason FROM outbox.reconcile('p');
SELECT entity_id, event_type, reason FROM outbox.reconcile('p', '2026-01-01', 'changed');
ALTER TABLE p DISABLE TRIGGER ALL;
UPDATE p SET state = 'open', changed = clock_timestamp() AT TIME ZONE 'UTC';
SELECT entity_id, event_type, reason FROM outbox.reconcile('p', '2026-01-01', 'changed') ORDER BY 1;

-- An update that brings a row into the condition is its creation, one that takes it out its end: of the row that met it.
CREATE TABLE q (id int PRIMARY KEY, state text);
SELECT outbox.track('q', '{"on_failure": "record", "condition": "state <> ''secret''", "enrich": {"q": "SELECT 80 / n FROM reconciled.divisor"}}') IS NOT NULL AS tracked;
INSERT INTO q VALUES (1, 'open'), (2, 'secret'), (3, 'open');
UPDATE divisor SET n = 0;
SET client_min_messages = error;
UPDATE q SET state = CASE id WHEN 1 THEN 'secret' ELSE 'shown' END;
SET client_min_messages = notice;
SELECT operation, row_data FROM outbox.capture_failure WHERE target = 'q'::regclass ORDER BY id;
UPDATE divisor SET n = 80;
INSERT INTO start SELECT max(id) FROM outbox.event;
SELECT entity_id, event_type, reason FROM outbox.reconcile('q');
SELECT event_type, payload FROM news;
-- By another rule since: what does not meet its condition is not told, but for the key.
UPDATE divisor SET n = 0;
SET client_min_messages = error;
UPDATE q SET state = 'late' WHERE id = 3;
SELECT outbox.track('q', '{"condition": "state = ''shown''", "enrich": {"q": "1"}}') IS NOT NULL AS tracked;
SET client_min_messages = notice;
INSERT INTO start SELECT max(id) FROM outbox.event;
SELECT entity_id, event_type, reason FROM outbox.reconcile('q');
SELECT event_type, payload FROM news;

-- A link table's rows are told about by their parent's event.
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE link (parent_id int, person int, PRIMARY KEY (parent_id, person));
SELECT outbox.track('link', '{"entity": "parent", "entity_id": "parent_id", "verbs": {"insert": "updated", "delete": "updated"}, "on_failure": "record",
    "data_query": "SELECT id, 100 / n AS q, ARRAY(SELECT person FROM reconciled.link WHERE parent_id = parent.id ORDER BY 1) AS people FROM reconciled.parent, reconciled.divisor WHERE id = coalesce($1.parent_id, $2.parent_id)"}') IS NOT NULL AS tracked;
UPDATE divisor SET n = 0;
SET client_min_messages = error;
INSERT INTO parent VALUES (1), (2);
INSERT INTO link VALUES (1, 7), (2, 7);
DELETE FROM link WHERE parent_id = 2;
SET client_min_messages = notice;
UPDATE divisor SET n = 1;
INSERT INTO start SELECT max(id) FROM outbox.event;
SELECT entity_id, event_type, reason FROM outbox.reconcile('link');
SELECT event_type, entity_id, payload -> 'data' AS data FROM news;

-- Refusals.
SELECT * FROM outbox.reconcile(NULL);
SELECT * FROM outbox.reconcile('t', NULL, NULL);
SELECT * FROM outbox.reconcile('t', now(), NULL);
SELECT * FROM outbox.reconcile('divisor');
SET session_replication_role = replica;
SELECT * FROM outbox.reconcile('t');
RESET session_replication_role;
\set VERBOSITY default
SELECT * FROM outbox.reconcile('t', now());
SELECT * FROM outbox.reconcile('u', now(), 'state');
\set VERBOSITY terse

-- The owner of the table may, with EXECUTE; its SQL runs as the owner's also if a superuser calls.
CREATE ROLE regress_outbox_owner;
CREATE ROLE regress_outbox_other;
GRANT USAGE ON SCHEMA outbox TO regress_outbox_owner, regress_outbox_other;
GRANT EXECUTE ON FUNCTION outbox.reconcile TO regress_outbox_owner, regress_outbox_other;
GRANT USAGE ON SCHEMA reconciled TO regress_outbox_other;
GRANT USAGE, CREATE ON SCHEMA reconciled TO regress_outbox_owner;
CREATE FUNCTION caller(text) RETURNS text LANGUAGE sql STABLE AS 'SELECT current_user::text';
CREATE TABLE o (id int PRIMARY KEY, updated_at timestamptz DEFAULT clock_timestamp());
SELECT outbox.track('o', '{"enrich": {"as": "reconciled.caller('''')"}}') IS NOT NULL AS tracked;
ALTER TABLE o OWNER TO regress_outbox_owner;
ALTER TABLE o DISABLE TRIGGER ALL;
INSERT INTO o VALUES (1);
ALTER TABLE o ENABLE TRIGGER ALL;
SET ROLE regress_outbox_other;
SELECT * FROM outbox.reconcile('o', 'yesterday');
RESET ROLE;
SET ROLE regress_outbox_owner;
SELECT entity_id, event_type FROM outbox.reconcile('o', 'yesterday');
SELECT count(*) FROM outbox.capture_failure;
RESET ROLE;
UPDATE o SET updated_at = clock_timestamp() + interval '1 second';
SELECT entity_id, event_type FROM outbox.reconcile('o', 'yesterday');
SELECT DISTINCT payload -> 'data' ->> 'as' AS "as" FROM outbox.event WHERE entity_type = 'o' AND headers IS NOT NULL;

-- Who made the change is told, as far as the row says it: of rows that are there and of those that are gone.
CREATE TABLE made (id int PRIMARY KEY, changed_by text, updated_at timestamptz DEFAULT clock_timestamp());
SELECT outbox.track('made', '{"on_failure": "record", "initiator_id": "changed_by",
    "enrich": {"q": "SELECT 100 / n FROM reconciled.divisor"}}') IS NOT NULL AS tracked;
UPDATE divisor SET n = 0;
SET client_min_messages = error;
INSERT INTO made VALUES (1, 'ann'), (2, 'bob');
DELETE FROM made WHERE id = 2;
SET client_min_messages = notice;
UPDATE divisor SET n = 10;
ALTER TABLE made DISABLE TRIGGER ALL;
INSERT INTO made VALUES (3, 'eve');
ALTER TABLE made ENABLE TRIGGER ALL;
SELECT entity_id, event_type, reason FROM outbox.reconcile('made', 'yesterday');
SELECT entity_id, initiator_id FROM outbox.event
 WHERE entity_type = 'made' AND id > (SELECT max(id) FROM start) ORDER BY id;

SET client_min_messages = warning;
DELETE FROM outbox.capture_failure;
DROP SCHEMA reconciled CASCADE;
REVOKE ALL ON SCHEMA outbox FROM regress_outbox_owner, regress_outbox_other;
REVOKE ALL ON FUNCTION outbox.reconcile FROM regress_outbox_owner, regress_outbox_other;
DROP ROLE regress_outbox_owner, regress_outbox_other;
