-- Parallel plans: no worker ever writes an event; workers read the transaction's own.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;

CREATE SCHEMA par;
SET search_path = par;
CREATE TABLE source AS SELECT i AS id, i % 10 AS n FROM generate_series(1, 20000) i;
ANALYZE source;
CREATE TABLE t (id int PRIMARY KEY, n int);
SELECT outbox.track('t') IS NOT NULL AS tracked;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
-- Does the plan of a query use workers?
CREATE FUNCTION is_parallel(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
        IF line LIKE '%Gather%' THEN RETURN true; END IF;
    END LOOP;
    RETURN false;
END
$$;
SELECT is_parallel('SELECT count(*) FROM source') AS the_settings_work;

-- Statements that write, from what could be read in parallel.
SELECT is_parallel('INSERT INTO t SELECT * FROM source WHERE n > 7') AS insert_select,
       is_parallel('UPDATE t SET n = 1 FROM source WHERE source.id = t.id AND source.n > 7') AS update_from,
       is_parallel($$SELECT outbox.emit('a.b', '{}') FROM source$$) AS emit;
INSERT INTO t SELECT * FROM source WHERE n > 7;
UPDATE t SET n = 1 FROM source WHERE source.id = t.id AND source.n > 7;
WITH gone AS (DELETE FROM t WHERE id IN (SELECT id FROM source WHERE n = 8) RETURNING id) SELECT count(*) FROM gone;
SELECT event_type, count(*), count(DISTINCT entity_id) FROM seen WHERE entity_type = 't' GROUP BY 1 ORDER BY 1;
SELECT count(outbox.emit('par.emitted', to_jsonb(id))) FROM source WHERE n = 8;
SELECT count(*), count(DISTINCT payload::text) FROM seen WHERE event_type = 'par.emitted';
-- A function that wrongly says it is safe is stopped by the server, and leaves nothing.
CREATE FUNCTION unsafe(int) RETURNS int LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN INSERT INTO t VALUES (-$1, 0); RETURN $1; END';
\set VERBOSITY terse
SELECT sum(unsafe(id)) FROM source;
\set VERBOSITY default
SELECT count(*) FROM seen WHERE event_type = 't.created' AND entity_id LIKE '-%';
-- Workers see the events of a transaction that has not ended.
BEGIN;
INSERT INTO t SELECT -id, n FROM source WHERE n = 9;
SELECT is_parallel('SELECT count(*) FROM outbox.event');
SELECT count(*) FROM outbox.event WHERE entity_type = 't' AND entity_id LIKE '-%';
ROLLBACK;
SELECT count(*) FROM outbox.event WHERE entity_type = 't' AND entity_id LIKE '-%';

DROP SCHEMA par CASCADE;
