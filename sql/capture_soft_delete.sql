-- A soft delete is the delete verb, undoing it an update, the hard delete after it no event.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
CREATE SCHEMA soft;
SET search_path = soft;

CREATE TABLE task (id int PRIMARY KEY, name text, deleted_at timestamptz);
SELECT outbox.track('task') -> 'soft_delete' AS soft_delete;
INSERT INTO task VALUES (1, 'a', NULL), (2, 'b', NULL), (3, 'imported as deleted', '2024-01-01 00:00:00+00');
UPDATE task SET deleted_at = '2024-05-06 07:08:09+00', name = 'a!' WHERE id = 1;
UPDATE task SET name = 'changed while deleted' WHERE id = 1;
UPDATE task SET deleted_at = '2025-01-01 00:00:00+00' WHERE id = 1;
UPDATE task SET deleted_at = NULL WHERE id = 1;
UPDATE task SET deleted_at = '2024-05-06 07:08:09+00' WHERE id = 1;
DELETE FROM task WHERE id IN (1, 2, 3);
SELECT event_type, entity_id, payload FROM seen WHERE entity_type = 'task' ORDER BY id;

-- The column counts also where it is not captured.
SELECT outbox.track('task', '{"entity": "task2", "exclude": ["deleted_at"]}') IS NOT NULL AS tracked;
INSERT INTO task VALUES (1, 'a', NULL);
UPDATE task SET deleted_at = now();
UPDATE task SET deleted_at = NULL;
UPDATE task SET deleted_at = now(), name = 'b';
DELETE FROM task;
SELECT event_type, entity_id, payload FROM seen WHERE entity_type = 'task2' ORDER BY id;

-- Updates are not captured: soft deletes still are. Deletes are not captured: nor are soft deletes.
SELECT outbox.track('task', '{"entity": "task3", "verbs": {"update": null}}') IS NOT NULL AS tracked;
INSERT INTO task VALUES (1, 'a', NULL);
UPDATE task SET name = 'b';
UPDATE task SET deleted_at = '2024-05-06 07:08:09+00';
SELECT outbox.track('task', '{"entity": "task4", "verbs": {"delete": null}}') IS NOT NULL AS tracked;
UPDATE task SET deleted_at = NULL;
UPDATE task SET deleted_at = '2024-05-06 07:08:09+00';
DELETE FROM task;
SELECT event_type, entity_id FROM seen WHERE entity_type IN ('task3', 'task4') ORDER BY id;

-- Any column that can be null will do.
CREATE TABLE doc (id int PRIMARY KEY, archived_by int, deleted_at timestamptz);
SELECT outbox.track('doc', '{"soft_delete": "archived_by", "verbs": {"delete": "archived"}}') IS NOT NULL AS tracked;
INSERT INTO doc VALUES (1);
UPDATE doc SET deleted_at = '2024-05-06 07:08:09+00';
UPDATE doc SET archived_by = 4;
SELECT event_type, payload FROM seen WHERE entity_type = 'doc' ORDER BY id;

SET client_min_messages = warning;
DROP SCHEMA soft CASCADE;
