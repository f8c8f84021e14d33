-- Foreign keys: rows that the server changes by itself are captured like any other; constraints may wait for the commit.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;

CREATE SCHEMA fk;
SET search_path = fk;

-- ON UPDATE and ON DELETE, each action.
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE follows (id int PRIMARY KEY, parent int REFERENCES parent ON UPDATE CASCADE ON DELETE CASCADE);
CREATE TABLE forgets (id int PRIMARY KEY, parent int REFERENCES parent ON UPDATE SET NULL ON DELETE SET NULL);
CREATE TABLE falls_back (id int PRIMARY KEY, parent int DEFAULT 0 REFERENCES parent ON UPDATE SET DEFAULT ON DELETE SET DEFAULT);
CREATE TABLE stays (id int PRIMARY KEY, parent int REFERENCES parent);
SELECT outbox.track(x::regclass) IS NOT NULL AS tracked FROM unnest(ARRAY['parent', 'follows', 'forgets', 'falls_back', 'stays']) x;
INSERT INTO parent VALUES (0), (1), (3);
INSERT INTO follows VALUES (10, 1), (11, 1);
INSERT INTO forgets VALUES (20, 1);
INSERT INTO falls_back VALUES (30, 1);
INSERT INTO stays VALUES (40, 3);
SELECT max(id) AS before FROM seen \gset
UPDATE parent SET id = 2 WHERE id = 1;
SELECT event_type, payload -> 'data' AS data, payload -> 'previous_attributes' AS previous FROM seen WHERE id > :before ORDER BY id;
UPDATE forgets SET parent = 2;
UPDATE falls_back SET parent = 2;
SELECT max(id) AS before FROM seen \gset
DELETE FROM parent WHERE id = 2;
SELECT event_type, payload -> 'data' AS data, payload -> 'previous_attributes' AS previous FROM seen WHERE id > :before ORDER BY id;
-- Refused: nothing of the statement was captured.
SELECT max(id) AS before FROM seen \gset
DELETE FROM parent WHERE id = 3;
SELECT count(*) FROM seen WHERE id > :before;

-- A tree in one table: each row once.
CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON DELETE CASCADE);
SELECT outbox.track('tree') IS NOT NULL AS tracked;
INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 1), (4, 2), (5, 4);
DELETE FROM tree WHERE id IN (1, 4);
SELECT event_type, count(*), count(DISTINCT entity_id) FROM seen WHERE entity_type = 'tree' GROUP BY 1 ORDER BY 1;
-- What a cascade changes waits behind the statement's own changes: its events are in order, unlike a trigger's (capture_triggers).
CREATE TABLE chain (id int PRIMARY KEY, up int REFERENCES chain ON UPDATE CASCADE);
SELECT outbox.track('chain') IS NOT NULL AS tracked;
INSERT INTO chain VALUES (1, NULL), (2, 1);
UPDATE chain SET id = id + 10;
SELECT payload -> 'data' AS data, payload -> 'previous_attributes' AS previous FROM seen WHERE event_type = 'chain.updated' ORDER BY id;
TABLE chain ORDER BY id;

-- Constraints that wait for the commit: its failure takes the events along.
CREATE TABLE waiting (id int PRIMARY KEY, parent int REFERENCES parent DEFERRABLE INITIALLY DEFERRED, place int UNIQUE DEFERRABLE INITIALLY DEFERRED);
SELECT outbox.track('waiting') IS NOT NULL AS tracked;
BEGIN;
INSERT INTO waiting VALUES (1, 99, 1);
SELECT entity_id FROM seen WHERE entity_type = 'waiting';
COMMIT;
BEGIN;
INSERT INTO waiting VALUES (2, 98, 1), (3, NULL, 2);
INSERT INTO parent VALUES (98);
UPDATE waiting SET place = 3 - place;
COMMIT;
SELECT event_type, entity_id, payload -> 'data' -> 'place' AS place FROM seen WHERE entity_type = 'waiting' ORDER BY id;
-- A constraint trigger that writes at the commit: its changes are part of it.
CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE waiting SET place = 100 WHERE id = NEW.id;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON waiting DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION at_commit();
INSERT INTO waiting VALUES (4, NULL, 4);
SELECT event_type, payload -> 'data' -> 'place' AS place FROM seen WHERE entity_type = 'waiting' AND entity_id = '4' ORDER BY id;

-- TRUNCATE takes the tables that refer along.
CREATE TABLE kept (id int PRIMARY KEY);
CREATE TABLE refers (id int PRIMARY KEY, kept int REFERENCES kept);
SELECT outbox.track(x::regclass) IS NOT NULL AS tracked FROM unnest(ARRAY['kept', 'refers']) x;
BEGIN;
TRUNCATE kept CASCADE;
ROLLBACK;
TRUNCATE kept CASCADE;
SELECT event_type FROM seen WHERE entity_type IN ('kept', 'refers') ORDER BY event_type;

DROP SCHEMA fk CASCADE;
