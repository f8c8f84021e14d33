-- Names: other schemas, quotes, dots, upper case, unicode, 63 bytes, the server's own words.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS outbox_relay;
SELECT coalesce(max(id), 0) AS start FROM outbox.event \gset
CREATE TEMP VIEW seen AS SELECT * FROM outbox.event WHERE id > :start;

CREATE SCHEMA "Odd. ""Schema"" 'é'";
CREATE SCHEMA other;

-- Creates the table, changes a row twice, and shows what became of the names: the number of events (the last update is
-- of an excluded column), their type and entity, values by column name, and how many columns data has.
CREATE FUNCTION pg_temp.try(schema text, tab text, col text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    target regclass;
    event record;
BEGIN
    EXECUTE format('CREATE TABLE %I.%I (id int PRIMARY KEY, %I text, %I text)', schema, tab, col, col || '2');
    target := format('%I.%I', schema, tab)::regclass;
    PERFORM outbox.track(target, jsonb_build_object('ordering_key', col, 'exclude', jsonb_build_array(col || '2')));
    EXECUTE format('INSERT INTO %s VALUES (1, %L, %L)', target, 'a', 'b');
    EXECUTE format('UPDATE %s SET %I = %L', target, col, 'c');
    EXECUTE format('UPDATE %s SET %I = %L', target, col || '2', 'd');
    SELECT count(*), min(event_type) AS created, min(entity_type) = tab AS entity, max(ordering_key) AS ordering,
           max(payload -> 'data' ->> col) AS value, max(payload -> 'previous_attributes' ->> col) AS previous,
           max((SELECT count(*) FROM json_object_keys(payload -> 'data'))) AS columns
      INTO event FROM seen WHERE entity_type = tab;
    RETURN event;
END
$$;
SELECT pg_temp.try('other', tab, col) FROM (VALUES
    ('Upper Case', 'Also Upper'),
    ('a.b', 'c.d'),
    ('it''s "quoted"', 'so "is" it''s'),
    ('\back\\slash', '\n{"json": [1]}'),
    ('über_表_😀', 'größe_列_😀'),
    ('select', 'user'),
    (' leading', 'trailing '),
    ('tab	and
newline', '	'),
    ('percent%s%%n', '%d'),
    (repeat('x', 63), repeat('y', 62)),
    (repeat('é', 31), repeat('ß', 31))
) AS name (tab, col);
SELECT pg_temp.try('Odd. "Schema" ''é''', 'Odd. "Table" ''é''', 'Odd. "Column" ''é''');
SELECT outbox.untrack(target) FROM outbox.rules WHERE target::text LIKE '"Odd%';
SELECT count(*) FROM outbox.rules WHERE target::text LIKE '"Odd%';

-- The same name in two schemas is the same entity, unless the rule says otherwise; the search_path does not matter.
CREATE SCHEMA third;
CREATE TABLE other.item (id int PRIMARY KEY);
CREATE TABLE third.item (id int PRIMARY KEY);
SELECT outbox.track('other.item') IS NOT NULL AS tracked;
SELECT outbox.track('third.item', '{"entity": "third item", "prefix": "third.item"}') IS NOT NULL AS tracked;
INSERT INTO other.item VALUES (1);
INSERT INTO third.item VALUES (2);
SET search_path = third, other;
INSERT INTO item VALUES (3);
SET search_path = '';
INSERT INTO other.item VALUES (4);
SET search_path = pg_temp, other;
INSERT INTO item VALUES (5);
RESET search_path;
SELECT event_type, entity_type, entity_id FROM seen WHERE event_type LIKE '%item.created' ORDER BY id;

DROP SCHEMA other, third, "Odd. ""Schema"" 'é'" CASCADE;
