-- Statements that change nothing leave no event; one that names a row twice changes it once.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;

CREATE SCHEMA same;
SET search_path = same;

CREATE TABLE t (id int PRIMARY KEY, n int UNIQUE, s text);
SELECT outbox.track('t') IS NOT NULL AS tracked;
INSERT INTO t SELECT i, i, 'a' FROM generate_series(1, 4) i;
SELECT max(id) AS before FROM seen \gset
UPDATE t SET s = s, n = n;
UPDATE t SET s = 'b' WHERE id = 99;
DELETE FROM t WHERE id = 99;
INSERT INTO t VALUES (1, 1, 'b') ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (1, 1, 'b') ON CONFLICT (id) DO UPDATE SET s = 'b' WHERE t.n = 99;
INSERT INTO t VALUES (1, 1, 'b') ON CONFLICT (id) DO UPDATE SET s = t.s;
INSERT INTO t SELECT * FROM t WHERE false;
MERGE INTO t USING (VALUES (1), (99)) AS m (id) ON t.id = m.id
    WHEN MATCHED AND t.n = 99 THEN DELETE WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN DO NOTHING;
UPDATE t SET s = 'b' FROM (VALUES (99)) AS f (id) WHERE t.id = f.id;
SELECT count(*) FROM (SELECT * FROM t FOR UPDATE) locked;
INSERT INTO t VALUES (5, 5, 'b'), (6, 1, 'fails');
UPDATE t SET n = 1;
SELECT count(*) FROM seen WHERE id > :before;

-- One change, however often the statement names the row.
UPDATE t SET s = f.s FROM (VALUES (1, 'c'), (1, 'c')) AS f (id, s) WHERE t.id = f.id;
DELETE FROM t USING (VALUES (2), (2)) AS f (id) WHERE t.id = f.id;
WITH first AS (UPDATE t SET n = 33 WHERE id = 3) UPDATE t SET n = 34 WHERE id = 3;
WITH first AS (DELETE FROM t WHERE id = 4) UPDATE t SET s = 'not any more' WHERE id = 4;
SELECT event_type, entity_id, payload -> 'previous_attributes' AS previous FROM seen WHERE id > :before ORDER BY id;
SELECT count(*) FROM t WHERE id = 4;
-- Two changes of a row in one transaction are two events, also if the second takes the first back.
SELECT max(id) AS before FROM seen \gset
BEGIN;
UPDATE t SET s = 'd' WHERE id = 1;
UPDATE t SET s = 'c' WHERE id = 1;
DELETE FROM t WHERE id = 1;
INSERT INTO t VALUES (1, 1, 'c');
COMMIT;
SELECT event_type, payload -> 'data' -> 's' AS s, payload -> 'previous_attributes' AS previous FROM seen WHERE id > :before ORDER BY id;

-- What is no change of rows to the server fires no trigger: a table rewritten, its values converted, or dropped.
SELECT max(id) AS before FROM seen \gset
ALTER TABLE t ADD COLUMN more int DEFAULT 5;
ALTER TABLE t ALTER COLUMN n TYPE text USING 'n' || n;
ALTER TABLE t DROP COLUMN more;
VACUUM FULL t;
CLUSTER t USING t_pkey;
CREATE TABLE taken AS SELECT * FROM t;
BEGIN;
DROP TABLE t;
ROLLBACK;
SELECT count(*) FROM seen WHERE id > :before;

DROP SCHEMA same CASCADE;
