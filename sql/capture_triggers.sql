-- Triggers beside ours, before and after it: each change is captured once, as the row was stored.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;

CREATE SCHEMA beside;
SET search_path = beside;

-- BEFORE triggers: what they make of the row counts.
CREATE TABLE early (id int PRIMARY KEY, s text, n int DEFAULT 0, touched int DEFAULT 0);
CREATE FUNCTION early() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RETURN CASE WHEN OLD.s = 'KEEP' THEN NULL ELSE OLD END;
    END IF;
    IF NEW.s = 'skip' THEN RETURN NULL; END IF;
    IF NEW.s = 'undo' THEN RETURN OLD; END IF;
    NEW.s := upper(NEW.s);
    IF TG_OP = 'UPDATE' AND NEW.s = 'TOUCH' THEN NEW.touched := NEW.touched + 1; END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER a_first BEFORE INSERT OR UPDATE OR DELETE ON early FOR EACH ROW EXECUTE FUNCTION early();
SELECT outbox.track('early') IS NOT NULL AS tracked;
INSERT INTO early VALUES (1, 'a'), (2, 'skip'), (3, 'keep');
UPDATE early SET s = 'skip';
UPDATE early SET s = 'undo';
UPDATE early SET s = 'a' WHERE id = 1;
UPDATE early SET s = 'touch' WHERE id = 1;
UPDATE early SET s = 'touch' WHERE id = 1;
DELETE FROM early;
SELECT event_type, payload FROM seen WHERE entity_type = 'early' ORDER BY id;

-- A delete that a trigger turns into a soft delete is one event.
CREATE TABLE softly (id int PRIMARY KEY, deleted_at date);
CREATE FUNCTION softly() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE softly SET deleted_at = '2024-01-01' WHERE id = OLD.id AND deleted_at IS NULL;
    RETURN NULL;
END
$$;
CREATE TRIGGER softly BEFORE DELETE ON softly FOR EACH ROW EXECUTE FUNCTION softly();
SELECT outbox.track('softly') IS NOT NULL AS tracked;
INSERT INTO softly VALUES (1);
DELETE FROM softly;
DELETE FROM softly;
SELECT event_type, payload FROM seen WHERE entity_type = 'softly' ORDER BY id;

-- AFTER triggers that change the row again, or other tables: after the change that fired them.
CREATE TABLE late (id int PRIMARY KEY, n int);
CREATE TABLE log (id serial PRIMARY KEY, what text);
CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO log (what) VALUES (TG_OP || NEW.id);
    UPDATE late SET n = n + 1 WHERE id = NEW.id AND n < 2;
    RETURN NULL;
END
$$;
CREATE TRIGGER late AFTER INSERT OR UPDATE ON late FOR EACH ROW EXECUTE FUNCTION late();
SELECT outbox.track(x::regclass) IS NOT NULL AS tracked FROM unnest(ARRAY['late', 'log']) x;
INSERT INTO late VALUES (1, 0);
SELECT event_type, payload -> 'data' AS data, payload -> 'previous_attributes' AS previous FROM seen
 WHERE entity_type IN ('late', 'log') ORDER BY id;

-- The limit: a ROW trigger that changes another row of the same statement. That row's own change waits in the queue
-- behind it, so the two are captured in the wrong order: as many events as changes, but the last one is not the row.
CREATE TABLE queue (id int PRIMARY KEY, place int, note text);
CREATE FUNCTION others() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE queue SET note = 'changed by the trigger' WHERE id > 1 AND note IS DISTINCT FROM 'changed by the trigger';
    RETURN NULL;
END
$$;
CREATE TRIGGER others AFTER UPDATE OF place ON queue FOR EACH ROW WHEN (NEW.id = 1) EXECUTE FUNCTION others();
SELECT outbox.track('queue') IS NOT NULL AS tracked;
INSERT INTO queue VALUES (1, 10), (2, 20);
UPDATE queue SET place = place + 1;
SELECT entity_id, payload -> 'data' AS data, payload -> 'previous_attributes' AS previous FROM seen
 WHERE event_type = 'queue.updated' ORDER BY id;
TABLE queue ORDER BY id;
-- FOR EACH STATEMENT, or as a deferred constraint trigger, it comes after all rows of the statement.
DROP TRIGGER others ON queue;
CREATE TRIGGER others AFTER UPDATE OF place ON queue FOR EACH STATEMENT EXECUTE FUNCTION others();
UPDATE queue SET place = place + 1, note = NULL;
SELECT entity_id, payload -> 'data' AS data, payload -> 'previous_attributes' AS previous FROM seen
 WHERE event_type = 'queue.updated' ORDER BY id OFFSET 3;
DROP TRIGGER others ON queue;
CREATE CONSTRAINT TRIGGER others AFTER UPDATE OF place ON queue DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.id = 1) EXECUTE FUNCTION others();
UPDATE queue SET place = place + 1, note = NULL;
SELECT entity_id, payload -> 'data' AS data, payload -> 'previous_attributes' AS previous FROM seen
 WHERE event_type = 'queue.updated' ORDER BY id OFFSET 6;

-- A trigger that changes the row again and fires before ours: the other limit, which outbox.track() warns of.
CREATE TABLE hasty (id int PRIMARY KEY, n int);
CREATE FUNCTION hasty() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE hasty SET n = 2 WHERE id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER "! hasty" AFTER INSERT ON hasty FOR EACH ROW EXECUTE FUNCTION hasty();
SELECT outbox.track('hasty') IS NOT NULL AS tracked;
INSERT INTO hasty VALUES (1, 1);
SELECT event_type, payload -> 'data' AS data FROM seen WHERE entity_type = 'hasty' ORDER BY id;

-- An error after the capture takes the event along.
CREATE TABLE refused (id int PRIMARY KEY);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE 'refused';
END
$$;
CREATE TRIGGER refuse AFTER INSERT ON refused FOR EACH ROW WHEN (NEW.id = 2) EXECUTE FUNCTION refuse();
SELECT outbox.track('refused') IS NOT NULL AS tracked;
INSERT INTO refused VALUES (1), (2), (3);
INSERT INTO refused VALUES (4);
SELECT entity_id FROM seen WHERE entity_type = 'refused' ORDER BY id;

DROP SCHEMA beside CASCADE;
