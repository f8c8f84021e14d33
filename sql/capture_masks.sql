-- What a rule hides, and numbers for readers that would round them.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
CREATE SCHEMA masks;

CREATE TABLE masks.person (id bigint PRIMARY KEY, name text, email text, born date, notes jsonb, salary numeric);
SELECT outbox.track('masks.person', '{"mask": {"email": "redact", "born": "null", "notes": "redact", "salary": "null"}}') -> 'mask' AS mask;
INSERT INTO masks.person VALUES (1, 'Ann', 'ann@example.org', '1990-01-01', '{"a": 1}', 'NaN'), (2, 'Bob', NULL, NULL, NULL, NULL);
-- A masked column that changes is a change, and its old value is masked, too.
UPDATE masks.person SET email = 'ann@example.com', born = NULL WHERE id = 1;
UPDATE masks.person SET email = email;
DELETE FROM masks.person WHERE id = 1;
SELECT event_type, entity_id, payload FROM seen WHERE entity_type = 'person' ORDER BY id;

-- A hash without a salt would hide nothing that can be guessed.
SELECT outbox.track('masks.person', '{"mask": {"email": "sha256"}}');
SELECT outbox.track('masks.person', '{"mask": {"email": "rot13"}}');
SELECT outbox.track('masks.person', '{"mask": {"mail": "redact"}}');
SELECT outbox.track('masks.person', '{"mask": {"id": "redact"}}');

CREATE DOMAIN masks.amount AS numeric;
CREATE TYPE masks.pair AS (a int8, b numeric);
CREATE TABLE masks.ledger (id int8 PRIMARY KEY, total numeric, fee masks.amount, small int4, ratio float8, many int8[], pair masks.pair);
SELECT outbox.track('masks.ledger', '{"numbers": "string", "ordering_key": ["id", "small"]}') -> 'numbers' AS numbers;
INSERT INTO masks.ledger VALUES (9223372036854775807, 0.10, 1e30, 7, 0.5, '{1}', '(1,2)'), (-1, 'NaN', '-Infinity', NULL, NULL, NULL, NULL);
UPDATE masks.ledger SET total = 12345678901234567890.5 WHERE id = -1;
SELECT entity_id, ordering_key, payload FROM seen WHERE entity_type = 'ledger' ORDER BY id;
SELECT outbox.track('masks.ledger', '{"numbers": "float"}');

SET client_min_messages = warning;
DROP SCHEMA masks CASCADE;
