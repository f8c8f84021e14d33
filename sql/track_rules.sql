-- What outbox.track() returns, does again, and refuses.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
RESET client_min_messages;
CREATE SCHEMA rules;
SET search_path = rules;

CREATE TABLE t (id int PRIMARY KEY, a text, b text, workspace_id int, deleted_at date);
SELECT jsonb_pretty(outbox.track('t'));
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 't'::regclass AND NOT tgisinternal ORDER BY tgname;

-- An equal rule, however it is spelled: nothing is locked or changed.
SELECT array_agg(xmin::text ORDER BY tgname) AS before FROM pg_trigger WHERE tgrelid = 't'::regclass \gset
BEGIN;
SELECT outbox.track('t', '{"entity_id": ["id"], "verbs": {"insert": "created"}, "exclude": [], "columns": null, "ordering_key": null}') IS NOT NULL AS tracked;
SELECT count(*) AS locks FROM pg_locks WHERE relation = 't'::regclass AND pid = pg_backend_pid();
COMMIT;
SELECT array_agg(xmin::text ORDER BY tgname) = :'before' AS unchanged FROM pg_trigger WHERE tgrelid = 't'::regclass;

-- Another rule takes the weaker lock, and the trigger keeps its identity.
SELECT array_agg(oid ORDER BY tgname) AS before FROM pg_trigger WHERE tgrelid = 't'::regclass \gset
BEGIN;
SELECT outbox.track('t', '{"prefix": "x.y"}') ->> 'prefix' AS prefix;
SELECT DISTINCT mode FROM pg_locks WHERE relation = 't'::regclass AND pid = pg_backend_pid() AND mode <> 'AccessShareLock';
COMMIT;
SELECT array_agg(oid ORDER BY tgname) = :'before' AS same_triggers FROM pg_trigger WHERE tgrelid = 't'::regclass;

-- Operations that are not captured do not fire.
SELECT outbox.track('t', '{"verbs": {"insert": null, "truncate": null}}') -> 'verbs' AS verbs;
SELECT tgname, pg_get_triggerdef(oid) LIKE '%AFTER DELETE OR UPDATE ON%' AS narrowed FROM pg_trigger WHERE tgrelid = 't'::regclass;
SELECT outbox.track('t', '{"verbs": {"update": null}, "soft_delete": null}') IS NOT NULL AS tracked;
SELECT substring(pg_get_triggerdef(oid) FROM 'AFTER .* FOR EACH \w+') FROM pg_trigger WHERE tgrelid = 't'::regclass ORDER BY tgname;

-- What the owner set stays: ALWAYS and REPLICA. A disabled trigger captures nothing: track() enables it.
ALTER TABLE t ENABLE ALWAYS TRIGGER "!outbox_capture";
ALTER TABLE t ENABLE REPLICA TRIGGER "!outbox_capture_truncate";
SELECT outbox.track('t') IS NOT NULL AS tracked;
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 't'::regclass ORDER BY tgname;
ALTER TABLE t DISABLE TRIGGER USER;
SELECT trigger_name, enabled FROM outbox.rules WHERE target = 't'::regclass;
SELECT outbox.track('t') IS NOT NULL AS tracked;
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 't'::regclass ORDER BY tgname;

-- The rule is transactional.
BEGIN;
SELECT outbox.untrack('t');
ROLLBACK;
SELECT count(*) FROM outbox.rules WHERE target = 't'::regclass;
SELECT outbox.untrack('t');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 't'::regclass;
SELECT outbox.untrack('t');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.untrack('t', if_exists => true);
SELECT outbox.track('t', NULL);
SELECT outbox.untrack(NULL);

-- Rules that are refused.
SELECT outbox.track('t', '[]');
SELECT outbox.track('t', '"entity"');
SELECT outbox.track('t', 'null');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.track('t', '{"entty": "x"}');
SELECT outbox.track('t', '{"watched": ["a"]}');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.track('t', '{"entity": ""}');
SELECT outbox.track('t', '{"entity": null}');
SELECT outbox.track('t', '{"prefix": ["x"]}');
SELECT outbox.track('t', '{"entity_id": null}');
SELECT outbox.track('t', '{"entity_id": []}');
SELECT outbox.track('t', '{"entity_id": [1]}');
SELECT outbox.track('t', '{"entity_id": [["id"]]}');
SELECT outbox.track('t', '{"entity_id": {"id": 1}}');
SELECT outbox.track('t', '{"entity_id": ["id", "id"]}');
SELECT outbox.track('t', '{"ordering_key": true}');
SELECT outbox.track('t', '{"soft_delete": ["deleted_at"]}');
SELECT outbox.track('t', '{"columns": "a"}');
SELECT outbox.track('t', '{"columns": []}');
SELECT outbox.track('t', '{"columns": ["a"], "exclude": ["b"]}');
SELECT outbox.track('t', '{"exclude": ["id", "a", "b", "workspace_id", "deleted_at"]}');
SELECT outbox.track('t', '{"initiator_type_setting": ""}');
SELECT outbox.track('t', '{"schema_version": 1}');
SELECT outbox.track('t', '{"verbs": null}');
SELECT outbox.track('t', '{"verbs": {"upsert": "x"}}');
SELECT outbox.track('t', '{"verbs": {"insert": ""}}');
SELECT outbox.track('t', '{"verbs": {"insert": null, "update": null, "delete": null}}');
-- Columns that are not there.
SELECT outbox.track('t', '{"entity_id": "uuid"}');
\echo :LAST_ERROR_SQLSTATE
SELECT outbox.track('t', '{"exclude": ["a", "c"]}');
SELECT outbox.track('t', '{"workspace_id": "Workspace_id"}');
SELECT outbox.track('t', '{"ordering_key": "ctid"}');
-- The event's type is a routing key: 255 bytes at most.
SELECT outbox.track('t', jsonb_build_object('prefix', repeat('p', 247))) IS NOT NULL AS too_long;
SELECT outbox.track('t', jsonb_build_object('prefix', repeat('p', 245), 'verbs', '{"truncate": null}'::jsonb)) IS NOT NULL AS fits;
-- A setting that holds a secret.
SELECT outbox.track('t', '{"initiator_type_setting": "outbox_relay.amqp_url"}');
\echo :LAST_ERROR_SQLSTATE

-- A trigger that fires before ours, and a name that is taken.
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER "!a" AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE TRIGGER "!b" BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE TRIGGER "!c" AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION nothing();
CREATE TRIGGER z AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT outbox.track('t') IS NOT NULL AS tracked;
SELECT outbox.untrack('t');
CREATE TRIGGER "!outbox_capture" AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT outbox.track('t');
\echo :LAST_ERROR_SQLSTATE

SET client_min_messages = warning;
DROP SCHEMA rules CASCADE;
