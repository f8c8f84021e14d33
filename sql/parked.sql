-- Decisions about events that did not get through: outbox.skip, redrive, discard, retry. No broker is set here: nothing is sent.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
DELETE FROM outbox.parked;
RESET client_min_messages;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW aside AS
    SELECT event_type, entity_id, payload, state, reason, attempts, next_attempt_at IS NOT NULL AS has_next, late, blocking,
           key_hash IS NOT NULL AS ordered, routing_key, regexp_replace(last_error, 'by .*:', 'by somebody:') AS last_error
      FROM outbox.parked WHERE id > :start ORDER BY id;

SELECT outbox.emit('order.placed', '{"total": 10}', 'order', '1') IS NOT NULL AS emitted;
SELECT outbox.emit('order.paid', '{}', 'order', '1') IS NOT NULL AS emitted;
SELECT outbox.emit('ping', '1', headers => '{"a": 1}') IS NOT NULL AS emitted;
SELECT id AS placed FROM outbox.event WHERE id > :start AND event_type = 'order.placed' \gset
SELECT id AS paid FROM outbox.event WHERE id > :start AND event_type = 'order.paid' \gset
SELECT id AS ping FROM outbox.event WHERE id > :start AND event_type = 'ping' \gset

-- An event of the log is given up: a dead row with a full copy, by the relay's routing key.
SELECT outbox.alter_relay('default', '{"routing_key": "{entity_type}.{event_type}"}');
SELECT outbox.skip('default', :placed, 'test data');
SELECT outbox.skip('default', :ping, 'not needed');
SELECT * FROM aside;
SELECT count(*) FROM outbox.parked p JOIN outbox.event e USING (id, xid, event_id, event_type, initiator_type, created_at)
 WHERE id > :start AND p.payload::text = e.payload::text AND p.headers IS NOT DISTINCT FROM e.headers;
-- Neither blocks its key.
SELECT count(*) FROM outbox.blocked_keys;

-- What cannot be skipped.
\set VERBOSITY terse
SELECT outbox.skip('nobody', :paid, 'x');
SELECT outbox.skip('default', 1, 'x');
SELECT outbox.skip('default', NULL, 'x');
SELECT outbox.skip('default', :paid, NULL);
\set VERBOSITY sqlstate
SELECT outbox.skip('default', :placed, 'again');

-- Until the relay has passed it in the log its row stays: without it, the event would be sent.
SELECT outbox.discard('default', :placed);
SELECT outbox.discard('default', :paid);
\set VERBOSITY default
SELECT outbox.discard('default');

-- Dead ones are sent after all. One with a key is late: its key went on without it.
SELECT outbox.redrive('default', :placed);
SELECT outbox.redrive('default');
SELECT outbox.redrive('default');
SELECT event_type, state, reason, attempts, late, blocking FROM aside;
-- It is the first of its key now, and a parked event can be skipped as well.
SELECT relay, entity_type, ordering_key, id = :placed AS is_placed, state, reason, waiting, next_attempt_at, last_error LIKE 'skipped%' AS has_error
  FROM outbox.blocked_keys;
\set VERBOSITY sqlstate
SELECT outbox.redrive('default', :placed);
SELECT outbox.redrive('default', :paid);
SELECT outbox.redrive('nobody');
\set VERBOSITY default
SELECT outbox.skip('default', :placed, 'still not wanted');
SELECT event_type, state, reason FROM aside;

-- What a lane has parked. Attempts that are not due are made so; what waits for another is not counted.
UPDATE outbox.parked SET state = 'parked', reason = 'refused', attempts = 3, next_attempt_at = now() + interval '1 hour' WHERE id = :placed;
UPDATE outbox.parked SET reason = 'unroutable', next_attempt_at = now() + interval '1 hour' WHERE id = :ping;
INSERT INTO outbox.parked SELECT (jsonb_populate_record(p, jsonb_build_object('id', :paid, 'reason', 'waiting', 'next_attempt_at', NULL))).*
  FROM outbox.parked p WHERE id = :placed;
SELECT outbox.retry('default');
SELECT event_type, reason, next_attempt_at <= now() AS due FROM outbox.parked ORDER BY id;
SELECT ordering_key, reason, waiting FROM outbox.blocked_keys;
SELECT outbox.retry('nobody');
SELECT outbox.retry(NULL);

-- A dead one keeps its key waiting where its owner wants that; redriven, it is not late.
UPDATE outbox.parked SET state = 'dead', blocking = true, late = false WHERE id = :placed;
SELECT state, reason, waiting FROM outbox.blocked_keys;
SELECT outbox.redrive('default', :placed);
SELECT event_type, state, reason, late, blocking FROM outbox.parked WHERE id = :placed;
UPDATE outbox.parked SET state = 'dead', blocking = true WHERE id = :placed;
SELECT outbox.skip('default', :placed, 'enough');
SELECT event_type, state, reason, late, blocking FROM outbox.parked WHERE id = :placed;

-- Discarded: dead ones, or any by its id. Counted in outbox.stats(), if it commits.
SELECT outbox.discard('default');
UPDATE outbox.parked SET id = id - 1000000000; -- of events that the log does not have any more
SELECT discarded AS before FROM outbox.stats() WHERE relay = 'default' \gset
BEGIN;
SELECT outbox.discard('default');
ROLLBACK;
SELECT outbox.discard('default', reason => 'spring cleaning');
SELECT outbox.discard('default', :ping - 1000000000);
SELECT outbox.discard('default', :paid - 1000000000, NULL);
SELECT discarded - :before AS discarded, parked, dead FROM outbox.stats() WHERE relay = 'default';
\set VERBOSITY sqlstate
SELECT outbox.discard('default', :paid);
\set VERBOSITY default
SELECT outbox.discard(NULL);

-- The workers are told at commit: such a transaction cannot be prepared.
BEGIN;
SELECT outbox.retry('default');
PREPARE TRANSACTION 'retry';
SELECT outbox.alter_relay('default', '{"routing_key": null}');
