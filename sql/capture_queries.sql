-- SQL in rules: condition, variant, enrich, data_query and previous_query.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset

CREATE SCHEMA queries;
SET search_path = queries;

CREATE TABLE kind (id int PRIMARY KEY, is_epic boolean);
INSERT INTO kind VALUES (1, false), (2, true);
CREATE TABLE work (id int PRIMARY KEY, kind_id int REFERENCES kind, name text, deleted_at timestamptz);
CREATE TABLE assignee (work_id int REFERENCES work ON DELETE CASCADE, person int, deleted_at timestamptz,
                       PRIMARY KEY (work_id, person));

CREATE VIEW written AS SELECT event_type AS type, entity_id AS entity, payload FROM outbox.event WHERE id > :start ORDER BY id;

SELECT outbox.track('work', '{
    "variant": "SELECT ''epic'' FROM kind WHERE kind.id = coalesce($1.kind_id, $2.kind_id) AND is_epic",
    "enrich": {
        "people": "ARRAY(SELECT person FROM assignee WHERE work_id = coalesce($1.id, $2.id) AND deleted_at IS NULL ORDER BY person)",
        "was": "$2.name"}}') ->> 'search_path' AS search_path;
SELECT outbox.track('assignee', '{
    "entity": "work", "entity_id": "work_id", "verbs": {"insert": "updated", "delete": "updated", "truncate": null},
    "data_query": "SELECT id, name, ARRAY(SELECT person FROM assignee WHERE work_id = work.id AND deleted_at IS NULL ORDER BY 1) AS people FROM work WHERE id = coalesce($1.work_id, $2.work_id)",
    "previous_query": "SELECT ARRAY(SELECT person FROM assignee WHERE work_id = coalesce($1.work_id, $2.work_id) AND deleted_at IS NULL AND person IS DISTINCT FROM $1.person UNION SELECT $2.person WHERE $2.person IS NOT NULL AND $2.deleted_at IS NULL ORDER BY 1) AS people"}') IS NOT NULL AS tracked;

-- The prefix goes by the variant; null is the rule's own.
INSERT INTO work VALUES (1, 1, 'Login fails'), (2, 2, 'Rewrite'), (3, NULL, 'No kind');
UPDATE work SET name = 'Login fails on Safari' WHERE id = 1;
SELECT * FROM written;

-- A link table reports on its parent. One statement's rows are all there when the first event is made.
CREATE TEMP TABLE seen AS SELECT max(id) AS id FROM outbox.event;
CREATE VIEW news AS SELECT event_type AS type, entity_id AS entity, payload FROM outbox.event
                     WHERE id > (SELECT max(id) FROM seen) ORDER BY id;
INSERT INTO assignee VALUES (1, 7);
INSERT INTO assignee VALUES (1, 8), (1, 9);
UPDATE assignee SET deleted_at = now() WHERE person = 8;
DELETE FROM assignee WHERE person = 9;
SELECT * FROM news;

-- The parent is gone: there is nothing to report on.
INSERT INTO seen SELECT max(id) FROM outbox.event;
DELETE FROM work WHERE id = 1;
SELECT type, entity, payload -> 'data' ->> 'people' AS people FROM news;

DROP SCHEMA queries CASCADE;
