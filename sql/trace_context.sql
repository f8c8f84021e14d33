-- The trace that a transaction belongs to, in the headers of its events.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW headers AS SELECT event_type, headers FROM outbox.event WHERE id > :start ORDER BY id;
CREATE TABLE traced (id int PRIMARY KEY);
SELECT outbox.track('traced') IS NOT NULL AS tracked;
RESET client_min_messages;

INSERT INTO traced VALUES (1);
SET outbox_relay.traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
INSERT INTO traced VALUES (2);
SET outbox_relay.tracestate = 'rojo=1,congo=2';
UPDATE traced SET id = 3 WHERE id = 2;
SELECT outbox.emit('emitted', '{}') IS NOT NULL AS emitted;
SELECT outbox.emit('with headers', '{}', headers => '{"tenant": "blue"}') IS NOT NULL AS emitted;
SELECT outbox.emit('with its own trace', '{}', headers => '{"traceparent": "mine"}') IS NOT NULL AS emitted;
TRUNCATE traced;
SELECT * FROM headers;

-- Of a transaction, or of a part of it.
BEGIN;
SET LOCAL outbox_relay.traceparent = '00-11111111111111111111111111111111-2222222222222222-00';
RESET outbox_relay.tracestate;
INSERT INTO traced VALUES (10);
SAVEPOINT part;
SET LOCAL outbox_relay.traceparent = '00-33333333333333333333333333333333-4444444444444444-00';
INSERT INTO traced VALUES (11);
ROLLBACK TO part;
INSERT INTO traced VALUES (12);
SELECT * FROM headers OFFSET 7;
ROLLBACK;

-- What is no trace aborts nothing.
SET outbox_relay.traceparent = 'garbage';
INSERT INTO traced VALUES (20);
SET outbox_relay.traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
SET outbox_relay.tracestate = 'gar bage';
INSERT INTO traced VALUES (21);
SET outbox_relay.traceparent = '';
INSERT INTO traced VALUES (22);
SELECT * FROM headers OFFSET 7;
RESET outbox_relay.traceparent;
RESET outbox_relay.tracestate;

-- A role that may do nothing else may set it.
CREATE ROLE outbox_tracer;
SET ROLE outbox_tracer;
SET outbox_relay.traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
RESET outbox_relay.traceparent;
RESET ROLE;

DROP ROLE outbox_tracer;
DROP VIEW headers;
DROP TABLE traced;
