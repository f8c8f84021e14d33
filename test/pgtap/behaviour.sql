-- What a database administrator relies on.
BEGIN;
CREATE EXTENSION pgtap;
SELECT no_plan();

CREATE TABLE public.outbox_test (id bigint PRIMARY KEY, name text);
SELECT lives_ok($$SELECT outbox.track('public.outbox_test')$$, 'a table is tracked');
SELECT results_eq($$SELECT target::text, enabled FROM outbox.rules WHERE target = 'public.outbox_test'::regclass$$,
    $$VALUES ('outbox_test', 'origin')$$, 'the view rules shows it');
SELECT is(outbox.track('public.outbox_test'), (SELECT rule FROM outbox.rules WHERE target = 'public.outbox_test'::regclass),
    'tracking it again does nothing and returns the rule in force');

INSERT INTO public.outbox_test VALUES (1, 'one');
SAVEPOINT inner_work;
INSERT INTO public.outbox_test VALUES (2, 'two');
ROLLBACK TO SAVEPOINT inner_work;
SELECT results_eq($$SELECT entity_id, event_type FROM outbox.event WHERE entity_type = 'outbox_test' ORDER BY id$$,
    $$VALUES ('1', 'outbox_test.created')$$, 'a savepoint that is rolled back takes its events with it');

SELECT throws_ok($$INSERT INTO outbox.event (id, xid, slice, event_id, event_type, payload, created_at)
    VALUES (1, pg_current_xact_id(), 0, gen_random_uuid(), 'a', '{}', now())$$, '55000', NULL, 'nobody inserts into the log');
SELECT throws_ok($$UPDATE outbox.event SET event_type = 'other'$$, '55000', NULL, 'nobody changes the log');
SELECT throws_ok($$DELETE FROM outbox.event$$, '55000', NULL, 'nobody deletes from the log');
SELECT throws_ok($$SELECT outbox.track('pg_class', NULL)$$, '22004', NULL, 'a null rule is no rule: nothing is skipped silently');
SELECT throws_ok($$SELECT outbox.alter_relay('default', NULL)$$, '22004', NULL, 'nor are null options');
SELECT throws_ok($$TRUNCATE outbox.event$$, '55000', NULL, 'nobody truncates the log');
SELECT throws_ok($$TRUNCATE outbox.event_3$$, '55000', NULL, 'nor a slice of it');
SELECT throws_ok($$SELECT outbox.emit('a', '{}', headers => jsonb_build_object('h', repeat('x', 5000)))$$, '54000', NULL,
    'headers that fit no frame are refused before they can stop a lane');

SAVEPOINT no_default;
UPDATE outbox.installation SET default_relay = false;
SELECT throws_ok($$SELECT outbox.alter_relay('default', '{}')$$, '42704', NULL,
    'the relay default is not made by itself where the installation says so');
ROLLBACK TO SAVEPOINT no_default;

CREATE SEQUENCE public.outbox_test_sequence;
SELECT setval('public.outbox_test_sequence', 41);
SELECT nextval('public.outbox_test_sequence');
INSERT INTO public.outbox_test VALUES (3, 'three');
SELECT is(lastval(), 42::bigint, 'capture does not change what lastval() returns');

SELECT is(outbox.emit('order.paid', '{}', event_id => '6ba7b810-9dad-41d1-80b4-00c04fd430c8'),
    '6ba7b810-9dad-41d1-80b4-00c04fd430c8'::uuid, 'emit takes an event id of the caller''s');
SELECT is(outbox.emit('order.paid', '{}', event_id => '6ba7b810-9dad-41d1-80b4-00c04fd430c8'),
    '6ba7b810-9dad-41d1-80b4-00c04fd430c8'::uuid, 'and takes it a second time');
SELECT is((SELECT count(*)::int FROM outbox.event WHERE event_type = 'order.paid'), 1, 'but writes it once');

SET LOCAL session_replication_role = replica;
INSERT INTO public.outbox_test VALUES (4, 'four');
SET LOCAL session_replication_role = origin;
SELECT is_empty($$SELECT 1 FROM outbox.event WHERE entity_type = 'outbox_test' AND entity_id = '4'$$,
    'what replication applies is not captured');

SELECT lives_ok($$SELECT outbox.untrack('public.outbox_test')$$, 'a table is untracked');
SELECT is_empty($$SELECT 1 FROM pg_trigger WHERE tgrelid = 'public.outbox_test'::regclass$$, 'which leaves no trigger behind');

SELECT * FROM finish();
ROLLBACK;
