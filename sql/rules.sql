-- outbox.rules: the tracked tables and their rules, read from the triggers.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;
RESET client_min_messages;
CREATE SCHEMA listed;
SET search_path = listed;

CREATE TABLE a (id int PRIMARY KEY);
CREATE TABLE "B 'ü' \" (id int PRIMARY KEY, "c\d'é" text);
CREATE TABLE by_hand (id int PRIMARY KEY);
SELECT outbox.track('a') IS NOT NULL AS tracked;
SELECT outbox.track('"B ''ü'' \"', '{"columns": ["c\\d''é"], "entity": "ü"}') IS NOT NULL AS tracked;
CREATE TRIGGER own AFTER INSERT ON by_hand FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"entity":   "hand"}');
ALTER TABLE by_hand ENABLE ALWAYS TRIGGER own;
SELECT target, trigger_name, enabled, rule -> 'entity' AS entity, rule -> 'columns' AS columns FROM outbox.rules ORDER BY rule ->> 'entity';
-- A rule that is no JSON, or more than jsonb holds, does not hide the others.
CREATE TABLE no_json (id int PRIMARY KEY);
CREATE TRIGGER a AFTER INSERT ON no_json FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"entity": ');
CREATE TRIGGER b AFTER INSERT ON no_json FOR EACH ROW EXECUTE FUNCTION outbox.capture('{"entity": 1e999999}');
CREATE TRIGGER c AFTER INSERT ON no_json FOR EACH ROW EXECUTE FUNCTION outbox.capture('"a string"');
SELECT target, trigger_name, rule FROM outbox.rules WHERE target = 'no_json'::regclass ORDER BY trigger_name;
SELECT count(*) FROM outbox.rules;
DROP TABLE no_json;
-- What the view shows is a rule that outbox.track() takes as equal.
SELECT target, outbox.track(target, rule) = rule AS same FROM outbox.rules WHERE trigger_name = '!outbox_capture' ORDER BY rule ->> 'entity';

-- For monitoring, it shows to roles that have nothing else.
CREATE ROLE regress_outbox_monitor IN ROLE pg_monitor;
SET ROLE regress_outbox_monitor;
SELECT count(*) FROM outbox.rules;
RESET ROLE;
DROP ROLE regress_outbox_monitor;

SET client_min_messages = warning;
DROP SCHEMA listed CASCADE;
SELECT count(*) FROM outbox.rules;
