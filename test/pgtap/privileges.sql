-- Who may do what: nothing is granted to the public, monitoring to pg_monitor.
BEGIN;
CREATE EXTENSION pgtap;
SELECT no_plan();

SELECT is_empty($$
    SELECT p.oid::regprocedure, a.grantee FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
     WHERE p.pronamespace = 'outbox'::regnamespace AND a.grantee = 0$$, 'no function can be executed by PUBLIC');
SELECT is_empty($$
    SELECT c.relname, a.privilege_type FROM pg_class c, aclexplode(c.relacl) AS a
     WHERE c.relnamespace = 'outbox'::regnamespace AND a.grantee = 0$$, 'PUBLIC has no privilege on any table or view');
SELECT is_empty($$
    SELECT a.privilege_type FROM pg_namespace n, aclexplode(n.nspacl) AS a
     WHERE n.nspname = 'outbox' AND a.grantee = 0$$, 'PUBLIC has no privilege on the schema');

SELECT is_empty($$
    SELECT p.oid::regprocedure FROM pg_proc p
     WHERE p.pronamespace = 'outbox'::regnamespace AND p.proname <> 'capture'
       AND NOT coalesce(p.proconfig @> ARRAY['search_path=pg_catalog, pg_temp'], false)$$,
    'every function has a fixed search_path, but capture: nothing in it looks a name up, and a SET would cost each row');
SELECT is(ARRAY(SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'outbox'::regnamespace AND p.prosecdef ORDER BY 1)::text,
    '{emit,stats}', 'only emit and stats run as their owner');

CREATE ROLE outbox_test_monitor IN ROLE pg_monitor;
CREATE ROLE outbox_test_nobody;
CREATE ROLE outbox_test_application;
CREATE TABLE public.outbox_test (id int PRIMARY KEY, name text);
GRANT INSERT ON public.outbox_test TO outbox_test_application;

SET ROLE outbox_test_monitor;
SELECT lives_ok('SELECT * FROM outbox.stats()', 'pg_monitor reads the statistics');
SELECT lives_ok('SELECT * FROM outbox.stat_relay', 'pg_monitor reads the view over them');
SELECT lives_ok('SELECT * FROM outbox.capture_stats()', 'pg_monitor reads what capture counts');
SELECT lives_ok('SELECT * FROM outbox.rules', 'pg_monitor reads the rules');
SELECT throws_ok('SELECT * FROM outbox.event', '42501', NULL, 'pg_monitor does not read events: they hold the rows of tables');
SELECT throws_ok('SELECT * FROM outbox.capture_failure', '42501', NULL, 'nor failures: they hold rows, too, and unmasked');
SELECT throws_ok($$SELECT outbox.reconcile('pg_class')$$, '42501', NULL, 'pg_monitor does not reconcile');
SELECT throws_ok('SELECT outbox.reclaim()', '42501', NULL, 'pg_monitor does not reclaim');
SELECT throws_ok('SELECT * FROM outbox.parked', '42501', NULL, 'nor read parked events: they hold the rows of tables, too');
SELECT throws_ok('SELECT * FROM outbox.blocked_keys', '42501', NULL, 'nor the keys that wait');
SELECT throws_ok(format('SELECT %s', call), '42501', NULL, format('nor call %s', call))
  FROM unnest(ARRAY[$$outbox.retry('default')$$, $$outbox.redrive('default')$$, $$outbox.discard('default')$$,
                    $$outbox.skip('default', 1, 'x')$$]) AS call;
RESET ROLE;

SET ROLE outbox_test_nobody;
SELECT throws_ok('SELECT * FROM outbox.stats()', '42501', NULL, 'other roles do not read the statistics');
SELECT throws_ok('SELECT * FROM outbox.capture_stats()', '42501', NULL, 'nor what capture counts');
SELECT throws_ok($$SELECT outbox.emit('a.b', '{}')$$, '42501', NULL, 'other roles do not emit');
SELECT throws_ok($$SELECT outbox.alter_relay('default', '{}')$$, '42501', NULL, 'other roles do not change relays');
RESET ROLE;

SELECT lives_ok($$SELECT outbox.track('public.outbox_test')$$, 'the owner of the extension tracks a table');
SET ROLE outbox_test_application;
SELECT lives_ok($$INSERT INTO public.outbox_test VALUES (1, 'one')$$,
    'a role that may write a tracked table needs no privilege on the schema outbox');
RESET ROLE;
SELECT is((SELECT count(*)::int FROM outbox.event WHERE entity_type = 'outbox_test'), 1, 'and its change is captured');

GRANT USAGE ON SCHEMA outbox TO outbox_test_application;
GRANT EXECUTE ON FUNCTION outbox.emit TO outbox_test_application;
SET ROLE outbox_test_application;
SELECT lives_ok($$SELECT outbox.emit('order.paid', '{"amount": 1}')$$, 'the two GRANT lines of the docs let an application emit');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
