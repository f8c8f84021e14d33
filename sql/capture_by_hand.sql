-- A trigger that a migration wrote is equal to outbox.track(); one that cannot work says why.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
CREATE SCHEMA by_hand;
SET search_path = by_hand;

CREATE TABLE t (id int PRIMARY KEY, n int, deleted_at date);
CREATE TRIGGER capture_t AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW
    EXECUTE FUNCTION outbox.capture('{"prefix": "hand", "columns": ["n"]}');
CREATE TRIGGER capture_t_truncate AFTER TRUNCATE ON t EXECUTE FUNCTION outbox.capture('{"prefix": "hand"}');
INSERT INTO t VALUES (1, 1);
UPDATE t SET deleted_at = '2024-01-01';
TRUNCATE t;
-- Defaults come from the table as it is.
ALTER TABLE t RENAME TO t2;
INSERT INTO t2 VALUES (2, 2);
SELECT event_type, entity_type, entity_id, payload FROM seen WHERE event_type LIKE 'hand.%' ORDER BY id;
SELECT trigger_name, rule FROM outbox.rules WHERE target = 't2'::regclass;
-- Each change would be captured twice.
SELECT outbox.track('t2');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.untrack('t2');

-- Only what the trigger fires for, when it fires.
CREATE TABLE narrow (id int PRIMARY KEY, n int, m int);
CREATE TRIGGER capture AFTER UPDATE OF n ON narrow FOR EACH ROW WHEN (NEW.n > 1) EXECUTE FUNCTION outbox.capture('{}');
INSERT INTO narrow VALUES (1, 1, 1);
UPDATE narrow SET m = 2;
UPDATE narrow SET n = 1;
UPDATE narrow SET n = 2, m = 3;
SELECT event_type, payload FROM seen WHERE entity_type = 'narrow' ORDER BY id;
CREATE TABLE late (id int PRIMARY KEY);
CREATE CONSTRAINT TRIGGER capture AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION outbox.capture('{}');
BEGIN;
INSERT INTO late VALUES (1);
SELECT count(*) FROM seen WHERE entity_type = 'late';
SET CONSTRAINTS ALL IMMEDIATE;
SELECT count(*) FROM seen WHERE entity_type = 'late';
COMMIT;

-- What cannot work.
CREATE TABLE wrong (id int PRIMARY KEY, n int);
CREATE TRIGGER x BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION outbox.capture('{}');
INSERT INTO wrong VALUES (1);
\echo :LAST_ERROR_SQLSTATE
CREATE OR REPLACE TRIGGER x AFTER INSERT ON wrong FOR EACH STATEMENT EXECUTE FUNCTION outbox.capture('{}');
INSERT INTO wrong VALUES (1);
CREATE OR REPLACE TRIGGER x AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION outbox.capture();
INSERT INTO wrong VALUES (1);
\echo :LAST_ERROR_SQLSTATE
CREATE OR REPLACE TRIGGER x AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION outbox.capture('{}', 'more');
INSERT INTO wrong VALUES (1);
CREATE OR REPLACE TRIGGER x AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"entity": ');
INSERT INTO wrong VALUES (1);
CREATE OR REPLACE TRIGGER x AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"columns": ["m"]}');
INSERT INTO wrong VALUES (1);
CREATE OR REPLACE TRIGGER x AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"colums": ["m"]}');
INSERT INTO wrong VALUES (1);
-- Mended, in the same session.
CREATE OR REPLACE TRIGGER x AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"columns": ["n"]}');
INSERT INTO wrong VALUES (1);
SELECT event_type, payload FROM seen WHERE entity_type = 'wrong';
SELECT outbox.capture();

SET client_min_messages = warning;
DROP SCHEMA by_hand CASCADE;
