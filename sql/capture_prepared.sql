-- Prepared transactions: the events are there once the second phase commits them.
-- (capture_prepared_1.out is for a server without max_prepared_transactions.)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
CREATE SCHEMA prepared;
SET search_path = prepared;

CREATE TABLE p (id int PRIMARY KEY);
SELECT outbox.track('p') IS NOT NULL AS tracked;
BEGIN;
INSERT INTO p VALUES (1);
PREPARE TRANSACTION 'outbox_kept';
BEGIN;
INSERT INTO p VALUES (2);
PREPARE TRANSACTION 'outbox_dropped';
SELECT entity_id FROM seen WHERE entity_type = 'p' ORDER BY id;
COMMIT PREPARED 'outbox_kept';
ROLLBACK PREPARED 'outbox_dropped';
SELECT entity_id FROM seen WHERE entity_type = 'p' ORDER BY id;

SET client_min_messages = warning;
DROP SCHEMA prepared CASCADE;
