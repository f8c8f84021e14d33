-- outbox.emit(): an event of the application's own.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
SELECT outbox.emit('order.placed', '{"total": 10.50, "lines": [1, 2]}') IS NOT NULL AS emitted;
SELECT outbox.emit('order.placed', '"text"', 'order', '17', 'customer 4', 'w1', 'p1', 'ann', 'SYSTEM.JOB', '3',
                   '{"tenant": "blue", "attempt": 2, "ratio": 0.5, "dry": false}', '0190a0b0-0000-7000-8000-000000000001');
-- By name; a null payload is JSON's, not SQL's.
SELECT outbox.emit(payload => 'null', event_type => 'order.noted', entity_type => 'order', entity_id => '18', headers => '{}') IS NOT NULL AS emitted;
SELECT event_type, entity_type, entity_id, ordering_key, payload, workspace_id, project_id, initiator_id, initiator_type, schema_version, headers
  FROM seen WHERE event_type LIKE 'order.%' ORDER BY id;

-- A second emit with the same event_id does nothing, whatever else it says.
SELECT outbox.emit('order.placed', '{"other": true}', event_id => '0190a0b0-0000-7000-8000-000000000001');
SELECT count(*) FROM seen WHERE event_id = '0190a0b0-0000-7000-8000-000000000001';
SELECT m.event_id, m.id = e.id AS same_id FROM outbox.emitted m JOIN seen e USING (event_id)
 WHERE m.event_id = '0190a0b0-0000-7000-8000-000000000001';
-- The first one was rolled back: then it is the first.
BEGIN;
SELECT outbox.emit('order.retried', '1', event_id => '0190a0b0-0000-7000-8000-000000000002');
ROLLBACK;
SELECT outbox.emit('order.retried', '2', event_id => '0190a0b0-0000-7000-8000-000000000002');
SELECT payload FROM seen WHERE event_type = 'order.retried';

-- The order inside a transaction is the order of the calls.
BEGIN;
SELECT outbox.emit('seq.' || i, to_jsonb(i)) IS NOT NULL AS emitted FROM generate_series(1, 3) i;
COMMIT;
SELECT event_type FROM seen WHERE event_type LIKE 'seq.%' ORDER BY id;

-- 255 bytes at most.
SELECT outbox.emit(repeat('x', 255), '{}') IS NOT NULL AS emitted;
SELECT outbox.emit(repeat('x', 256), '{}');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.emit('', '{}');
SELECT outbox.emit(NULL, '{}');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.emit('a.b', NULL);
-- Without an entity's type there is no key to order by.
SELECT outbox.emit('a.b', '{}', entity_id => '1');
SELECT outbox.emit('a.b', '{}', ordering_key => '1');
\echo :LAST_ERROR_SQLSTATE
-- Headers are scalars.
SELECT outbox.emit('a.b', '{}', headers => '[1]');
SELECT outbox.emit('a.b', '{}', headers => '1');
SELECT outbox.emit('a.b', '{}', headers => '{"a": {"b": 1}}');
SELECT outbox.emit('a.b', '{}', headers => '{"a": []}');
SELECT outbox.emit('a.b', '{}', headers => '{"a": null}');
SELECT outbox.emit('a.b', '{}', headers => '{"": 1}');
SELECT outbox.emit('a.b', '{}', headers => jsonb_build_object(repeat('h', 128), 1)) IS NOT NULL AS emitted;
SELECT outbox.emit('a.b', '{}', headers => jsonb_build_object(repeat('h', 129), 1));
\echo :LAST_ERROR_SQLSTATE
BEGIN READ ONLY;
SELECT outbox.emit('a.b', '{}');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

-- A row of the log comes from the library alone.
INSERT INTO outbox.event SELECT * FROM outbox.event LIMIT 1;
