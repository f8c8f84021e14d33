-- Values stored outside the row: compared by their pointers, fetched only if they go into the event.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
CREATE SCHEMA toast;
SET search_path = toast;

CREATE TABLE doc (id int PRIMARY KEY, n int, big text, huge text, packed text);
ALTER TABLE doc ALTER big SET STORAGE EXTERNAL, ALTER huge SET STORAGE EXTERNAL;
CREATE FUNCTION toast_reads() RETURNS bigint LANGUAGE sql AS $$
    SELECT pg_stat_get_xact_tuples_fetched(i.indexrelid)
      FROM pg_class c JOIN pg_index i ON i.indrelid = c.reltoastrelid WHERE c.oid = 'toast.doc'::regclass
$$;
INSERT INTO doc VALUES (1, 1, repeat('b', 100000), repeat('h', 1000000), repeat('p', 100000));

-- Left out, and not changed: never read.
SELECT outbox.track('doc', '{"exclude": ["huge", "big"]}') IS NOT NULL AS tracked;
BEGIN;
SELECT toast_reads() AS before \gset
UPDATE doc SET n = 2;
UPDATE doc SET n = n;
SELECT toast_reads() - :before AS chunks_read;
COMMIT;
-- Left out, and changed: no event.
UPDATE doc SET huge = repeat('i', 1000000);
SELECT event_type, payload -> 'previous_attributes' AS previous, length(payload -> 'data' ->> 'packed') AS packed
  FROM seen WHERE entity_type = 'doc' ORDER BY id;

-- Captured, and not changed: read once, for data.
SELECT outbox.track('doc', '{"entity": "doc2", "exclude": ["huge"]}') IS NOT NULL AS tracked;
BEGIN;
SELECT toast_reads() AS before \gset
UPDATE doc SET n = 3;
SELECT toast_reads() - :before AS chunks_read;
SELECT toast_reads() AS before \gset
UPDATE doc SET n = 3;
SELECT toast_reads() - :before AS chunks_read;
COMMIT;
-- Written again with the same value: the pointers differ, the contents do not.
UPDATE doc SET big = repeat('b', 100000), packed = repeat('p', 100000);
UPDATE doc SET big = repeat('c', 100000), packed = repeat('q', 100000);
DELETE FROM doc;
SELECT event_type, json_object_keys(payload -> 'previous_attributes') AS previous
  FROM seen WHERE entity_type = 'doc2' ORDER BY id, previous;
SELECT event_type, payload -> 'data' ->> 'big' = repeat(CASE WHEN event_type = 'doc2.deleted' THEN 'c' ELSE 'b' END, 100000) AS big
  FROM seen WHERE entity_type = 'doc2' AND payload -> 'data' ->> 'n' = '3' AND payload -> 'previous_attributes' ->> 'big' IS NULL
 ORDER BY id;

-- Keys of the event that were stored outside their row.
CREATE TABLE wide_key (id int PRIMARY KEY, workspace_id text, project_id text);
ALTER TABLE wide_key ALTER workspace_id SET STORAGE EXTERNAL;
SELECT outbox.track('wide_key', '{"columns": ["id"]}') IS NOT NULL AS tracked;
INSERT INTO wide_key VALUES (1, repeat('w', 10000), repeat('p', 10000));
DROP TABLE wide_key;
SELECT length(workspace_id), length(project_id), workspace_id = repeat('w', 10000) AS same FROM seen WHERE entity_type = 'wide_key';

-- A megabyte, and a value that grows by its escapes.
CREATE TABLE large (id int PRIMARY KEY, t text, b bytea, j jsonb);
SELECT outbox.track('large') IS NOT NULL AS tracked;
INSERT INTO large VALUES (1, repeat(E'\n"', 500000), decode(repeat('ab', 500000), 'hex'), jsonb_build_object('k', repeat('x', 1000000)));
SELECT octet_length(payload::text), (payload -> 'data' ->> 't') = repeat(E'\n"', 500000) AS t, (payload -> 'data' ->> 'b')::bytea = decode(repeat('ab', 500000), 'hex') AS b,
       length(payload -> 'data' -> 'j' ->> 'k') AS j FROM seen WHERE entity_type = 'large';

SET client_min_messages = warning;
DROP SCHEMA toast CASCADE;
