-- SQL in rules means the same whoever changes the row, and fetches only what it uses.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW news AS SELECT id, entity_type AS type, entity_id AS entity, payload FROM outbox.event WHERE id > :start;
CREATE ROLE context_owner;
CREATE ROLE context_writer;
CREATE SCHEMA context AUTHORIZATION context_owner;
CREATE SCHEMA trap;
GRANT USAGE ON SCHEMA outbox TO context_owner;
GRANT USAGE ON SCHEMA context TO context_writer;
GRANT USAGE, CREATE ON SCHEMA trap TO context_writer;
GRANT EXECUTE ON FUNCTION outbox.track(regclass, jsonb), outbox.capture() TO context_owner;

-- The owner's rule reads a table that the writer may not see, by a name without a schema.
SET ROLE context_owner;
SET search_path = context;
CREATE TABLE secret (id int PRIMARY KEY, name text);
INSERT INTO secret VALUES (1, 'the owner''s');
CREATE FUNCTION who() RETURNS text STABLE LANGUAGE sql AS 'SELECT current_user::text';
CREATE TABLE work (id int PRIMARY KEY, secret_id int, at timestamptz);
GRANT INSERT ON work TO context_writer;
SELECT outbox.track('work', '{"enrich": {
    "secret": "SELECT name FROM secret WHERE id = $1.secret_id", "who": "who()", "path": "current_setting(''search_path'')",
    "at_text": "$1.at::text", "upper_name": "upper(''a'')", "half": "1 / (2 - $1.id)"}}') ->> 'search_path' AS search_path;
RESET ROLE;

-- The writer may do no more than insert, and has set a trap in every schema that is searched before.
SET ROLE context_writer;
CREATE TABLE trap.secret (id int, name text);
INSERT INTO trap.secret VALUES (1, 'the trap''s');
CREATE FUNCTION trap.who() RETURNS text STABLE LANGUAGE sql AS $$SELECT 'the trap''s'$$;
CREATE FUNCTION trap.upper(text) RETURNS text STABLE LANGUAGE sql AS $$SELECT 'the trap''s'$$;
CREATE TEMP TABLE secret (id int, name text);
INSERT INTO pg_temp.secret VALUES (1, 'the trap''s');
CREATE FUNCTION pg_temp.who() RETURNS text STABLE LANGUAGE sql AS $$SELECT 'the trap''s'$$;
GRANT SELECT ON pg_temp.secret TO PUBLIC;
SET search_path = pg_temp, trap, pg_catalog;
SET TimeZone = 'Asia/Tokyo';
SET DateStyle = 'German';
INSERT INTO context.work VALUES (1, 1, '2025-01-15 12:00:00+00');
SELECT current_user, current_setting('search_path') AS search_path, current_setting('TimeZone') AS timezone;
RESET ROLE;
RESET search_path;
RESET TimeZone;
RESET DateStyle;
SELECT payload -> 'data' AS data FROM news WHERE type = 'work';

-- SQL that fails leaves the writer who it was.
SET ROLE context_writer;
SET search_path = trap;
INSERT INTO context.work VALUES (2, 1, NULL);
SELECT current_user, current_setting('search_path') AS search_path;
RESET ROLE;
SET search_path = context;

-- Values stored outside the row are fetched only if the SQL uses them.
CREATE TABLE doc (id int PRIMARY KEY, n int, big text);
ALTER TABLE doc ALTER big SET STORAGE EXTERNAL;
CREATE FUNCTION toast_reads() RETURNS bigint LANGUAGE sql AS $$
    SELECT pg_stat_get_xact_tuples_fetched(i.indexrelid)
      FROM pg_class c JOIN pg_index i ON i.indrelid = c.reltoastrelid WHERE c.oid = 'context.doc'::regclass
$$;
INSERT INTO doc VALUES (1, 1, repeat('b', 1000000));
SELECT outbox.track('doc', '{"exclude": ["big"], "variant": "CASE WHEN $1.n > 2 THEN ''much'' END",
    "enrich": {"before": "$2.n", "has_big": "$1.big IS NOT NULL"}}') IS NOT NULL AS tracked;
BEGIN;
SELECT toast_reads() AS before \gset
UPDATE doc SET n = 2;
UPDATE doc SET n = 3;
SELECT toast_reads() - :before AS chunks_read;
COMMIT;
SELECT outbox.track('doc', '{"exclude": ["big"], "enrich": {"size": "length($1.big)"}}') IS NOT NULL AS tracked;
BEGIN;
SELECT toast_reads() AS before \gset
UPDATE doc SET n = 4;
SELECT toast_reads() - :before > 100 AS chunks_are_read;
COMMIT;
SELECT payload FROM news WHERE type = 'doc' ORDER BY id;

-- Partitions whose columns are in another order.
CREATE TABLE part (region text, id int, name text, PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE part_eu PARTITION OF part FOR VALUES IN ('eu');
CREATE TABLE part_us (gone int, name text, id int NOT NULL, region text NOT NULL, PRIMARY KEY (region, id));
ALTER TABLE part_us DROP gone;
ALTER TABLE part ATTACH PARTITION part_us FOR VALUES IN ('us');
SELECT outbox.track('part', '{"condition": "name <> ''hidden''", "variant": "$1.region", "columns": ["id"],
    "enrich": {"text": "$1.id || $1.name", "before": "$2.name"}}') IS NOT NULL AS tracked;
INSERT INTO part VALUES ('eu', 1, 'a'), ('us', 2, 'b'), ('us', 3, 'hidden');
UPDATE part SET name = name || '!', id = id + 10 WHERE name <> 'hidden';
SELECT event_type, payload FROM outbox.event WHERE id > :start AND entity_type = 'part' ORDER BY id;

DROP SCHEMA context, trap CASCADE;
DROP TABLE pg_temp.secret;
DROP OWNED BY context_owner, context_writer;
DROP ROLE context_owner, context_writer;
