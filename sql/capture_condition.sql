-- The rule keys condition and watch: which changes count.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE SCHEMA conditions;
SET search_path = conditions;
CREATE VIEW written AS SELECT event_type AS type, entity_id AS entity, payload FROM outbox.event WHERE id > :start ORDER BY id;

-- A row that does not meet the condition counts as not there: entering is a create, leaving a delete.
CREATE TABLE asset (id int PRIMARY KEY, kind text, name text, deleted_at timestamptz);
SELECT outbox.track('asset', '{"condition": "kind = ''attachment''"}') ->> 'condition' AS condition;
INSERT INTO asset VALUES (1, 'attachment', 'a'), (2, 'avatar', 'b'), (3, NULL, 'c');
UPDATE asset SET name = upper(name);
UPDATE asset SET kind = 'attachment' WHERE id = 2;
UPDATE asset SET kind = 'avatar', name = 'left' WHERE id = 1;
UPDATE asset SET name = 'unseen' WHERE id IN (1, 3);
DELETE FROM asset WHERE id <> 2;
SELECT * FROM written;

-- Soft deletes: leaving when soft-deleted already is no second delete, and such a row may enter.
BEGIN;
UPDATE asset SET deleted_at = '2025-01-01 00:00+00' WHERE id = 2;
UPDATE asset SET kind = 'avatar' WHERE id = 2;
UPDATE asset SET kind = 'attachment' WHERE id = 2;
SELECT * FROM written OFFSET 4;
ROLLBACK;

-- An operation that is not captured is not, whether a row crosses or not; crossing alone keeps the update trigger.
SELECT outbox.track('asset', '{"condition": "kind = ''attachment''", "verbs": {"update": null}}') IS NOT NULL AS tracked;
UPDATE asset SET name = 'not captured' WHERE id = 2;
UPDATE asset SET kind = 'avatar' WHERE id = 2;
UPDATE asset SET kind = 'attachment' WHERE id = 2;
SELECT type, entity FROM written OFFSET 4;

-- Who made it leave is in the row as it was left, the event's data in the row as it met the condition.
CREATE TABLE owned (id int PRIMARY KEY, kind text, changed_by text);
SELECT outbox.track('owned', '{"condition": "kind = ''a''", "initiator_id": "changed_by"}') IS NOT NULL AS tracked;
INSERT INTO owned VALUES (1, 'a', 'ann');
UPDATE owned SET kind = 'b', changed_by = 'bob';
SELECT event_type, initiator_id, payload -> 'data' ->> 'changed_by' AS changed_by FROM outbox.event WHERE id > :start AND entity_type = 'owned' ORDER BY id;

-- The text of constants is read by fixed settings, and names by the rule's search_path.
CREATE FUNCTION is_early(date) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN $1 < DATE '2025-03-04';
CREATE TABLE day (id date PRIMARY KEY);
SET DateStyle = 'SQL, DMY';
SELECT outbox.track('day', '{"condition": "id > ''02/01/2025'' AND is_early(id)"}') ->> 'search_path' AS search_path;
SET search_path = pg_catalog;
INSERT INTO conditions.day VALUES ('1/2/2025'), ('2/2/2025'), ('4/3/2025');
RESET DateStyle;
SET search_path = conditions;
SELECT entity FROM written WHERE type = 'day.created';

-- Partitions with columns in another order.
CREATE TABLE part (id int, kind text) PARTITION BY RANGE (id);
CREATE TABLE part_1 (kind text, id int);
ALTER TABLE part ATTACH PARTITION part_1 FOR VALUES FROM (0) TO (10);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (10) TO (20);
SELECT outbox.track('part', '{"entity_id": "id", "condition": "kind = ''in''"}') IS NOT NULL AS tracked;
INSERT INTO part VALUES (1, 'in'), (2, 'out'), (11, 'in'), (12, 'out');
SELECT entity FROM written WHERE type = 'part.created';

-- What cannot be a condition.
SELECT outbox.track('asset', '{"condition": "kind ="}');
SELECT outbox.track('asset', '{"condition": "kind"}');
SELECT outbox.track('asset', '{"condition": "kimd = ''a''"}');
SELECT outbox.track('asset', '{"condition": "kind = ''a'', true"}');
SELECT outbox.track('asset', '{"condition": "true FROM day"}');
SELECT outbox.track('asset', '{"condition": "true ORDER BY 1"}');
SELECT outbox.track('asset', '{"condition": "id IN (SELECT 1)"}');
SELECT outbox.track('asset', '{"condition": "count(*) > 1"}');
SELECT outbox.track('asset', '{"condition": "random() > 0.5"}');
SELECT outbox.track('asset', '{"condition": "deleted_at < now()"}');
SELECT outbox.track('asset', '{"condition": "xmin IS NULL"}');
SELECT outbox.track('asset', '{"condition": "asset IS NULL"}');
SELECT outbox.track('asset', '{"condition": "*"}');
SELECT outbox.track('asset', '{"condition": "asset.*"}');
SELECT outbox.track('asset', '{"condition": ""}');
SELECT outbox.track('asset', '{"condition": true}');

-- Functions of a condition: replaced, dropped, in a session that has used them.
CREATE FUNCTION is_big(int) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT $1 > 10';
CREATE TABLE sized (id int PRIMARY KEY, size int);
SELECT outbox.track('sized', '{"condition": "is_big(size)"}') IS NOT NULL AS tracked;
INSERT INTO sized VALUES (1, 5), (2, 15);
CREATE OR REPLACE FUNCTION is_big(int) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT $1 > 2';
INSERT INTO sized VALUES (3, 5);
SELECT entity FROM written WHERE type = 'sized.created';
DROP FUNCTION is_big(int);
INSERT INTO sized VALUES (4, 5);

-- Attributes of composite types that a rule's SQL looks at are guarded as columns are.
CREATE TYPE address AS (city text, zip int);
CREATE TABLE house (id int PRIMARY KEY, at address);
SELECT outbox.track('house', '{"condition": "(at).zip > 0"}') IS NOT NULL AS tracked;
ALTER TYPE address DROP ATTRIBUTE zip;
ALTER TYPE address RENAME ATTRIBUTE zip TO code;
ALTER TYPE address ALTER ATTRIBUTE zip TYPE text;
ALTER TYPE address ADD ATTRIBUTE street text;
ALTER TYPE address DROP ATTRIBUTE city;

-- watch: an update counts if one of these has changed; soft deletes count all the same.
CREATE TABLE doc (id int PRIMARY KEY, title text, body text, seen int, deleted_at timestamptz);
SELECT outbox.track('doc', '{"watch": ["title", "seen"], "exclude": ["seen"]}') -> 'watch' AS watch;
INSERT INTO doc VALUES (1, 'a', 'b', 0, NULL);
UPDATE doc SET body = 'not watched';
UPDATE doc SET title = 'watched', body = 'goes along';
UPDATE doc SET seen = 1;
UPDATE doc SET deleted_at = '2025-01-01 00:00+00';
UPDATE doc SET deleted_at = NULL;
SELECT type, payload FROM written WHERE type LIKE 'doc.%';
SELECT outbox.track('doc', '{"watch": []}');
SELECT outbox.track('doc', '{"watch": ["titel"]}');
SELECT outbox.track('doc', '{"watch": "title"}');

DROP SCHEMA conditions CASCADE;
