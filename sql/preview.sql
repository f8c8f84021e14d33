-- outbox.preview(): what a change would make, without making it.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE SCHEMA previews;
SET search_path = previews;

CREATE TABLE item (id int PRIMARY KEY, name text, price numeric DEFAULT 9, hidden bytea, kind text, deleted_at timestamptz,
                   workspace_id uuid, updated_by int);
SELECT outbox.track('item', '{
    "exclude": ["hidden"], "condition": "kind IS DISTINCT FROM ''draft''", "initiator_id": "updated_by",
    "schema_version": "2", "enrich": {"upper": "upper($1.name)"}}') IS NOT NULL AS tracked;

SELECT * FROM outbox.preview('item', 'insert', NULL, '{"id": 1, "name": "a", "price": 1.50, "updated_by": 7}') \gx
-- What the new row leaves out is as in the old one.
SELECT event_type, payload FROM outbox.preview('item', 'UPDATE', '{"id": 1, "name": "a", "price": 1.5}', '{"name": "b"}');
SELECT event_type, payload FROM outbox.preview('item', 'update', '{"id": 1}', '{"deleted_at": "2025-01-01 00:00+00"}');
SELECT event_type, payload FROM outbox.preview('item', 'delete', '{"id": 1, "name": "a"}', NULL);
SELECT event_type, entity_id, payload FROM outbox.preview('item', 'truncate', NULL, NULL);
-- No event: nothing captured changes, or the row does not meet the condition.
SELECT count(*) FROM outbox.preview('item', 'update', '{"id": 1, "name": "a"}', '{"hidden": "\\x00"}');
SELECT count(*) FROM outbox.preview('item', 'insert', NULL, '{"id": 1, "kind": "draft"}');
SELECT event_type, payload FROM outbox.preview('item', 'update', '{"id": 1, "kind": "draft"}', '{"kind": "note"}');
SELECT event_type, payload FROM outbox.preview('item', 'update', '{"id": 1, "kind": "note"}', '{"kind": "draft"}');

-- What preview says is what the trigger writes.
INSERT INTO item VALUES (1, 'a', 1.50, NULL, 'note', NULL, NULL, 7);
UPDATE item SET name = 'b';
WITH said AS (
    SELECT * FROM outbox.preview('item', 'insert', NULL, '{"id": 1, "name": "a", "price": 1.50, "kind": "note", "updated_by": 7}')
    UNION ALL
    SELECT * FROM outbox.preview('item', 'update', '{"id": 1, "name": "a", "price": 1.50, "kind": "note", "updated_by": 7}', '{"name": "b"}'))
SELECT count(*) AS equal FROM said JOIN outbox.event AS e
    ON (said.event_type, said.entity_type, said.entity_id, said.payload::text, said.initiator_id, said.initiator_type, said.schema_version)
     = (e.event_type, e.entity_type, e.entity_id, e.payload::text, e.initiator_id, e.initiator_type, e.schema_version)
 WHERE e.id > :start;

-- Nothing was written but those two, and no transaction id is used.
SELECT count(*) FROM outbox.event WHERE id > :start;
BEGIN READ ONLY;
SELECT count(*) FROM outbox.preview('item', 'delete', '{"id": 1}', NULL);
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid;
COMMIT;

-- Errors.
SELECT * FROM outbox.preview('item', 'upsert', NULL, NULL);
SELECT * FROM outbox.preview('item', 'insert', '{}', '{}');
SELECT * FROM outbox.preview('item', 'delete', NULL, NULL);
SELECT * FROM outbox.preview('item', 'insert', NULL, '{"id": "x"}');
SELECT * FROM outbox.preview('item', 'insert', NULL, '{"name": "x"}');
SELECT * FROM outbox.preview(NULL, 'insert', NULL, '{}');
SELECT * FROM outbox.preview('item', 'insert', NULL, '[]');
\set VERBOSITY default
SELECT * FROM outbox.preview('item', 'update', '{"id": 1}', '{"nam": "x"}');
\set VERBOSITY terse
CREATE TABLE untracked (id int PRIMARY KEY);
SELECT * FROM outbox.preview('untracked', 'insert', NULL, '{"id": 1}');
CREATE ROLE previewer;
GRANT USAGE ON SCHEMA outbox, previews TO previewer;
GRANT EXECUTE ON FUNCTION outbox.preview TO previewer;
GRANT TRIGGER ON item TO previewer;
SET ROLE previewer;
SELECT * FROM outbox.preview('item', 'insert', NULL, '{"id": 1}');
RESET ROLE;

-- What the owner has put into types and rules runs as the owner, also when a superuser looks; by fixed settings.
CREATE TABLE owned (id int PRIMARY KEY, day date, note text);
GRANT CREATE ON SCHEMA previews TO previewer;
ALTER TABLE owned OWNER TO previewer;
SET ROLE previewer;
CREATE FUNCTION previews.whoami() RETURNS text STABLE LANGUAGE sql AS 'SELECT current_user::text';
RESET ROLE;
SELECT outbox.track('owned', '{"enrich": {"by": "previews.whoami()"}}') IS NOT NULL AS tracked;
SET DateStyle = 'SQL, DMY';
SELECT payload FROM outbox.preview('owned', 'insert', NULL, '{"id": 1, "day": "02/01/2025"}');
RESET DateStyle;

-- A partition's columns may be in another order.
CREATE TABLE reading (id int, region text, value int, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE reading_eu (value int, region text NOT NULL, id int NOT NULL);
ALTER TABLE reading ATTACH PARTITION reading_eu FOR VALUES IN ('eu');
SELECT outbox.track('reading', '{"entity_id": "id"}') IS NOT NULL AS tracked;
SELECT event_type, payload FROM outbox.preview('reading', 'insert', NULL, '{"id": 1, "region": "eu", "value": 5}');
SELECT event_type, payload FROM outbox.preview('reading_eu', 'insert', NULL, '{"id": 1, "region": "eu", "value": 5}');

DROP SCHEMA previews CASCADE;
DROP OWNED BY previewer;
DROP ROLE previewer;
