-- outbox.capture_off(): one transaction goes by uncaptured, and its events say so.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE SCHEMA quiet;
SET search_path = quiet;

CREATE TABLE item (id int PRIMARY KEY, name text);
CREATE TABLE "Odd ""one" (id int PRIMARY KEY);
SELECT outbox.track('item') IS NOT NULL AND outbox.track('"Odd ""one"') IS NOT NULL AS tracked;
CREATE VIEW written AS SELECT event_type AS type, entity_type, entity_id, initiator_id = session_user AS mine,
                              payload -> 'data' AS data FROM outbox.event WHERE id > :start ORDER BY id;

-- Until the end of the transaction, and no longer.
BEGIN;
INSERT INTO item VALUES (1, 'before');
SELECT outbox.capture_off('import of 2019');
INSERT INTO item SELECT i, 'during' FROM generate_series(2, 4) AS i;
UPDATE item SET name = 'changed' WHERE id > 1;
DELETE FROM item WHERE id = 4;
INSERT INTO "Odd ""one" VALUES (1);
TRUNCATE "Odd ""one";
COMMIT;
INSERT INTO item VALUES (5, 'after');
SELECT type, entity_type, entity_id, mine, data::jsonb - 'user' AS data FROM written;
SELECT DISTINCT (payload -> 'data' ->> 'user') = session_user AS named FROM outbox.event WHERE event_type = 'outbox.uncaptured' AND id > :start;
SELECT suppressed FROM outbox.capture_stats() WHERE target = 'item'::regclass;

-- Nothing changed, or all of it rolled back: nothing to tell.
BEGIN;
SELECT outbox.capture_off();
COMMIT;
BEGIN;
SELECT outbox.capture_off();
SAVEPOINT undone;
INSERT INTO item VALUES (6, 'undone');
ROLLBACK TO undone;
COMMIT;
SELECT count(*) FROM written;

-- Savepoints: what is released counts, what is rolled back does not; a call that is rolled back is none.
BEGIN;
SAVEPOINT called;
SELECT outbox.capture_off('never mind');
INSERT INTO item VALUES (7, 'rolled back');
ROLLBACK TO called;
INSERT INTO item VALUES (7, 'captured');
SELECT outbox.capture_off();
INSERT INTO item VALUES (8, 'counted');
SAVEPOINT one;
INSERT INTO item VALUES (9, 'counted');
SAVEPOINT two;
INSERT INTO item VALUES (10, 'rolled back');
ROLLBACK TO two;
INSERT INTO item VALUES (10, 'counted');
RELEASE two;
RELEASE one;
COMMIT;
SELECT type, entity_id, data::jsonb - 'user' AS data FROM written OFFSET 4;

-- An exception block is a subtransaction.
DO $$
BEGIN
    PERFORM outbox.capture_off('block');
    INSERT INTO item VALUES (11, 'counted');
    BEGIN
        INSERT INTO item VALUES (12, 'rolled back');
        RAISE EXCEPTION 'no';
    EXCEPTION WHEN raise_exception THEN
        NULL;
    END;
END
$$;
SELECT type, data -> 'inserted' AS inserted, data ->> 'reason' AS reason FROM written OFFSET 6;

-- Nothing is kept of subtransactions that have ended: only the server's own list of their transaction ids grows.
DO $$
BEGIN
    PERFORM outbox.capture_off('many blocks');
    FOR i IN 1..4000 LOOP
        BEGIN
            INSERT INTO item VALUES (1000 + i);
            IF i % 2 = 0 THEN
                RAISE EXCEPTION 'no';
            END IF;
        EXCEPTION WHEN raise_exception THEN
            NULL;
        END;
    END LOOP;
    IF (SELECT used_bytes FROM pg_backend_memory_contexts WHERE name = 'TopTransactionContext') > 200000 THEN
        RAISE EXCEPTION '% bytes are kept', (SELECT used_bytes FROM pg_backend_memory_contexts WHERE name = 'TopTransactionContext');
    END IF;
END
$$;
SELECT data -> 'inserted' AS inserted FROM written WHERE data ->> 'reason' = 'many blocks';
-- Nested ones, each with changes of two tables; what is rolled back from the middle on does not count.
BEGIN;
SELECT outbox.capture_off('nested');
\set ECHO none
SELECT format('SAVEPOINT s%s; INSERT INTO item VALUES (%s); INSERT INTO "Odd ""one" VALUES (%s)', i, 100 + i, 100 + i) FROM generate_series(1, 20) AS i
\gexec
\set ECHO all
ROLLBACK TO s11;
RELEASE s6;
INSERT INTO item VALUES (111);
COMMIT;
SELECT entity_id, data -> 'inserted' AS inserted FROM written WHERE data ->> 'reason' = 'nested';
-- The reason is for people: it is no place for data.
SELECT outbox.capture_off(repeat('x', 1025));

-- A prepared transaction tells at PREPARE, and is told of at COMMIT PREPARED.
BEGIN;
SELECT outbox.capture_off('prepared');
INSERT INTO item VALUES (13, 'counted');
PREPARE TRANSACTION 'quiet';
SELECT count(*) FROM written WHERE data ->> 'reason' = 'prepared';
COMMIT PREPARED 'quiet';
SELECT count(*) FROM written WHERE data ->> 'reason' = 'prepared';

-- Not for everybody.
CREATE ROLE quiet_app;
GRANT ALL ON SCHEMA quiet TO quiet_app;
GRANT USAGE ON SCHEMA outbox TO quiet_app;
GRANT ALL ON item TO quiet_app;
SET ROLE quiet_app;
SELECT outbox.capture_off('not allowed');
RESET ROLE;
DROP SCHEMA quiet CASCADE;
DROP OWNED BY quiet_app;
DROP ROLE quiet_app;
