-- Functions that change rows: their search_path, owner, cursors and language do not matter.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;

CREATE SCHEMA app;
CREATE SCHEMA evil;
SET search_path = app;
CREATE TABLE t (id int PRIMARY KEY, n int, price numeric);
SELECT outbox.track('t') IS NOT NULL AS tracked;

-- A search_path of the function's own; and one that hides what capture needs behind objects of the same name.
CREATE FUNCTION by_path() RETURNS void LANGUAGE sql SET search_path = app, pg_temp AS 'INSERT INTO t VALUES (1, 1, 1.50)';
CREATE FUNCTION without_path() RETURNS void LANGUAGE sql SET search_path = '' AS 'INSERT INTO app.t VALUES (2, 2, 2.50)';
CREATE FUNCTION evil.to_json(anyelement) RETURNS json LANGUAGE sql AS $$ SELECT '"hijacked"'::json $$;
CREATE FUNCTION evil.numeric_out(numeric) RETURNS cstring LANGUAGE internal AS 'numeric_out';
CREATE TABLE evil.event (LIKE outbox.event);
CREATE FUNCTION hijacked() RETURNS void LANGUAGE sql SET search_path = evil, pg_catalog AS 'INSERT INTO app.t VALUES (3, 3, 3.50)';
SELECT by_path(), without_path(), hijacked();
-- As another owner, who has no privilege on the extension; called by one who has none on the table.
CREATE ROLE regress_outbox_writer;
CREATE ROLE regress_outbox_caller;
GRANT USAGE ON SCHEMA app TO regress_outbox_writer, regress_outbox_caller;
GRANT SELECT, INSERT, UPDATE ON t TO regress_outbox_writer;
CREATE FUNCTION as_owner() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = app, pg_temp AS 'INSERT INTO t VALUES (4, 4, 4.50)';
ALTER FUNCTION as_owner() OWNER TO regress_outbox_writer;
SET ROLE regress_outbox_caller;
SELECT app.as_owner();
RESET ROLE;
-- Row security hides rows from statements, not their changes from the capture.
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_writer ON t TO regress_outbox_writer USING (id < 2);
SET ROLE regress_outbox_writer;
UPDATE t SET n = n + 10;
RESET ROLE;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
-- Cursors.
CREATE FUNCTION by_cursor() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c CURSOR FOR SELECT * FROM t WHERE id < 3 FOR UPDATE;
BEGIN
    FOR r IN c LOOP
        UPDATE t SET n = n + 100 WHERE CURRENT OF c;
        UPDATE t SET n = n WHERE CURRENT OF c;
    END LOOP;
END
$$;
SELECT by_cursor();
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t WHERE id = 3 FOR UPDATE;
FETCH c;
DELETE FROM t WHERE CURRENT OF c;
COMMIT;
SELECT event_type, payload -> 'data' AS data, payload -> 'previous_attributes' AS previous FROM seen WHERE entity_type = 't' ORDER BY id;
SELECT count(*) FROM evil.event;

-- A procedure that commits on its way.
CREATE PROCEDURE in_steps() LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 10..13 LOOP
        INSERT INTO app.t VALUES (i);
        IF i % 2 = 0 THEN COMMIT; ELSE ROLLBACK; END IF;
    END LOOP;
END
$$;
CALL in_steps();
SELECT entity_id FROM seen WHERE entity_type = 't' AND entity_id::int >= 10 ORDER BY id;
-- A prepared statement outlives a change of the table and of its rule.
PREPARE put AS INSERT INTO t (id, n) VALUES ($1, $1);
EXECUTE put(20);
ALTER TABLE t ADD COLUMN more text DEFAULT 'more';
EXECUTE put(21);
SELECT outbox.track('t', '{"columns": ["n"]}') IS NOT NULL AS tracked;
EXECUTE put(22);
SELECT outbox.untrack('t');
EXECUTE put(23);
SELECT payload -> 'data' AS data FROM seen WHERE entity_type = 't' AND entity_id::int >= 20 ORDER BY id;

DROP SCHEMA app, evil CASCADE;
DROP ROLE regress_outbox_writer, regress_outbox_caller;
