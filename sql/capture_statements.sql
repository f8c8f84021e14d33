-- Every way a row changes is captured once, and only if the transaction keeps it.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
CREATE SCHEMA statements;
SET search_path = statements;

CREATE TABLE t (id serial PRIMARY KEY, n int UNIQUE, s text);
CREATE VIEW v AS SELECT id, n, s FROM t WHERE n > 0;
SELECT outbox.track('t') IS NOT NULL AS tracked;

COPY t (id, n, s) FROM stdin;
1	1	copied
2	2	copied
\.
INSERT INTO t (id, n, s) SELECT i, i, 'selected' FROM generate_series(3, 4) i;
INSERT INTO t (id, n, s) VALUES (5, 1, 'conflict') ON CONFLICT (n) DO NOTHING;
INSERT INTO t (id, n, s) VALUES (5, 1, 'conflict') ON CONFLICT (n) DO UPDATE SET s = excluded.s;
INSERT INTO t (id, n, s) VALUES (5, 1, 'conflict') ON CONFLICT (n) DO UPDATE SET s = excluded.s;
MERGE INTO t USING (VALUES (2, 'merged'), (6, 'merged'), (3, NULL)) AS m (n, s) ON t.n = m.n
    WHEN MATCHED AND m.s IS NULL THEN DELETE
    WHEN MATCHED THEN UPDATE SET s = m.s
    WHEN NOT MATCHED THEN INSERT (id, n, s) VALUES (m.n, m.n, m.s);
UPDATE t SET s = 'from' FROM (VALUES (4)) AS f (n) WHERE t.n = f.n;
WITH moved AS (DELETE FROM t WHERE n = 4 RETURNING *) INSERT INTO t SELECT 40, n, 'written in a CTE' FROM moved;
UPDATE v SET s = 'through a view' WHERE id = 1;
INSERT INTO v VALUES (7, 7, 'through a view');
SELECT event_type, entity_id, payload -> 'data' ->> 's' AS s, payload -> 'previous_attributes' AS previous
  FROM seen WHERE entity_type = 't' ORDER BY id;

-- A transaction that is rolled back, as a whole or in part, leaves no event.
CREATE TABLE r (id int PRIMARY KEY);
SELECT outbox.track('r') IS NOT NULL AS tracked;
BEGIN;
INSERT INTO r VALUES (1);
ROLLBACK;
BEGIN;
INSERT INTO r VALUES (2);
SAVEPOINT a;
INSERT INTO r VALUES (3);
ROLLBACK TO a;
INSERT INTO r VALUES (4);
SAVEPOINT b;
INSERT INTO r VALUES (5);
RELEASE b;
COMMIT;
DO $$
BEGIN
    INSERT INTO r VALUES (6);
    BEGIN
        INSERT INTO r VALUES (7);
        RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
        INSERT INTO r VALUES (8);
    END;
    BEGIN
        INSERT INTO r VALUES (9);
        INSERT INTO r VALUES (6);
    EXCEPTION WHEN unique_violation THEN
        NULL;
    END;
END
$$;
SELECT entity_id FROM seen WHERE entity_type = 'r' ORDER BY id;
-- The events of a subtransaction carry the transaction's own id.
SELECT count(DISTINCT xid) AS transactions FROM seen WHERE entity_type = 'r' AND entity_id IN ('2', '4', '5');

-- Foreign keys: the rows that a cascade changes are changes like any other, after the one that caused them.
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE friend (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE SET NULL);
SELECT outbox.track(x::regclass) IS NOT NULL AS tracked FROM unnest(ARRAY['parent', 'child', 'friend']) x;
INSERT INTO parent VALUES (1);
INSERT INTO child VALUES (1, 1);
INSERT INTO friend VALUES (1, 1);
DELETE FROM parent;
SELECT event_type, payload FROM seen WHERE entity_type IN ('parent', 'child', 'friend') ORDER BY id;

-- BEFORE triggers have their say; an AFTER trigger that changes the row again comes after ours.
CREATE TABLE touched (id int PRIMARY KEY, s text, n int DEFAULT 0);
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_WHEN = 'BEFORE' THEN
        IF NEW.s = 'skip' THEN RETURN NULL; END IF;
        NEW.s := upper(NEW.s);
        RETURN NEW;
    END IF;
    UPDATE touched SET n = n + 1 WHERE id = NEW.id AND n < 2;
    RETURN NULL;
END
$$;
CREATE TRIGGER before_it BEFORE INSERT OR UPDATE ON touched FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TRIGGER after_it AFTER INSERT ON touched FOR EACH ROW EXECUTE FUNCTION touch();
SELECT outbox.track('touched') IS NOT NULL AS tracked;
INSERT INTO touched VALUES (1, 'a'), (2, 'skip');
SELECT event_type, payload FROM seen WHERE entity_type = 'touched' ORDER BY id;

-- The application's sequences are its own.
CREATE TABLE numbered (id bigserial PRIMARY KEY, s text);
SELECT outbox.track('numbered') IS NOT NULL AS tracked;
INSERT INTO numbered (s) VALUES ('a');
SELECT lastval(), currval('numbered_id_seq');
SELECT outbox.emit('x.y', '{}') IS NOT NULL AS emitted, lastval(), currval('numbered_id_seq');

-- Many rows in one statement: in the order the triggers fired.
CREATE TABLE many (id int PRIMARY KEY);
SELECT outbox.track('many') IS NOT NULL AS tracked;
INSERT INTO many SELECT generate_series(1, 5000);
SELECT count(*), bool_and(entity_id::int = place) AS in_order
  FROM (SELECT entity_id, row_number() OVER (ORDER BY id) AS place FROM seen WHERE entity_type = 'many') e;

SET client_min_messages = warning;
DROP SCHEMA statements CASCADE;
