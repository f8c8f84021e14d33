-- Partitioned tables: the parent is tracked, its partitions are captured; inheritance is not followed.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
CREATE SCHEMA parts;
SET search_path = parts;

CREATE TABLE reading (region text, id int, v int, deleted_at date, PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE reading_eu PARTITION OF reading FOR VALUES IN ('eu');
CREATE TABLE reading_us (deleted_at date, v int, id int NOT NULL, region text NOT NULL, PRIMARY KEY (region, id));
ALTER TABLE reading ATTACH PARTITION reading_us FOR VALUES IN ('us');
SELECT outbox.track('reading') - 'verbs' AS rule;
CREATE TABLE reading_asia PARTITION OF reading FOR VALUES IN ('jp', 'kr') PARTITION BY LIST (region);
CREATE TABLE reading_jp PARTITION OF reading_asia FOR VALUES IN ('jp');

INSERT INTO reading VALUES ('eu', 1, 10), ('us', 2, 20), ('jp', 3, 30);
UPDATE reading SET v = v + 1;
-- A row that moves is deleted here and created there.
UPDATE reading SET region = 'us' WHERE id = 1;
-- A partition changed by its own name is captured too.
UPDATE reading_jp SET v = 99;
DELETE FROM reading WHERE id = 2;
-- A soft-deleted row that moves was deleted already.
UPDATE reading SET deleted_at = '2024-01-01' WHERE id = 3;
DELETE FROM reading WHERE id = 3;
TRUNCATE reading;
SELECT event_type, entity_id, payload FROM seen WHERE entity_type = 'reading' ORDER BY id;

-- One rule, one trigger: the partitions' copies are not listed, nor can a partition be tracked apart.
SELECT target, trigger_name FROM outbox.rules WHERE target::text LIKE 'reading%' OR target::text LIKE 'parts.%';
SELECT outbox.track('reading_eu');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.untrack('reading_jp', true);

-- Another rule reaches the partitions; so does the end of tracking.
SELECT outbox.track('reading', '{"entity": "reading2", "columns": ["v"]}') IS NOT NULL AS tracked;
INSERT INTO reading VALUES ('eu', 1, 10), ('us', 2, 20), ('jp', 3, 30);
ALTER TABLE reading DETACH PARTITION reading_us;
INSERT INTO reading_us (region, id, v) VALUES ('us', 4, 40);
ALTER TABLE reading ATTACH PARTITION reading_us FOR VALUES IN ('us');
INSERT INTO reading VALUES ('us', 5, 50);
SELECT outbox.untrack('reading');
INSERT INTO reading VALUES ('jp', 6, 60);
SELECT event_type, entity_id, payload FROM seen WHERE entity_type = 'reading2' ORDER BY id;

-- A partition that was tracked by itself is taken over by its parent.
SELECT outbox.track('reading_eu', '{"entity": "eu"}') IS NOT NULL AS tracked;
INSERT INTO reading VALUES ('eu', 7, 70);
SELECT outbox.track('reading', '{"entity": "reading3"}') IS NOT NULL AS tracked;
INSERT INTO reading VALUES ('eu', 8, 80);
SELECT event_type, entity_id FROM seen WHERE entity_type IN ('eu', 'reading3') ORDER BY id;

-- A hand-written rule that names no entity: the table it was written for, in every partition.
CREATE TABLE metric (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
CREATE TABLE metric_a PARTITION OF metric FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id);
CREATE TABLE metric_a1 PARTITION OF metric_a FOR VALUES FROM (0) TO (5);
CREATE TABLE metric_b PARTITION OF metric FOR VALUES FROM (10) TO (20);
CREATE TRIGGER capture AFTER INSERT OR UPDATE OR DELETE ON metric FOR EACH ROW EXECUTE FUNCTION outbox.capture('{}');
INSERT INTO metric VALUES (1, 1), (11, 1);
SELECT event_type, entity_type, entity_id FROM seen WHERE entity_type LIKE 'metric%' ORDER BY id;

-- Inheritance: a child table is a table of its own.
CREATE TABLE base (id int PRIMARY KEY, v int);
CREATE TABLE derived (extra text, PRIMARY KEY (id)) INHERITS (base);
SELECT outbox.track('base') IS NOT NULL AS tracked;
INSERT INTO base VALUES (1, 1);
INSERT INTO derived VALUES (2, 2, 'x');
UPDATE base SET v = v + 1;
SELECT event_type, entity_id FROM seen WHERE entity_type IN ('base', 'derived') ORDER BY id;

SET client_min_messages = warning;
DROP SCHEMA parts CASCADE;
