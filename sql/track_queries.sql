-- SQL in rules that outbox.track() refuses, and what goes wrong with the rest when a row changes.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
CREATE SCHEMA asked;
SET search_path = asked;

CREATE TABLE kind (id int PRIMARY KEY, name text);
CREATE TABLE work (id int PRIMARY KEY, kind_id int, name text);
CREATE FUNCTION writes(id int) RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO kind VALUES (id); RETURN 1; END';
CREATE FUNCTION claims_to_read(id int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN INSERT INTO kind VALUES (id); RETURN 1; END';
CREATE VIEW dice AS SELECT random() AS eyes;

-- Not SQL: the server's own message, and where in the rule.
SELECT outbox.track('work', '{"enrich": {"a": "SELEC 1"}}');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.track('work', '{"variant": "1 +"}');
SELECT outbox.track('work', '{"enrich": {"a": "''x'' -- a comment"}}') IS NOT NULL AS tracked;
-- What is not there.
SELECT outbox.track('work', '{"enrich": {"a": "$1.nme"}}');
SELECT outbox.track('work', '{"enrich": {"a": "name"}}');
SELECT outbox.track('work', '{"enrich": {"a": "$3.name"}}');
SELECT outbox.track('work', '{"data_query": "SELECT nme FROM kind"}');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.track('work', '{"data_query": "SELECT name FROM kind", "search_path": "public"}');
SELECT outbox.track('work', '{"data_query": "SELECT name FROM kind", "search_path": "a b"}');
-- Too many values, or too few.
SELECT outbox.track('work', '{"enrich": {"a": "SELECT id, name FROM kind"}}');
SELECT outbox.track('work', '{"enrich": {"a": "1, 2"}}');
SELECT outbox.track('work', '{"enrich": {"a": "unnest(ARRAY[1, 2])"}}');
SELECT outbox.track('work', '{"variant": "''x'', ''y''"}');
-- Brackets that let more in, and names that would be cut.
SELECT outbox.track('work', '{"enrich": {"a": "1) FROM (kind CROSS JOIN work"}}');
SELECT outbox.track('work', '{"variant": "''a'') FROM kind ORDER BY (1"}');
SELECT outbox.track('work', jsonb_build_object('enrich', jsonb_build_object(repeat('n', 64), '1')));
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.track('work', '{"data_query": "SELECT"}');
SELECT outbox.track('work', '{"data_query": "SELECT 1 AS a; SELECT 2 AS a"}');
SELECT outbox.track('work', '{"data_query": " "}');
SELECT outbox.track('work', '{"data_query": "SELECT 1 AS a, 2"}');
SELECT outbox.track('work', '{"data_query": "SELECT 1 AS a, 2 AS a"}');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.track('work', '{"enrich": {"name": "1"}}');
-- Queries that do more than read.
SELECT outbox.track('work', '{"data_query": "INSERT INTO kind VALUES (1) RETURNING id"}');
SELECT outbox.track('work', '{"data_query": "WITH w AS (INSERT INTO kind VALUES (1) RETURNING id) SELECT * FROM w"}');
SELECT outbox.track('work', '{"data_query": "SELECT * FROM kind FOR UPDATE"}');
SELECT outbox.track('work', '{"data_query": "SELECT * INTO copy FROM kind"}');
SELECT outbox.track('work', '{"data_query": "EXPLAIN SELECT 1"}');
SELECT outbox.track('work', '{"enrich": {"a": "writes(1)"}}');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.track('work', '{"data_query": "SELECT eyes FROM dice"}');
SELECT outbox.track('work', '{"data_query": "SELECT 1 AS a", "enrich": {"b": "1"}}');
SELECT outbox.track('work', '{"enrich": {"a": "1"}, "columns": []}');

-- What the table's owner may not read: the owner is told, and not who changes the first row.
CREATE ROLE asked_owner;
GRANT USAGE ON SCHEMA outbox, asked TO asked_owner;
GRANT EXECUTE ON FUNCTION outbox.track(regclass, jsonb), outbox.capture() TO asked_owner;
ALTER TABLE work OWNER TO asked_owner;
SELECT outbox.track('work', '{"enrich": {"kind": "SELECT name FROM kind WHERE id = $1.kind_id"}}');
\echo :LAST_ERROR_SQLSTATE
GRANT SELECT ON kind TO asked_owner;
SET ROLE asked_owner;
SELECT outbox.track('work', '{"enrich": {"kind": "SELECT name FROM kind WHERE id = $1.kind_id"}}') IS NOT NULL AS tracked;
RESET ROLE;
REVOKE SELECT ON kind FROM asked_owner;
INSERT INTO work VALUES (1, 1, 'a');
GRANT SELECT ON kind TO asked_owner;

-- What shows only when a row changes.
SELECT outbox.track('work', '{"enrich": {"a": "1 / $1.kind_id"}}') IS NOT NULL AS tracked;
INSERT INTO work VALUES (1, 0, 'a');
ALTER TABLE work OWNER TO current_user;
SELECT outbox.track('work', '{"enrich": {"a": "claims_to_read($1.id)"}}') IS NOT NULL AS tracked;
INSERT INTO work VALUES (1, 0, 'a');
INSERT INTO kind VALUES (1, 'x'), (2, 'y');
SELECT outbox.track('work', '{"enrich": {"a": "SELECT name FROM kind"}, "variant": "$1.name"}') IS NOT NULL AS tracked;
INSERT INTO work VALUES (1, 0, 'a');
SELECT outbox.track('work', '{"data_query": "SELECT name FROM kind"}') IS NOT NULL AS tracked;
INSERT INTO work VALUES (1, 0, 'a');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.track('work', '{"data_query": "SELECT json_build_array(1)"}') IS NOT NULL AS tracked;
INSERT INTO work VALUES (1, 0, 'a');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.track('work', '{"variant": "repeat($1.name, 248)"}') IS NOT NULL AS tracked;
INSERT INTO work VALUES (1, 0, 'a');
-- Columns of other tables are not guarded.
SELECT outbox.track('work', '{"enrich": {"kind": "SELECT name FROM kind WHERE id = $1.kind_id"}}') IS NOT NULL AS tracked;
INSERT INTO work VALUES (1, 1, 'a');
ALTER TABLE kind RENAME name TO title;
INSERT INTO work VALUES (2, 1, 'b');
ALTER TABLE kind RENAME title TO name;
INSERT INTO work VALUES (3, 1, 'c');
SELECT entity_id, payload -> 'data' ->> 'kind' AS kind FROM outbox.event
 WHERE event_type = 'work.created' AND payload -> 'data' ->> 'kind' = 'x' ORDER BY id;

DROP SCHEMA asked CASCADE;
DROP OWNED BY asked_owner;
DROP ROLE asked_owner;
