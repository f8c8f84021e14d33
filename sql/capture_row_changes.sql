-- What an insert, an update, a delete and a truncate look like, and what each rule key does to them.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
CREATE SCHEMA row_changes;
SET search_path = row_changes;

-- Defaults: every column in the table's order, context from the columns of those names.
CREATE TABLE item (id int PRIMARY KEY, name text, price numeric(10,2), workspace_id int, project_id uuid, initiator_id text);
SELECT outbox.track('item');
INSERT INTO item VALUES (1, 'lamp', 9.90, 7, '00000000-0000-0000-0000-00000000000a', 'ann'), (2, NULL, NULL, NULL, NULL, NULL);
UPDATE item SET name = 'lamp, red', price = NULL WHERE id = 1;
UPDATE item SET name = name;
UPDATE item SET price = 3 WHERE id = 2;
UPDATE item SET id = 3 WHERE id = 2;
DELETE FROM item WHERE id = 1;
TRUNCATE item;
SELECT event_type, entity_type, entity_id, ordering_key, workspace_id, project_id, initiator_id, initiator_type, schema_version, payload
  FROM seen WHERE entity_type = 'item' ORDER BY id;

-- Each event: its own id, a UUIDv7 made of it, the transaction's id, a slice; headers only from outbox.emit().
SELECT count(*) = count(DISTINCT id) AS ids_differ, count(*) = count(DISTINCT event_id) AS event_ids_differ,
       bool_and(substr(event_id::text, 15, 1) = '7') AS uuid_v7, count(DISTINCT xid) AS transactions,
       bool_and(headers IS NULL) AS no_headers, bool_and(created_at <= clock_timestamp()) AS dated
  FROM seen WHERE entity_type = 'item';

-- numeric 1.0 is not 1.00: what a reader sees has changed.
CREATE TABLE amount (id int PRIMARY KEY, n numeric);
SELECT outbox.track('amount') IS NOT NULL AS tracked;
INSERT INTO amount VALUES (1, 1.0);
UPDATE amount SET n = 1.00;
UPDATE amount SET n = 1.00;
SELECT event_type, payload FROM seen WHERE entity_type = 'amount' ORDER BY id;

-- entity, prefix, verbs, columns, schema_version
CREATE TABLE note (id int PRIMARY KEY, title text, body text, secret text, seen int DEFAULT 0);
SELECT outbox.track('note', '{"entity": "remark", "prefix": "crm.remark", "columns": ["body", "title"], "schema_version": "2.1",
                              "verbs": {"insert": "added", "delete": null, "truncate": null}}');
INSERT INTO note VALUES (1, 'a', 'b', 's');
UPDATE note SET secret = 't', seen = 1;
UPDATE note SET title = 'c', seen = 2;
DELETE FROM note;
TRUNCATE note;
SELECT event_type, entity_type, entity_id, schema_version, payload FROM seen WHERE entity_type = 'remark' ORDER BY id;

-- exclude
SELECT outbox.track('note', '{"entity": "note2", "exclude": ["secret", "id", "seen"]}') IS NOT NULL AS tracked;
INSERT INTO note VALUES (1, 'a', 'b', 's');
UPDATE note SET secret = 't', seen = 1;
UPDATE note SET body = 'd', secret = 'u';
DELETE FROM note;
SELECT event_type, entity_id, payload FROM seen WHERE entity_type = 'note2' ORDER BY id;

-- ordering_key: of one column, its text (null: the entity's id orders); of several, a JSON array.
CREATE TABLE line (id int PRIMARY KEY, invoice int, region text, a uuid, b uuid, setting_is text);
SELECT outbox.track('line', '{"ordering_key": "invoice", "columns": ["id"], "initiator_id": ["a", "b"], "workspace_id": "region",
                              "project_id": null, "initiator_type_setting": "test.initiator_type"}') IS NOT NULL AS tracked;
INSERT INTO line VALUES (1, 10, 'eu', NULL, '00000000-0000-0000-0000-00000000000b'), (2, NULL, NULL, NULL, NULL);
SET test.initiator_type = 'SYSTEM.IMPORT';
INSERT INTO line VALUES (3, 10, 'us', '00000000-0000-0000-0000-00000000000a', '00000000-0000-0000-0000-00000000000b');
BEGIN;
SET LOCAL test.initiator_type = 'SYSTEM.JOB';
INSERT INTO line VALUES (4, 10, 'us');
COMMIT;
SET test.initiator_type = '';
INSERT INTO line VALUES (5, 10, 'us');
RESET test.initiator_type;
SELECT outbox.track('line', '{"ordering_key": ["region", "invoice"], "columns": ["id"]}') IS NOT NULL AS tracked;
INSERT INTO line VALUES (6, 10, 'us'), (7, NULL, NULL);
SELECT event_type, entity_id, ordering_key, workspace_id, project_id, initiator_id, initiator_type
  FROM seen WHERE entity_type = 'line' ORDER BY id;

-- A table's own columns count, not what the rule's author might have meant: null switches a default off.
CREATE TABLE bare (id int PRIMARY KEY, workspace_id int, project_id int, initiator_id int, deleted_at timestamptz);
SELECT outbox.track('bare', '{"workspace_id": null, "project_id": null, "initiator_id": null, "soft_delete": null}');
INSERT INTO bare VALUES (1, 2, 3, 4, NULL);
UPDATE bare SET deleted_at = '2024-01-01 00:00:00+00';
DELETE FROM bare;
SELECT event_type, entity_id, workspace_id, project_id, initiator_id FROM seen WHERE entity_type = 'bare' ORDER BY id;

-- Generated, identity and dropped columns.
CREATE TABLE made (gone int, id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int, double int GENERATED ALWAYS AS (n * 2) STORED, gone_too text);
ALTER TABLE made DROP COLUMN gone, DROP COLUMN gone_too;
SELECT outbox.track('made') IS NOT NULL AS tracked;
INSERT INTO made (n) VALUES (4);
UPDATE made SET n = 5;
SELECT event_type, entity_id, payload FROM seen WHERE entity_type = 'made' ORDER BY id;

SET client_min_messages = warning;
DROP SCHEMA row_changes CASCADE;
