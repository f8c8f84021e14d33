-- Triggers switched off, and sessions that replicate.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;

CREATE SCHEMA off;
SET search_path = off;
CREATE TABLE t (id serial PRIMARY KEY, what text);
SELECT outbox.track('t') IS NOT NULL AS tracked;

-- One trigger, all of the user's, all.
ALTER TABLE t DISABLE TRIGGER "!outbox_capture";
INSERT INTO t (what) VALUES ('off');
TRUNCATE t;
ALTER TABLE t ENABLE TRIGGER "!outbox_capture";
ALTER TABLE t DISABLE TRIGGER USER;
INSERT INTO t (what) VALUES ('off');
TRUNCATE t;
ALTER TABLE t ENABLE TRIGGER USER;
ALTER TABLE t DISABLE TRIGGER ALL;
INSERT INTO t (what) VALUES ('off');
SELECT enabled FROM outbox.rules WHERE target = 't'::regclass;
ALTER TABLE t ENABLE TRIGGER ALL;
INSERT INTO t (what) VALUES ('on');
-- For a while, in a transaction that is rolled back.
BEGIN;
ALTER TABLE t DISABLE TRIGGER ALL;
ROLLBACK;
INSERT INTO t (what) VALUES ('on');
SELECT event_type, payload -> 'data' ->> 'what' AS what FROM seen WHERE entity_type = 't' ORDER BY id;

-- origin, local and replica; a plain trigger, ENABLE REPLICA, ENABLE ALWAYS.
CREATE TABLE plain (role text PRIMARY KEY);
CREATE TABLE replica (role text PRIMARY KEY);
CREATE TABLE always (role text PRIMARY KEY);
SELECT outbox.track(x::regclass) IS NOT NULL AS tracked FROM unnest(ARRAY['plain', 'replica', 'always']) x;
ALTER TABLE replica ENABLE REPLICA TRIGGER "!outbox_capture";
ALTER TABLE always ENABLE ALWAYS TRIGGER "!outbox_capture";
CREATE FUNCTION in_each() RETURNS void LANGUAGE sql AS $$
    INSERT INTO plain VALUES (current_setting('session_replication_role'));
    INSERT INTO replica VALUES (current_setting('session_replication_role'));
    INSERT INTO always VALUES (current_setting('session_replication_role'));
$$;
SELECT in_each();
SET session_replication_role = local;
SELECT in_each();
SET session_replication_role = replica;
SELECT in_each();
-- In a session that has changed the table before, too.
SET session_replication_role = origin;
UPDATE plain SET role = role || ' again';
SET session_replication_role = replica;
UPDATE plain SET role = role || ' again';
RESET session_replication_role;
SELECT event_type, entity_id FROM seen WHERE entity_type IN ('plain', 'replica', 'always') ORDER BY entity_type, id;
-- Another rule does not change when they fire.
SELECT outbox.track('always', '{"entity": "forever"}') IS NOT NULL AS tracked;
SELECT target, enabled FROM outbox.rules WHERE target::text IN ('plain', 'replica', 'always') ORDER BY 1;

-- A partition's trigger may be switched off by itself.
CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE p_0 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (10) TO (20);
SELECT outbox.track('p') IS NOT NULL AS tracked;
ALTER TABLE p_0 DISABLE TRIGGER "!outbox_capture";
INSERT INTO p VALUES (1), (11);
ALTER TABLE p ENABLE TRIGGER "!outbox_capture";
INSERT INTO p VALUES (2), (12);
SELECT entity_id FROM seen WHERE entity_type = 'p' ORDER BY id;

DROP SCHEMA off CASCADE;
