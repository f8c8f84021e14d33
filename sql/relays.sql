-- Relays are made, changed and dropped by SQL; a broker is not needed for that.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
CREATE FUNCTION pg_temp.try(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    hint text;
BEGIN
    EXECUTE statement;
    RETURN 'done';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    RETURN SQLSTATE || ': ' || SQLERRM || E'\nHINT: ' || hint;
END
$$;

BEGIN;
SELECT outbox.create_relay('search', '{"exchange": "search", "event_types": ["order.*", "!order.draft"], "start": "beginning"}');
SELECT outbox.create_relay('audit');
SELECT outbox.alter_relay('audit', '{"entities": "order"}');
SELECT relay_id > 1 AS has_own_id, name, options, lanes, paused_at FROM outbox.relay WHERE name <> 'default' ORDER BY relay_id;

-- Making one makes the relay default, too, or it would begin with the next event.
SELECT count(*) FROM outbox.relay WHERE name = 'default';

-- What starts now has a position behind all that is committed; what starts at the beginning has the log before it.
SELECT r.name, p.done::text = '1:1:' AS from_the_first, p.upper IS NOT NULL AS has_window, p.last_id
  FROM outbox.relay r JOIN outbox.progress p USING (relay_id) WHERE r.name IN ('search', 'audit') ORDER BY 1;

-- Which events are a relay's.
SELECT outbox.lane_of(r.relay_id, 1, event_type, 'order', '1', NULL, 'USER') AS lane, event_type
  FROM outbox.relay r, (VALUES ('order.paid'), ('order.draft'), ('invoice.paid')) AS e (event_type) WHERE r.name = 'search';
SELECT outbox.lane_of(0, 1, 'order.paid', 'order', '1', NULL, 'USER') AS of_no_relay;

SELECT outbox.pause('search', 'to see');
SELECT paused_at IS NOT NULL AS paused, paused_by = session_user AS by_me, pause_reason FROM outbox.relay WHERE name = 'search';
SELECT relay, lane, state, detail LIKE 'by %: to see' AS says_why, since IS NOT NULL AS says_since FROM outbox.stats() WHERE relay = 'search';
SELECT outbox.resume('search');
SELECT paused_at, paused_by, pause_reason FROM outbox.relay WHERE name = 'search';

SELECT outbox.drop_relay('search');
SELECT count(*) FROM outbox.progress p WHERE NOT EXISTS (SELECT FROM outbox.relay r WHERE r.relay_id = p.relay_id);
SELECT outbox.drop_relay('default');
SELECT default_relay FROM outbox.installation;
ROLLBACK;

-- What is refused
SELECT pg_temp.try($$SELECT outbox.create_relay('', '{}')$$);
SELECT pg_temp.try(format('SELECT outbox.create_relay(%L)', repeat('x', 64)));
SELECT pg_temp.try($$SELECT outbox.create_relay('a'), outbox.create_relay('a')$$);
SELECT pg_temp.try($$SELECT outbox.create_relay('a', '[]')$$);
SELECT pg_temp.try($$SELECT outbox.create_relay('a', '{"event_types": []}')$$);
SELECT pg_temp.try($$SELECT outbox.create_relay('a', '{"event_types": ["x", 1]}')$$);
SELECT pg_temp.try($$SELECT outbox.create_relay('a', '{"start": "infinity"}')$$);
SELECT pg_temp.try($$SELECT outbox.create_relay('a', '{"start": "2999-01-01"}')$$);
SELECT pg_temp.try($$SELECT outbox.create_relay('a', '{"start": 1}')$$);
SELECT pg_temp.try($$SELECT outbox.alter_relay('default', '{"start": "now"}')$$);
SELECT pg_temp.try($$SELECT outbox.pause('nobody')$$);
SELECT pg_temp.try($$SELECT outbox.resume('nobody')$$);
SELECT pg_temp.try($$SELECT outbox.drop_relay('nobody')$$);
SELECT pg_temp.try($$SELECT outbox.pause(NULL)$$);
SELECT count(*) FROM outbox.relay WHERE name <> 'default';
