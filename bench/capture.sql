-- What the sides of bench/capture.py need, once: the tables that they write, and their trigger functions.

CREATE EXTENSION pgq;
SELECT pgq.create_queue('bench');

-- A table like a slice of the log, for the loop of bench/floor that does nothing but write ready-made rows.
CREATE TABLE floor_event (LIKE outbox.event_0 INCLUDING ALL);
CREATE FUNCTION floor_prepare(event record, log regclass, rows int) RETURNS void LANGUAGE c STRICT AS 'outbox_floor';
CREATE FUNCTION floor_write() RETURNS trigger LANGUAGE c AS 'outbox_floor';
CREATE FUNCTION floor_nothing() RETURNS trigger LANGUAGE c AS 'outbox_floor';

-- The classic outbox: a row per event with its state, and the indexes that its pollers need.
CREATE TABLE classic_outbox (
    id bigserial PRIMARY KEY, event_id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE, event_type text NOT NULL,
    entity_type text NOT NULL, entity_id text NOT NULL, payload jsonb NOT NULL, workspace_id text, project_id text,
    initiator_id text, initiator_type text NOT NULL DEFAULT 'USER', created_at timestamptz NOT NULL DEFAULT now(),
    processed_at timestamptz, claimed_at timestamptz);
CREATE INDEX ON classic_outbox (id) WHERE processed_at IS NULL AND claimed_at IS NULL;
CREATE INDEX ON classic_outbox (claimed_at) WHERE processed_at IS NULL AND claimed_at IS NOT NULL;
CREATE INDEX ON classic_outbox (processed_at) WHERE processed_at IS NOT NULL;

CREATE FUNCTION capture_good() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    new_row  jsonb;
    previous jsonb;
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO classic_outbox (event_type, entity_type, entity_id, payload, workspace_id)
        VALUES (TG_TABLE_NAME || '.deleted', TG_TABLE_NAME, OLD.id,
                jsonb_build_object('data', to_jsonb(OLD), 'previous_attributes', '{}'::jsonb), OLD.workspace_id);
        RETURN NULL;
    END IF;
    new_row := to_jsonb(NEW);
    IF TG_OP = 'INSERT' THEN
        INSERT INTO classic_outbox (event_type, entity_type, entity_id, payload, workspace_id)
        VALUES (TG_TABLE_NAME || '.created', TG_TABLE_NAME, NEW.id,
                jsonb_build_object('data', new_row, 'previous_attributes', '{}'::jsonb), NEW.workspace_id);
        RETURN NULL;
    END IF;
    SELECT jsonb_object_agg(old_column.key, old_column.value) INTO previous
      FROM jsonb_each(to_jsonb(OLD)) AS old_column
     WHERE new_row -> old_column.key IS DISTINCT FROM old_column.value;
    IF previous IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO classic_outbox (event_type, entity_type, entity_id, payload, workspace_id)
    VALUES (TG_TABLE_NAME || '.updated', TG_TABLE_NAME, NEW.id,
            jsonb_build_object('data', new_row, 'previous_attributes', previous), NEW.workspace_id);
    RETURN NULL;
END
$$;

CREATE FUNCTION capture_catalog() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    old_row  jsonb := to_jsonb(OLD);
    new_row  jsonb := to_jsonb(NEW);
    verb     text := CASE TG_OP WHEN 'INSERT' THEN '.created' WHEN 'UPDATE' THEN '.updated' ELSE '.deleted' END;
    data     jsonb;
    previous jsonb := '{}';
BEGIN
    IF TG_OP = 'UPDATE' THEN
        SELECT jsonb_object_agg(c.column_name, new_row -> c.column_name),
               jsonb_object_agg(c.column_name, old_row -> c.column_name)
                   FILTER (WHERE new_row -> c.column_name IS DISTINCT FROM old_row -> c.column_name)
          INTO data, previous
          FROM information_schema.columns AS c
         WHERE c.table_schema = TG_TABLE_SCHEMA AND c.table_name = TG_TABLE_NAME;
    ELSE
        SELECT jsonb_object_agg(c.column_name, coalesce(new_row, old_row) -> c.column_name) INTO data
          FROM information_schema.columns AS c
         WHERE c.table_schema = TG_TABLE_SCHEMA AND c.table_name = TG_TABLE_NAME;
    END IF;
    IF previous IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO classic_outbox (event_type, entity_type, entity_id, payload, workspace_id)
    VALUES (TG_TABLE_NAME || verb, TG_TABLE_NAME, data ->> 'id',
            jsonb_build_object('data', data, 'previous_attributes', previous), data ->> 'workspace_id');
    RETURN NULL;
END
$$;
