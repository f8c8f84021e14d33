-- Rows that move between partitions, and partitions that come and go with their rows.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;

CREATE SCHEMA moves;
SET search_path = moves;

-- By every statement that can move one, across levels of partitions and other column orders: deleted, then created.
CREATE TABLE m (id int, region text, v int, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE m_a PARTITION OF m FOR VALUES IN ('a');
CREATE TABLE m_b (v int, gone int, region text NOT NULL, id int NOT NULL);
ALTER TABLE m_b DROP COLUMN gone;
ALTER TABLE m ATTACH PARTITION m_b FOR VALUES IN ('b');
CREATE TABLE m_rest PARTITION OF m DEFAULT PARTITION BY HASH (id);
CREATE TABLE m_rest_0 PARTITION OF m_rest FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE m_rest_1 PARTITION OF m_rest FOR VALUES WITH (MODULUS 2, REMAINDER 1);
-- A foreign key that refers to it adds triggers of the server's own to a move.
CREATE TABLE refers (id int PRIMARY KEY, m_id int, m_region text, FOREIGN KEY (m_id, m_region) REFERENCES m ON UPDATE CASCADE ON DELETE CASCADE);
SELECT outbox.track(x::regclass) IS NOT NULL AS tracked FROM unnest(ARRAY['m', 'refers']) x;
INSERT INTO m SELECT i, 'a', i FROM generate_series(1, 5) i;
INSERT INTO refers VALUES (1, 1, 'a');
SELECT max(id) AS before FROM seen \gset
UPDATE m SET region = 'b' WHERE id = 1;
UPDATE m SET region = 'elsewhere', v = 20 FROM (VALUES (2)) AS f (id) WHERE m.id = f.id;
MERGE INTO m USING (VALUES (3)) AS f (id) ON m.id = f.id WHEN MATCHED THEN UPDATE SET region = 'b';
UPDATE m SET region = 'a' WHERE id = 2;
WITH moved AS (UPDATE m SET region = 'b' WHERE id = 4 RETURNING id) UPDATE m SET v = 0 FROM moved WHERE m.id = 5;
SELECT event_type, entity_id, payload -> 'data' AS data, payload -> 'previous_attributes' AS previous FROM seen WHERE id > :before ORDER BY id;
SELECT tableoid::regclass, * FROM m ORDER BY id;
-- Not moved after all.
SELECT max(id) AS before FROM seen \gset
BEGIN;
UPDATE m SET region = 'a';
ROLLBACK;
UPDATE m_a SET region = 'b' WHERE id = 5;
SELECT count(*) FROM seen WHERE id > :before;

-- COPY and INSERT ... SELECT sort rows into partitions.
SELECT max(id) AS before FROM seen \gset
COPY m FROM stdin;
11	a	1
12	b	2
13	x	3
\.
INSERT INTO m SELECT id + 10, region, v FROM m WHERE id > 10;
INSERT INTO m VALUES (11, 'a', 5), (31, 'a', 6) ON CONFLICT (id, region) DO UPDATE SET v = excluded.v;
SELECT event_type, entity_id, payload -> 'data' -> 'v' AS v FROM seen WHERE id > :before ORDER BY id;

-- Attaching and detaching a partition moves no row: no event. Its rows are captured while it is a partition.
CREATE TABLE m_c (id int NOT NULL, region text NOT NULL, v int);
INSERT INTO m_c VALUES (41, 'c', 1), (42, 'c', 2);
SELECT max(id) AS before FROM seen \gset
UPDATE m_c SET v = 0;
ALTER TABLE m ATTACH PARTITION m_c FOR VALUES IN ('c');
SELECT count(*) FROM seen WHERE id > :before;
UPDATE m_c SET v = 3 WHERE id = 41;
UPDATE m SET v = 4 WHERE id = 42;
ALTER TABLE m DETACH PARTITION m_c;
UPDATE m_c SET v = 5;
SELECT event_type, entity_id, payload -> 'data' -> 'v' AS v FROM seen WHERE id > :before ORDER BY id;
-- A partition that is tracked by itself joins a tracked table: one trigger, one event.
SELECT outbox.track('m_c', '{"entity": "alone", "entity_id": "id"}') IS NOT NULL AS tracked;
ALTER TABLE m ATTACH PARTITION m_c FOR VALUES IN ('c');
SELECT outbox.untrack('m_c');
ALTER TABLE m ATTACH PARTITION m_c FOR VALUES IN ('c');
SELECT max(id) AS before FROM seen \gset
UPDATE m SET v = 6 WHERE id = 41;
-- Truncated by its own name, a partition's rows go without an event; so they do if it is dropped.
DROP TABLE refers;
TRUNCATE m_c;
DROP TABLE m_c;
TRUNCATE m;
SELECT event_type, entity_id FROM seen WHERE id > :before ORDER BY id;

-- DETACH CONCURRENTLY, in the two transactions that it takes.
CREATE TABLE d (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
CREATE TABLE d_0 PARTITION OF d FOR VALUES FROM (0) TO (10);
SELECT outbox.track('d') IS NOT NULL AS tracked;
INSERT INTO d VALUES (1, 1);
ALTER TABLE d DETACH PARTITION d_0 CONCURRENTLY;
INSERT INTO d_0 VALUES (2, 2);
UPDATE d_0 SET v = 3;
SELECT event_type, entity_id FROM seen WHERE entity_type = 'd' ORDER BY id;

-- A move that a trigger of the new partition swallows is a delete. A soft-deleted row that moves is no delete any more;
-- it is created in its new place, and its data says that it is deleted.
CREATE TABLE s (id int, region text, deleted_at date, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE s_a PARTITION OF s FOR VALUES IN ('a');
CREATE TABLE s_b PARTITION OF s FOR VALUES IN ('b');
CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER swallow BEFORE INSERT ON s_b FOR EACH ROW WHEN (NEW.id = 1) EXECUTE FUNCTION swallow();
SELECT outbox.track('s') IS NOT NULL AS tracked;
INSERT INTO s VALUES (1, 'a', NULL), (2, 'a', NULL);
UPDATE s SET deleted_at = '2024-01-01' WHERE id = 2;
UPDATE s SET region = 'b';
SELECT event_type, payload -> 'data' AS data FROM seen WHERE entity_type = 's' ORDER BY id;

DROP SCHEMA moves CASCADE;
