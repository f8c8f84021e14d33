-- Payloads that are too large for a message: max_event_size and on_oversize.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE SCHEMA oversize;
SET search_path = oversize;
CREATE VIEW written AS SELECT event_type AS type, entity_id, workspace_id, payload FROM outbox.event WHERE id > :start ORDER BY id;

-- Truncated by default: identity and context stay, and the size that it would have had is told.
CREATE TABLE doc (region text, id int, workspace_id int, body text, PRIMARY KEY (region, id));
SELECT outbox.track('doc', '{"max_event_size": 200}') -> 'max_event_size' AS max_event_size;
INSERT INTO doc VALUES ('eu', 1, 7, repeat('x', 100)), ('eu', 2, 7, repeat('x', 200));
UPDATE doc SET body = repeat('y', 300) WHERE id = 1;
SELECT type, entity_id, workspace_id, left(payload::text, 40) AS payload, payload -> 'truncated' AS truncated,
       payload -> 'size' AS size FROM written;
SELECT payload FROM written WHERE payload -> 'truncated' IS NOT NULL;

-- The size is the payload's: to the byte.
SELECT outbox.track('doc', jsonb_build_object('max_event_size', (SELECT octet_length(payload::text) FROM written LIMIT 1))) IS NOT NULL AS tracked;
INSERT INTO doc VALUES ('us', 1, 7, repeat('x', 100));
INSERT INTO doc VALUES ('us', 2, 7, repeat('x', 101));
SELECT entity_id, payload -> 'truncated' AS truncated FROM written WHERE entity_id LIKE '["us"%';

-- Or the statement fails.
SELECT outbox.track('doc', '{"max_event_size": 200, "on_oversize": "block"}') -> 'on_oversize' AS on_oversize;
\set VERBOSITY default
INSERT INTO doc VALUES ('eu', 3, 7, repeat('x', 200));
\set VERBOSITY terse
SELECT count(*) FROM doc;

-- The setting counts where the rule says nothing.
SELECT outbox.track('doc', '{}') -> 'max_event_size' AS max_event_size;
SHOW outbox_relay.max_event_size;
INSERT INTO doc VALUES ('eu', 4, 7, repeat('x', 15 * 1024 * 1024));
SELECT entity_id, payload -> 'truncated' AS truncated, payload -> 'size' AS size FROM written WHERE entity_id = '["eu",4]';

-- A key that is too large by itself is left out as well: it is in entity_id.
CREATE TABLE big_key (id text PRIMARY KEY, body text);
SELECT outbox.track('big_key', '{"max_event_size": 150}') IS NOT NULL AS tracked;
INSERT INTO big_key VALUES (repeat('k', 79), repeat('x', 200)), (repeat('k', 80), repeat('x', 200)), (repeat('k', 2000), NULL);
SELECT length(entity_id) AS id_length, octet_length(payload::text) AS size, payload -> 'size' AS said, payload -> 'data' -> 'id' IS NOT NULL AS has_id
  FROM written OFFSET 6;
-- Or by far: it is not written to be measured, and could not be. 140 million bytes that would each become six.
ALTER TABLE big_key ALTER body SET STORAGE EXTENDED;
SELECT outbox.track('big_key') IS NOT NULL AS tracked;
INSERT INTO big_key VALUES ('giant', repeat(chr(1), 140000000));
UPDATE big_key SET body = 'small' WHERE id = 'giant';
SELECT payload FROM written OFFSET 9;
SELECT outbox.track('big_key', '{"on_oversize": "block"}') IS NOT NULL AS tracked;
\set VERBOSITY default
INSERT INTO big_key VALUES ('blocked', repeat(chr(1), 140000000));
\set VERBOSITY terse

SELECT outbox.track('doc', '{"max_event_size": 0}');
SELECT outbox.track('doc', '{"max_event_size": 1.5}');
SELECT outbox.track('doc', '{"max_event_size": 1e100}');
SELECT outbox.track('doc', '{"max_event_size": "1"}');
SELECT outbox.track('doc', '{"on_oversize": "drop"}');
SELECT outbox.track('doc', '{"on_failure": "ignore"}');
SELECT outbox.track('doc', '{"numbers": "text"}');
SELECT outbox.track('doc', '{"serialize": "yes"}');
SELECT outbox.track('doc', '{"mask": {"body": "hide"}}');
SELECT outbox.track('doc', '{"mask": {"boddy": "redact"}}');
SELECT outbox.track('doc', '{"mask": {"id": "redact"}}');
SELECT outbox.track('doc', '{"mask": {}}');

DROP SCHEMA oversize CASCADE;
