-- Generated, identity and dropped columns: the row as it is stored.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;

CREATE SCHEMA columns;
SET search_path = columns;

-- Generated: it changes with what it is made of; a BEFORE trigger does not see it, we do.
CREATE TABLE made (id int GENERATED ALWAYS AS IDENTITY (START 10) PRIMARY KEY, n int, note text,
                   double int GENERATED ALWAYS AS (n * 2) STORED, sign int GENERATED ALWAYS AS (sign(n)) STORED);
SELECT outbox.track('made', '{"ordering_key": "sign"}') IS NOT NULL AS tracked;
INSERT INTO made (n) VALUES (4);
UPDATE made SET n = 5;
UPDATE made SET note = 'a';
UPDATE made SET n = DEFAULT;
INSERT INTO made (id, n) OVERRIDING SYSTEM VALUE VALUES (3, -1);
INSERT INTO made (id, n) OVERRIDING USER VALUE VALUES (4, -2);
UPDATE made SET id = DEFAULT WHERE id = 3;
SELECT event_type, entity_id, ordering_key, payload -> 'data' AS data, payload -> 'previous_attributes' AS previous FROM seen
 WHERE entity_type = 'made' ORDER BY id;
-- Only a generated column is captured.
SELECT outbox.track('made', '{"entity": "signs", "columns": ["sign"]}') IS NOT NULL AS tracked;
UPDATE made SET n = -n;
UPDATE made SET n = n - 1;
SELECT event_type, entity_id, payload FROM seen WHERE entity_type = 'signs' ORDER BY id;
ALTER TABLE made ALTER COLUMN sign DROP EXPRESSION;
UPDATE made SET sign = 7 WHERE id = 11;
SELECT event_type, entity_id, payload FROM seen WHERE entity_type = 'signs' ORDER BY id DESC LIMIT 1;

-- Dropped: first, in the middle, last; before and after tracking; and a column of the same name again.
CREATE TABLE gaps (a int, id int PRIMARY KEY, b int, c text, d int);
ALTER TABLE gaps DROP COLUMN a, DROP COLUMN d;
INSERT INTO gaps VALUES (1, 1, 'older than the rule');
SELECT outbox.track('gaps') IS NOT NULL AS tracked;
UPDATE gaps SET c = 'x';
ALTER TABLE gaps DROP COLUMN b;
UPDATE gaps SET c = 'y';
ALTER TABLE gaps ADD COLUMN b text DEFAULT 'anew', ADD COLUMN e int;
UPDATE gaps SET c = 'z';
UPDATE gaps SET b = NULL, e = 1;
DELETE FROM gaps;
SELECT event_type, payload FROM seen WHERE entity_type = 'gaps' ORDER BY id;

DROP SCHEMA columns CASCADE;
