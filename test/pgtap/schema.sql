-- The schema that users, backups and monitoring see.
BEGIN;
CREATE EXTENSION pgtap;
SELECT no_plan();

SELECT has_extension('outbox_relay');
SELECT tables_are('outbox', ARRAY['event', 'slice', 'capture_failure', 'emitted', 'installation', 'relay', 'progress', 'parked']
                            || ARRAY(SELECT 'event_' || i FROM generate_series(0, 7) AS i));
SELECT views_are('outbox', ARRAY['rules', 'stat_relay', 'blocked_keys']);
SELECT functions_are('outbox', ARRAY['check_preload', 'refuse_foreign_row', 'skip_replicated_row', 'capture', 'track',
                                     'untrack', 'preview', 'capture_off', 'reconcile', 'rule_of', 'guard_rules', 'emit',
                                     'start_keeper', 'create_relay', 'alter_relay', 'drop_relay', 'pause', 'resume',
                                     'lane_of', 'reclaim', 'retry', 'redrive', 'discard', 'skip', 'stats', 'capture_stats']);

SELECT columns_are('outbox', 'event', ARRAY['id', 'xid', 'slice', 'event_id', 'event_type', 'entity_type', 'entity_id',
    'ordering_key', 'payload', 'workspace_id', 'project_id', 'initiator_id', 'initiator_type', 'schema_version',
    'headers', 'created_at']);
SELECT is_partitioned('outbox', 'event', 'the log is partitioned by slice');
SELECT col_type_is('outbox', 'event', 'payload', 'json', 'a payload is sent byte for byte: json, not jsonb');
SELECT col_default_is('outbox', 'event', 'initiator_type', 'USER', 'an event without an initiator type is a user''s');

SELECT indexes_are('outbox', 'event_' || i, ARRAY['event_' || i || '_id', 'event_' || i || '_xid'],
                   format('slice %s has the indexes (id) and (xid), and no other: each costs its share per event', i))
  FROM generate_series(0, 7) AS i;
SELECT index_is_unique('outbox', 'event_' || i, 'event_' || i || '_id', format('ids of slice %s are unique', i))
  FROM generate_series(0, 7) AS i;

SELECT has_pk('outbox', t, format('outbox.%s has a primary key', t))
  FROM unnest(ARRAY['slice', 'capture_failure', 'emitted', 'installation', 'relay', 'progress', 'parked']) AS t;

SELECT results_eq($$SELECT slice::int FROM outbox.slice WHERE writing$$, ARRAY[0], 'exactly one slice is written: the first');
SELECT is((SELECT count(*)::int FROM outbox.slice), 8, 'the ring has eight slices');

SELECT results_eq('SELECT database_oid, default_relay FROM outbox.installation',
    'SELECT oid, true FROM pg_database WHERE datname = current_database()',
    'the installation has one row, of this database; the relay default is made by itself');
SELECT throws_ok($$INSERT INTO outbox.installation (database_oid) VALUES (1)$$, '23505', NULL, 'and cannot have another');

SELECT is_empty($$
    SELECT c.relname FROM pg_class c
     WHERE c.relnamespace = 'outbox'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
       AND obj_description(c.oid, 'pg_class') IS NULL$$, 'every table and view has a comment');
SELECT is_empty($$
    SELECT p.oid::regprocedure FROM pg_proc p
     WHERE p.pronamespace = 'outbox'::regnamespace AND obj_description(p.oid, 'pg_proc') IS NULL$$,
    'every function has a comment');

SELECT results_eq($$SELECT unnest(extconfig)::regclass::text FROM pg_extension WHERE extname = 'outbox_relay'$$,
    ARRAY['outbox.relay', 'outbox.parked', 'outbox.relay_id'], 'a dump carries relays, parked and dead events, and neither the log nor its positions');
SELECT is((SELECT extrelocatable FROM pg_extension WHERE extname = 'outbox_relay'), false, 'the extension stays in its schema');
SELECT sequences_are('outbox', ARRAY['relay_id'], 'no sequence but that of relays: lastval() belongs to the application');

SELECT * FROM finish();
ROLLBACK;
