-- What can be tracked, and by whom.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
CREATE SCHEMA targets;
SET search_path = targets;

CREATE TABLE t (id int PRIMARY KEY);
CREATE TABLE keyless (n int);
CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY);
CREATE VIEW v AS SELECT * FROM t;
CREATE MATERIALIZED VIEW m AS SELECT * FROM t;
CREATE SEQUENCE s;
CREATE TYPE c AS (a int);
CREATE TEMP TABLE temporary (id int PRIMARY KEY);
CREATE FOREIGN DATA WRAPPER targets_fdw;
CREATE SERVER targets_server FOREIGN DATA WRAPPER targets_fdw;
CREATE FOREIGN TABLE f (id int) SERVER targets_server;

SELECT outbox.track('keyless');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.track('v');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.track('m');
SELECT outbox.track('s');
SELECT outbox.track('c');
SELECT outbox.track('f');
SELECT outbox.track('t_pkey');
SELECT outbox.track('temporary');
SELECT outbox.track('pg_class');
SELECT outbox.track('outbox.event');
SELECT outbox.track('outbox.event_0');
SELECT outbox.track('outbox.relay');
SELECT outbox.untrack('v', true);
SELECT outbox.track(4000000000);
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.track('no_such_table');
SELECT outbox.track('unlogged') IS NOT NULL AS tracked;

-- Nothing is granted to the public.
CREATE ROLE regress_outbox_owner;
CREATE ROLE regress_outbox_writer;
GRANT USAGE, CREATE ON SCHEMA targets TO regress_outbox_owner, regress_outbox_writer;
SET ROLE regress_outbox_owner;
CREATE TABLE owned (id int PRIMARY KEY);
GRANT SELECT, INSERT ON owned TO regress_outbox_writer;
SELECT outbox.track('owned');
RESET ROLE;
GRANT USAGE ON SCHEMA outbox TO regress_outbox_owner;
SET ROLE regress_outbox_owner;
SELECT outbox.track('owned');
RESET ROLE;
GRANT EXECUTE ON FUNCTION outbox.track(regclass, jsonb), outbox.untrack(regclass, boolean) TO regress_outbox_owner;
SET ROLE regress_outbox_owner;
SELECT outbox.track('owned');
RESET ROLE;
GRANT EXECUTE ON FUNCTION outbox.capture() TO regress_outbox_owner;
SET ROLE regress_outbox_owner;
SELECT outbox.track('owned') ->> 'entity' AS entity;
-- Another's table.
SELECT outbox.track('t');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.untrack('t', true);
-- Who may write the table needs nothing more.
SET ROLE regress_outbox_writer;
INSERT INTO owned VALUES (1);
SELECT outbox.emit('a.b', '{}');
TABLE outbox.event;
RESET ROLE;
SELECT event_type, entity_id FROM seen WHERE entity_type = 'owned';
SET ROLE regress_outbox_owner;
SELECT outbox.untrack('owned');
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA targets CASCADE;
DROP SERVER targets_server CASCADE;
DROP FOREIGN DATA WRAPPER targets_fdw;
DROP OWNED BY regress_outbox_owner, regress_outbox_writer;
DROP ROLE regress_outbox_owner, regress_outbox_writer;
