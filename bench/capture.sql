-- Four tables of 20 columns, alike but for what captures them.
CREATE TABLE wide_none (
    id uuid PRIMARY KEY, workspace_id uuid, project_id uuid, parent_id uuid, state_id uuid, name varchar(255),
    priority varchar(30), point int, sequence_id int, sort_order float8, amount numeric(12, 2), is_draft boolean,
    start_date date, target_date date, completed_at timestamptz, external_source varchar(255), external_id varchar(255),
    description text, created_at timestamptz, updated_at timestamptz);
INSERT INTO wide_none
    SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), NULL, gen_random_uuid(), 'row ' || i, 'high', i % 10, i,
           i * 1.5, i * 0.25, false, '2025-01-15', NULL, NULL, 'github', i::text, repeat('text ', 20), now(), now()
      FROM generate_series(1, 20000) AS i;
CREATE TABLE wide_relay (LIKE wide_none INCLUDING ALL);
CREATE TABLE wide_good (LIKE wide_none INCLUDING ALL);
CREATE TABLE wide_catalog (LIKE wide_none INCLUDING ALL);
INSERT INTO wide_relay SELECT * FROM wide_none;
INSERT INTO wide_good SELECT * FROM wide_none;
INSERT INTO wide_catalog SELECT * FROM wide_none;
ANALYZE;

SELECT outbox.track('wide_relay');

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
    new_row  jsonb := to_jsonb(NEW);
    previous jsonb;
BEGIN
    SELECT jsonb_object_agg(old_column.key, old_column.value) INTO previous
      FROM jsonb_each(to_jsonb(OLD)) AS old_column
     WHERE new_row -> old_column.key IS DISTINCT FROM old_column.value;
    IF previous IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO classic_outbox (event_type, entity_type, entity_id, payload, workspace_id, project_id)
    VALUES (TG_TABLE_NAME || '.updated', TG_TABLE_NAME, NEW.id,
            jsonb_build_object('data', new_row, 'previous_attributes', previous), NEW.workspace_id, NEW.project_id);
    RETURN NULL;
END
$$;
CREATE TRIGGER capture AFTER UPDATE ON wide_good FOR EACH ROW EXECUTE FUNCTION capture_good();

CREATE FUNCTION capture_catalog() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    old_row  jsonb := to_jsonb(OLD);
    new_row  jsonb := to_jsonb(NEW);
    data     jsonb;
    previous jsonb;
BEGIN
    SELECT jsonb_object_agg(c.column_name, new_row -> c.column_name),
           jsonb_object_agg(c.column_name, old_row -> c.column_name)
               FILTER (WHERE new_row -> c.column_name IS DISTINCT FROM old_row -> c.column_name)
      INTO data, previous
      FROM information_schema.columns AS c
     WHERE c.table_schema = TG_TABLE_SCHEMA AND c.table_name = TG_TABLE_NAME;
    IF previous IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO classic_outbox (event_type, entity_type, entity_id, payload, workspace_id, project_id)
    VALUES (TG_TABLE_NAME || '.updated', TG_TABLE_NAME, NEW.id,
            jsonb_build_object('data', data, 'previous_attributes', previous), NEW.workspace_id, NEW.project_id);
    RETURN NULL;
END
$$;
CREATE TRIGGER capture AFTER UPDATE ON wide_catalog FOR EACH ROW EXECUTE FUNCTION capture_catalog();
