-- Views, rules and INSTEAD OF triggers: what changes in the table is captured, by whatever name it was reached.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;

CREATE SCHEMA views;
SET search_path = views;

CREATE TABLE t (id int PRIMARY KEY, a text, b text DEFAULT 'default');
SELECT outbox.track('t') IS NOT NULL AS tracked;
CREATE VIEW simple AS SELECT id, a AS renamed FROM t WHERE id < 100 WITH CHECK OPTION;
CREATE VIEW stacked AS SELECT id, renamed AS again FROM simple WHERE id > 0;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM t;

INSERT INTO simple VALUES (1, 'a'), (2, 'b');
INSERT INTO simple VALUES (100, 'fails the check');
UPDATE stacked SET again = 'c' WHERE id = 1;
UPDATE barrier SET b = 'd' WHERE id = 2;
INSERT INTO simple VALUES (1, 'e') ON CONFLICT (id) DO UPDATE SET renamed = excluded.renamed;
INSERT INTO barrier VALUES (3, 'f', 'g');
DELETE FROM stacked WHERE id = 3;
DELETE FROM stacked WHERE id = 100;
SELECT event_type, payload FROM seen WHERE entity_type = 't' ORDER BY id;

-- INSTEAD OF: the trigger's own writes count, not the view's row.
CREATE VIEW joined AS SELECT t.id, t.a, length(t.b) AS size FROM t JOIN t u USING (id);
CREATE FUNCTION instead() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO t VALUES (NEW.id, NEW.a), (NEW.id + 10, NEW.a);
    ELSIF NEW.a <> 'ignored' THEN
        UPDATE t SET a = NEW.a WHERE id = NEW.id;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER instead INSTEAD OF INSERT OR UPDATE ON joined FOR EACH ROW EXECUTE FUNCTION instead();
INSERT INTO joined VALUES (4, 'h');
COPY joined (id, a) FROM stdin;
5	copied
\.
UPDATE joined SET a = 'ignored';
UPDATE joined SET a = 'i' WHERE id = 14;
SELECT event_type, payload FROM seen WHERE entity_type = 't' ORDER BY id OFFSET 7;

-- Rules.
CREATE TABLE ruled (id int PRIMARY KEY, n int, deleted_at date);
CREATE TABLE copy (id int PRIMARY KEY, n int);
CREATE RULE soft AS ON DELETE TO ruled DO INSTEAD UPDATE ruled SET deleted_at = '2024-01-01' WHERE id = OLD.id AND deleted_at IS NULL;
CREATE RULE also AS ON INSERT TO ruled DO ALSO INSERT INTO copy VALUES (NEW.id, NEW.n);
CREATE RULE never AS ON UPDATE TO copy DO INSTEAD NOTHING;
SELECT outbox.track(x::regclass) IS NOT NULL AS tracked FROM unnest(ARRAY['ruled', 'copy']) x;
INSERT INTO ruled VALUES (1, 1);
DELETE FROM ruled;
DELETE FROM ruled;
UPDATE copy SET n = 2;
SELECT event_type, payload FROM seen WHERE entity_type IN ('ruled', 'copy') ORDER BY id;

DROP SCHEMA views CASCADE;
