CREATE FUNCTION probe_read(done text, upper text, last_id bigint, outstanding text, rows bigint, bytes bigint,
                           throw_at bigint DEFAULT 0) RETURNS text
    LANGUAGE c AS '%(module)s', 'probe_read';
CREATE FUNCTION probe_record(relay_id integer, lane integer, seq bigint, settled bigint, highest bigint, done text, upper text,
                             last_id bigint, outstanding text) RETURNS void
    LANGUAGE c AS '%(module)s', 'probe_record';
CREATE FUNCTION probe_load(relay_id integer, lane integer) RETURNS text
    LANGUAGE c AS '%(module)s', 'probe_load';
