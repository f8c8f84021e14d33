\echo Use "CREATE EXTENSION outbox_relay" to load this file. \quit

-- The schema is the extension's own: every name in it is fixed (see docs/architecture.md).
CREATE SCHEMA outbox;

-- Refuses to go on in a server that has not preloaded the library, with the line to add to postgresql.conf.
CREATE FUNCTION outbox.check_preload() RETURNS void
    LANGUAGE c STRICT SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_check_preload';
COMMENT ON FUNCTION outbox.check_preload() IS
    'Raises object_not_in_prerequisite_state unless outbox_relay is in shared_preload_libraries.';
SELECT outbox.check_preload();

--
-- The log: append-only, LIST-partitioned by slice. A row is written once, by the library itself, and never updated.
--
CREATE TABLE outbox.event (
    id              bigint      NOT NULL,
    xid             xid8        NOT NULL,
    slice           smallint    NOT NULL,
    event_id        uuid        NOT NULL,
    event_type      text        NOT NULL,
    entity_type     text,
    entity_id       text,
    ordering_key    text,
    payload         json        NOT NULL,
    workspace_id    text,
    project_id      text,
    initiator_id    text,
    initiator_type  text        NOT NULL DEFAULT 'USER',
    schema_version  text,
    headers         jsonb,
    created_at      timestamptz NOT NULL
) PARTITION BY LIST (slice);

COMMENT ON TABLE outbox.event IS 'The log of events. Written by outbox.capture() and outbox.emit() only.';
COMMENT ON COLUMN outbox.event.id IS 'Hybrid logical clock in microseconds since 1970: unique, rising; orders the events of one transaction and of one row.';
COMMENT ON COLUMN outbox.event.xid IS 'Top-level transaction that wrote the event.';
COMMENT ON COLUMN outbox.event.slice IS 'The physical partition that holds the row. Has no meaning to readers.';
COMMENT ON COLUMN outbox.event.event_id IS 'UUIDv7 made from id, or the UUID given to outbox.emit().';
COMMENT ON COLUMN outbox.event.event_type IS 'At most 255 bytes: the default routing key.';
COMMENT ON COLUMN outbox.event.ordering_key IS 'Null: entity_id is the ordering key.';
COMMENT ON COLUMN outbox.event.payload IS 'Sent byte for byte (in UTF-8).';
COMMENT ON COLUMN outbox.event.created_at IS 'Clock time of the capture. Dates events; id orders them.';

DO $slices$
BEGIN
    FOR i IN 0..7 LOOP
        EXECUTE format('CREATE TABLE outbox.event_%s PARTITION OF outbox.event FOR VALUES IN (%s)'
                       ' WITH (autovacuum_vacuum_insert_threshold = -1)', i, i);
        EXECUTE format('CREATE UNIQUE INDEX event_%s_id ON outbox.event_%s (id)', i, i);
        EXECUTE format('CREATE INDEX event_%s_xid ON outbox.event_%s (xid)', i, i);
        -- Not every server is built with lz4.
        IF 'lz4' = ANY (SELECT unnest(enumvals) FROM pg_catalog.pg_settings WHERE name = 'default_toast_compression') THEN
            EXECUTE format('ALTER TABLE outbox.event_%s ALTER payload SET COMPRESSION lz4', i);
        END IF;
    END LOOP;
END
$slices$;

-- The ring of slices. highest_id is recorded before a slice is truncated, so that ids never go back.
CREATE TABLE outbox.slice (
    slice       smallint    PRIMARY KEY,
    writing     boolean     NOT NULL DEFAULT false,
    since       timestamptz NOT NULL DEFAULT now(),
    highest_id  bigint      NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX slice_writing ON outbox.slice (writing) WHERE writing;
INSERT INTO outbox.slice (slice, writing) SELECT i, i = 0 FROM generate_series(0, 7) AS i;
COMMENT ON TABLE outbox.slice IS 'The slices of outbox.event: which one is written now, and since when.';
COMMENT ON COLUMN outbox.slice.highest_id IS 'Highest id that the slice held when it was last truncated; 0: never truncated.';

-- Events that are owed: their rules say that a change shall go on without its event if that cannot be made. It belongs to
-- the log, so no dump carries it.
CREATE TABLE outbox.capture_failure (
    id          bigint      PRIMARY KEY,
    failed_at   timestamptz NOT NULL,
    xid         xid8        NOT NULL,
    target      regclass    NOT NULL,
    operation   text        NOT NULL,
    row_key     jsonb,
    row_data    jsonb,
    sqlstate    text        NOT NULL,
    message     text        NOT NULL,
    detail      text,
    hint        text,
    context     text
);
COMMENT ON TABLE outbox.capture_failure IS 'Row changes without their event, which could not be made (rules with on_failure "record"): outbox.reconcile() emits the events and removes the rows.';
COMMENT ON COLUMN outbox.capture_failure.id IS 'From the clock that events have theirs from: orders a failure among the events.';
COMMENT ON COLUMN outbox.capture_failure.failed_at IS 'When making the event was last tried.';
COMMENT ON COLUMN outbox.capture_failure.xid IS 'Top-level transaction of the change.';
COMMENT ON COLUMN outbox.capture_failure.target IS 'The table; of a partitioned one, the partition.';
COMMENT ON COLUMN outbox.capture_failure.operation IS 'insert, update or delete; an update that brings the row into the rule''s condition is an insert, one that takes it out a delete.';
COMMENT ON COLUMN outbox.capture_failure.row_key IS 'The columns that identify the row, as texts; null: none could be read.';
COMMENT ON COLUMN outbox.capture_failure.row_data IS 'The row as it was written (of a delete, as it was before), as texts, not masked: the columns that its event would be made of. Null: it could not be read, or is too large.';
COMMENT ON COLUMN outbox.capture_failure.sqlstate IS 'Of the error; message, detail, hint and context are its texts.';

-- Event ids that callers of outbox.emit() chose themselves: what makes a second emit of one do nothing.
CREATE TABLE outbox.emitted (
    event_id    uuid    PRIMARY KEY,
    id          bigint  NOT NULL
);
COMMENT ON TABLE outbox.emitted IS 'Event ids chosen by callers of outbox.emit(), with the id of their event.';

--
-- This installation: one row, made here, which no dump carries.
--
CREATE TABLE outbox.installation (
    log_id        uuid    PRIMARY KEY DEFAULT gen_random_uuid(),
    database_oid  oid     NOT NULL,
    default_relay boolean NOT NULL DEFAULT true
);
CREATE UNIQUE INDEX installation_single ON outbox.installation ((true));
INSERT INTO outbox.installation (database_oid) SELECT oid FROM pg_database WHERE datname = current_database();
COMMENT ON TABLE outbox.installation IS 'One row: what identifies the log of this database.';
COMMENT ON COLUMN outbox.installation.log_id IS 'UUID of the log, first part of the header outbox-epoch. A physical copy of the server keeps it; a database copied from a template gets its own.';
COMMENT ON COLUMN outbox.installation.database_oid IS 'The database whose log has that UUID: in another one, the keeper makes a new one.';
COMMENT ON COLUMN outbox.installation.default_relay IS 'Whether the relay default is made by itself with the first event.';

--
-- Relays and their positions.
--
CREATE SEQUENCE outbox.relay_id AS integer START 2;
COMMENT ON SEQUENCE outbox.relay_id IS 'Numbers relays: an id is never used again. 1 is the relay default.';

CREATE TABLE outbox.relay (
    relay_id     integer     PRIMARY KEY DEFAULT nextval('outbox.relay_id'),
    name         text        NOT NULL UNIQUE CHECK (name <> '' AND octet_length(name) <= 63),
    options      jsonb       NOT NULL DEFAULT '{}',
    lanes        smallint    NOT NULL DEFAULT 1,
    lanes_change pg_snapshot,
    database_oid oid         NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    discarded    bigint      NOT NULL DEFAULT 0,
    paused_at    timestamptz,
    paused_by    text,
    pause_reason text
);
COMMENT ON TABLE outbox.relay IS 'Relays and their options: change them with outbox.alter_relay().';
COMMENT ON COLUMN outbox.relay.discarded IS 'Events removed by outbox.discard().';
COMMENT ON COLUMN outbox.relay.lanes IS 'Lanes at work; the option of the same name says how many are asked for.';
COMMENT ON COLUMN outbox.relay.lanes_change IS 'While the number of lanes changes: they settle what is visible in this snapshot, then the new ones begin behind it.';
COMMENT ON COLUMN outbox.relay.paused_at IS 'Null: not paused.';
COMMENT ON COLUMN outbox.relay.database_oid IS 'The database the relay was made in. In another one (a restored dump, a template copy) its position means nothing.';

CREATE TABLE outbox.progress (
    relay_id    integer         NOT NULL,
    lane        smallint        NOT NULL,
    seq         bigint          NOT NULL,
    done        pg_snapshot     NOT NULL,
    upper       pg_snapshot,
    last_id     bigint,
    outstanding int8multirange  NOT NULL DEFAULT '{}',
    highest_id  bigint          NOT NULL DEFAULT 0,
    settled     bigint          NOT NULL DEFAULT 0,
    recorded_at timestamptz     NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (relay_id, lane, seq),
    CHECK ((upper IS NULL) = (last_id IS NULL))
);
-- A backend's first event reads the highest one from here, so that ids never go back.
CREATE INDEX progress_highest_id ON outbox.progress (highest_id);
COMMENT ON TABLE outbox.progress IS 'Positions of lanes, append-only: the row with the highest seq counts.';
COMMENT ON COLUMN outbox.progress.done IS 'All events visible in this snapshot are settled, but those in outstanding.';
COMMENT ON COLUMN outbox.progress.upper IS 'Upper snapshot of the window being read; null: no window is open.';
COMMENT ON COLUMN outbox.progress.last_id IS 'Last id read of the open window.';
COMMENT ON COLUMN outbox.progress.outstanding IS 'Ids read and not yet settled.';
COMMENT ON COLUMN outbox.progress.highest_id IS 'Highest id read so far: no settled id lies above it.';
COMMENT ON COLUMN outbox.progress.settled IS 'Events settled by the lane in its life.';

-- Events set aside, each with a copy of all that the log says of it: the log need not keep them, and a dump carries them.
CREATE TABLE outbox.parked (
    relay_id        integer     NOT NULL,
    id              bigint      NOT NULL,
    xid             xid8        NOT NULL,
    event_id        uuid        NOT NULL,
    event_type      text        NOT NULL,
    entity_type     text,
    entity_id       text,
    ordering_key    text,
    payload         json        NOT NULL,
    workspace_id    text,
    project_id      text,
    initiator_id    text,
    initiator_type  text        NOT NULL,
    schema_version  text,
    headers         jsonb,
    created_at      timestamptz NOT NULL,
    key_hash        bigint,
    routing_key     text        NOT NULL,
    state           text        NOT NULL CHECK (state IN ('parked', 'dead')),
    reason          text        NOT NULL CHECK (reason IN ('refused', 'unroutable', 'waiting', 'unfit', 'skipped')),
    attempts        integer     NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,
    parked_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    since           timestamptz NOT NULL,
    last_error      text,
    late            boolean     NOT NULL DEFAULT false,
    blocking        boolean     NOT NULL DEFAULT false CHECK (state = 'dead' OR NOT blocking),
    PRIMARY KEY (relay_id, id)
);
-- Ids never go back below a parked one, and the events of a key are found by it.
CREATE INDEX parked_id ON outbox.parked (id);
COMMENT ON TABLE outbox.parked IS 'Events that did not get through: set aside (parked) or given up (dead). Change them with outbox.retry(), redrive(), discard() and skip().';
COMMENT ON COLUMN outbox.parked.key_hash IS 'Of the entity type and the ordering key: events with the same one wait for each other. Null: the event is unordered.';
COMMENT ON COLUMN outbox.parked.state IS 'parked: it will be sent. dead: nothing happens to it until someone decides.';
COMMENT ON COLUMN outbox.parked.reason IS 'refused: the broker refused it (basic.nack). unroutable: no queue takes its routing key. waiting: another of its key is before it. unfit: no broker takes such a message. skipped: given up by outbox.skip().';
COMMENT ON COLUMN outbox.parked.attempts IS 'How often the broker refused it; only that counts for max_attempts.';
COMMENT ON COLUMN outbox.parked.next_attempt_at IS 'When it is tried again; of one that is unroutable, when an event of its routing key was next to be tried when this was written. Null: when it is its turn.';
COMMENT ON COLUMN outbox.parked.parked_at IS 'When it was set aside.';
COMMENT ON COLUMN outbox.parked.since IS 'Since when it has had this reason, or has been dead.';
COMMENT ON COLUMN outbox.parked.last_error IS 'What the broker said last, or why it was given up.';
COMMENT ON COLUMN outbox.parked.late IS 'A later event of its key may have been delivered: it carries the header outbox-late.';
COMMENT ON COLUMN outbox.parked.blocking IS 'Dead, and the later events of its key wait until someone decides (option on_dead "block").';

--
-- Rows that are not ours: refused when a session writes them, skipped when logical replication applies them.
--
CREATE FUNCTION outbox.refuse_foreign_row() RETURNS trigger
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_refuse_foreign_row';
COMMENT ON FUNCTION outbox.refuse_foreign_row() IS
    'Trigger of outbox.event: raises object_not_in_prerequisite_state for every write that does not come from the library.';
CREATE FUNCTION outbox.skip_replicated_row() RETURNS trigger
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_skip_replicated_row';
COMMENT ON FUNCTION outbox.skip_replicated_row() IS
    'Trigger (ENABLE REPLICA) of every table of the schema: drops rows that logical replication applies.';

CREATE TRIGGER refuse_foreign_row BEFORE INSERT OR UPDATE OR DELETE ON outbox.event
    FOR EACH ROW EXECUTE FUNCTION outbox.refuse_foreign_row();
DO $skip$
DECLARE
    target regclass;
BEGIN
    FOR target IN SELECT relid FROM pg_partition_tree('outbox.event') LOOP
        EXECUTE format('CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON %s'
                       ' FOR EACH STATEMENT EXECUTE FUNCTION outbox.refuse_foreign_row()', target);
    END LOOP;
    FOREACH target IN ARRAY ARRAY['outbox.event', 'outbox.slice', 'outbox.capture_failure', 'outbox.emitted', 'outbox.installation', 'outbox.relay', 'outbox.progress', 'outbox.parked']::regclass[] LOOP
        EXECUTE format('CREATE TRIGGER skip_replicated_row BEFORE INSERT OR UPDATE OR DELETE ON %s'
                       ' FOR EACH ROW EXECUTE FUNCTION outbox.skip_replicated_row()', target);
        EXECUTE format('ALTER TABLE %s ENABLE REPLICA TRIGGER skip_replicated_row', target);
    END LOOP;
END
$skip$;

--
-- Capture.
--
CREATE FUNCTION outbox.capture() RETURNS trigger
    LANGUAGE c
    AS 'MODULE_PATHNAME', 'outbox_capture';
COMMENT ON FUNCTION outbox.capture() IS
    'Trigger function: writes one event per changed row. Its only argument is the rule, a JSON object (see outbox.track).';

CREATE FUNCTION outbox.track(target regclass, rule jsonb DEFAULT '{}') RETURNS jsonb
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_track';
COMMENT ON FUNCTION outbox.track(regclass, jsonb) IS
    'Captures the changes of a table from now on, by the rule; returns the rule with its defaults filled in. Tracking a table again with an equal rule does nothing. Errors: invalid_parameter_value for an unknown or unfit key, undefined_column, invalid_table_definition for a table without a usable key, wrong_object_type, duplicate_object for a trigger that is in the way.';

CREATE FUNCTION outbox.untrack(target regclass, if_exists boolean DEFAULT false) RETURNS void
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_untrack';
COMMENT ON FUNCTION outbox.untrack(regclass, boolean) IS
    'Stops capturing a table. Events already written are relayed. Errors: undefined_object if the table is not tracked, unless if_exists.';

CREATE FUNCTION outbox.preview(
    target             regclass,
    op                 text,
    old                jsonb,
    new                jsonb,
    OUT event_type     text,
    OUT entity_type    text,
    OUT entity_id      text,
    OUT ordering_key   text,
    OUT payload        json,
    OUT workspace_id   text,
    OUT project_id     text,
    OUT initiator_id   text,
    OUT initiator_type text,
    OUT schema_version text
) RETURNS SETOF record
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_preview';
COMMENT ON FUNCTION outbox.preview(regclass, text, jsonb, jsonb) IS
    'The event that a change of a tracked table would make, by its rule; no row if it would make none. Nothing is written. op: insert, update, delete or truncate; old and new: the row before and after, null where the operation has none. Columns left out are null; of an update''s new row, as in the old one. Errors: undefined_object if the table is not tracked, insufficient_privilege unless the caller owns it, undefined_column, invalid_parameter_value.';

CREATE FUNCTION outbox.capture_off(reason text DEFAULT NULL) RETURNS void
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_capture_off';
COMMENT ON FUNCTION outbox.capture_off(text) IS
    'Captures nothing until the end of the transaction. At its commit an event outbox.uncaptured per table tells consumers how many changes they have missed, who decided it and why. reason: at most 1024 bytes; null: none given. Errors: invalid_parameter_value.';

CREATE FUNCTION outbox.rule_of(arguments bytea) RETURNS jsonb
    LANGUAGE c STRICT SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_rule_of';
COMMENT ON FUNCTION outbox.rule_of(bytea) IS
    'The rule in the arguments of a trigger (pg_trigger.tgargs); null if it is no JSON.';

CREATE VIEW outbox.rules AS
    SELECT t.tgrelid::regclass AS target,
           t.tgname AS trigger_name,
           CASE t.tgenabled WHEN 'O' THEN 'origin' WHEN 'R' THEN 'replica' WHEN 'A' THEN 'always' ELSE 'disabled' END AS enabled,
           outbox.rule_of(t.tgargs) AS rule
      FROM pg_catalog.pg_trigger t
     WHERE t.tgfoid = 'outbox.capture()'::regprocedure
       AND t.tgnargs = 1
       AND (t.tgtype & 1) = 1       -- the row trigger; its TRUNCATE twin carries the same rule
       AND t.tgparentid = 0;
COMMENT ON VIEW outbox.rules IS 'The tracked tables and their rules, as their triggers hold them. rule null: a trigger written by hand holds no JSON, so changes of its table fail.';

-- Refuses DDL that would break a rule.
CREATE FUNCTION outbox.guard_rules() RETURNS event_trigger
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_guard_rules';
COMMENT ON FUNCTION outbox.guard_rules() IS
    'Event trigger function: raises dependent_objects_still_exist when a column or a schema is renamed or dropped that a rule names, or a change leaves a rule unable to work. Of a table that is dropped it removes the rows of outbox.capture_failure, with a warning.';

-- A column of a table can be renamed by any of these commands but the first two.
CREATE EVENT TRIGGER outbox_guard_rules ON ddl_command_end
    WHEN TAG IN ('CREATE TRIGGER', 'ALTER SCHEMA', 'ALTER TABLE', 'ALTER TYPE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE')
    EXECUTE FUNCTION outbox.guard_rules();
CREATE EVENT TRIGGER outbox_guard_drops ON sql_drop
    EXECUTE FUNCTION outbox.guard_rules();
COMMENT ON EVENT TRIGGER outbox_guard_rules IS 'Refuses to rename or retype a column, or to rename a schema, so that the rule of a tracked table would not work.';
COMMENT ON EVENT TRIGGER outbox_guard_drops IS 'Refuses to drop a column or a schema that the rule of a tracked table needs; removes the failures of dropped tables.';

CREATE FUNCTION outbox.reconcile(
    target         regclass,
    since          timestamptz DEFAULT NULL,
    updated_at     text        DEFAULT 'updated_at',
    OUT entity_id  text,
    OUT event_type text,
    OUT reason     text,
    OUT event_id   uuid
) RETURNS SETOF record
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_reconcile';
COMMENT ON FUNCTION outbox.reconcile(regclass, timestamptz, text) IS
    'Emits the events of a tracked table that are missing: those in outbox.capture_failure and, with since, of rows whose column updated_at is since or later and that no event tells about. Returns a row per event; reason is ''failed'' or ''changed without event''. Only its owner may call it. Errors: insufficient_privilege, undefined_object if the table is not tracked, undefined_column.';

CREATE FUNCTION outbox.emit(
    event_type     text,
    payload        jsonb,
    entity_type    text  DEFAULT NULL,
    entity_id      text  DEFAULT NULL,
    ordering_key   text  DEFAULT NULL,
    workspace_id   text  DEFAULT NULL,
    project_id     text  DEFAULT NULL,
    initiator_id   text  DEFAULT NULL,
    initiator_type text  DEFAULT NULL,
    schema_version text  DEFAULT NULL,
    headers        jsonb DEFAULT NULL,
    event_id       uuid  DEFAULT NULL
) RETURNS uuid
    LANGUAGE c SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_emit';
COMMENT ON FUNCTION outbox.emit(text, jsonb, text, text, text, text, text, text, text, text, jsonb, uuid) IS
    'Writes an event of the application''s own; returns its event_id. initiator_type null: USER. event_id given: a second emit with it does nothing and returns it. headers: an object of strings, numbers and booleans, or null. Errors: null_value_not_allowed, invalid_parameter_value.';

--
-- Workers, relays, statistics.
--
CREATE FUNCTION outbox.start_keeper() RETURNS void
    LANGUAGE c STRICT SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_start_keeper';
COMMENT ON FUNCTION outbox.start_keeper() IS
    'Asks the launcher, at commit, to start this database''s keeper if it is not running. CREATE EXTENSION does this by itself.';

CREATE FUNCTION outbox.create_relay(name text, options jsonb DEFAULT '{}') RETURNS jsonb
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_create_relay';
COMMENT ON FUNCTION outbox.create_relay(text, jsonb) IS
    'Makes a relay, which begins at the option start: now (the default: what commits from now on), beginning (the oldest event that is kept), or a timestamp. Returns the options now set. Starts at commit. Errors: duplicate_object, invalid_name, invalid_parameter_value.';

CREATE FUNCTION outbox.alter_relay(name text, options jsonb) RETURNS jsonb
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_alter_relay';
COMMENT ON FUNCTION outbox.alter_relay(text, jsonb) IS
    'Changes the options given and leaves the others; a key whose value is null goes back to its default. Returns the options now set. Takes effect at commit, while the relay runs. Errors: undefined_object, invalid_parameter_value.';

CREATE FUNCTION outbox.drop_relay(name text) RETURNS void
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_drop_relay';
COMMENT ON FUNCTION outbox.drop_relay(text) IS
    'Ends a relay and forgets its position; the log keeps its events for the others. Takes effect at commit. Errors: undefined_object, object_in_use while events of it are parked or dead.';

CREATE FUNCTION outbox.pause(name text, reason text DEFAULT NULL) RETURNS void
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_pause';
COMMENT ON FUNCTION outbox.pause(text, text) IS
    'Lets a relay rest until outbox.resume: its lanes wait for the last confirms and end, events wait in the log. outbox.stats() shows who paused it, since when and why. reason null: none given. Takes effect at commit. Errors: undefined_object.';

CREATE FUNCTION outbox.resume(name text) RETURNS void
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_resume';
COMMENT ON FUNCTION outbox.resume(text) IS
    'Lets a relay go on that was paused, or that came from another database (a restored dump, a copied database). Takes effect at commit. Errors: undefined_object.';

CREATE FUNCTION outbox.reclaim(older_than interval DEFAULT '5 minutes', relay text DEFAULT NULL) RETURNS bigint
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_reclaim';
COMMENT ON FUNCTION outbox.reclaim(interval, text) IS
    'Every lane (of the relay; null: of all) with a claim older than that drops its connection and takes its events up again from its progress. Returns how many events were claimed by these lanes. Errors: undefined_object, null_value_not_allowed.';

CREATE FUNCTION outbox.retry(relay text) RETURNS bigint
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_retry';
COMMENT ON FUNCTION outbox.retry(text) IS
    'Makes the relay''s parked events due now, instead of at their next attempt; of each routing key that no queue takes, one is tried. Returns how many: those that wait for another of their key are not counted. Errors: undefined_object.';

CREATE FUNCTION outbox.redrive(relay text, id bigint DEFAULT NULL) RETURNS bigint
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_redrive';
COMMENT ON FUNCTION outbox.redrive(text, bigint) IS
    'Sends dead events of the relay (id null: all) after all, with fresh attempts. One whose key went on without it carries the header outbox-late. Returns how many. Errors: undefined_object, object_not_in_prerequisite_state if that event is not dead.';

CREATE FUNCTION outbox.discard(relay text, id bigint DEFAULT NULL, reason text DEFAULT NULL) RETURNS bigint
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_discard';
COMMENT ON FUNCTION outbox.discard(text, bigint, text) IS
    'Removes dead events of the relay (id null: all), or the one with that id, parked or dead: they are never sent. The server''s log keeps who did it, and why; reason null: none given. Returns how many. Errors: undefined_object, object_not_in_prerequisite_state if there is no such event, or it was skipped and the relay has yet to pass it in the log.';

CREATE FUNCTION outbox.skip(relay text, id bigint, reason text) RETURNS void
    LANGUAGE c SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_skip';
COMMENT ON FUNCTION outbox.skip(text, bigint, text) IS
    'Gives up an event that the relay has not delivered, in the log or parked: it is dead from then on, and its key goes on. One that is in flight at that moment may still arrive. Errors: undefined_object, object_not_in_prerequisite_state if it is settled or dead already, null_value_not_allowed.';

CREATE VIEW outbox.blocked_keys AS
    SELECT r.name AS relay,
           head.entity_type,
           coalesce(head.ordering_key, head.entity_id) AS ordering_key,
           head.id,
           head.state,
           head.reason,
           head.since,
           k.waiting,
           head.next_attempt_at,
           head.last_error
      FROM (SELECT relay_id, min(id) AS id, count(*) - 1 AS waiting
              FROM outbox.parked
             WHERE key_hash IS NOT NULL AND (state = 'parked' OR blocking)
             GROUP BY relay_id, key_hash) AS k
      JOIN outbox.parked AS head USING (relay_id, id)
      JOIN outbox.relay AS r USING (relay_id);
COMMENT ON VIEW outbox.blocked_keys IS 'The ordering keys that wait for an event that is parked, or dead and blocking: that event (id, state, reason, since when, next attempt, last error), and how many wait behind it.';

CREATE FUNCTION outbox.lane_of(
    relay_id       integer,
    id             bigint,
    event_type     text,
    entity_type    text,
    entity_id      text,
    ordering_key   text,
    initiator_type text
) RETURNS smallint
    LANGUAGE c STABLE SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_lane_of';
COMMENT ON FUNCTION outbox.lane_of(integer, bigint, text, text, text, text, text) IS
    'The lane of the relay that the event with these columns belongs to; null: the relay''s filter leaves the event out, or there is no such relay.';

CREATE FUNCTION outbox.stats(
    OUT relay            text,
    OUT lane             smallint,
    OUT state            text,
    OUT since            timestamptz,
    OUT detail           text,
    OUT pid              integer,
    OUT broker           text,
    OUT published        bigint,
    OUT confirmed        bigint,
    OUT returned         bigint,
    OUT refused          bigint,
    OUT republished      bigint,
    OUT filtered         bigint,
    OUT parked           bigint,
    OUT dead             bigint,
    OUT discarded        bigint,
    OUT order_breaks     bigint,
    OUT bytes            bigint,
    OUT reconnects       bigint,
    OUT in_flight        bigint,
    OUT claimed          bigint,
    OUT oldest_claim     timestamptz,
    OUT backlog          bigint,
    OUT oldest_pending   timestamptz,
    OUT delay_p50        interval,
    OUT delay_p95        interval,
    OUT delay_p99        interval,
    OUT memory           bigint,
    OUT last_error       text,
    OUT last_error_at    timestamptz
) RETURNS SETOF record
    -- Counting a long backlog is estimated high: compiling for it would take longer than the count.
    LANGUAGE c STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off
    AS 'MODULE_PATHNAME', 'outbox_stats';
COMMENT ON FUNCTION outbox.stats() IS
    'A row per relay and lane: state, since when and why, and counts since the server started (docs/delivery.md names each). backlog counts events not yet settled; memory is in bytes.';

CREATE FUNCTION outbox.capture_stats(
    OUT target       regclass,
    OUT events       bigint,
    OUT failures     bigint,
    OUT suppressed   bigint,
    OUT oversized    bigint,
    OUT last_event   timestamptz,
    OUT last_failure timestamptz
) RETURNS SETOF record
    LANGUAGE c STRICT SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'outbox_capture_stats';
COMMENT ON FUNCTION outbox.capture_stats() IS
    'A row per table of this database with what capture did since the server started, in transactions that committed: events written, failures recorded, changes suppressed by outbox.capture_off(), events whose payload was truncated for its size. A partition counts by itself. target null: the sum of all tables, of any database, beyond the 1024 that are counted.';

CREATE VIEW outbox.stat_relay AS SELECT * FROM outbox.stats();
COMMENT ON VIEW outbox.stat_relay IS 'outbox.stats() as a view.';

--
-- Privileges: nothing to the public; monitoring to pg_monitor (docs/getting-started.md has the GRANT lines).
--
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA outbox FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA outbox FROM PUBLIC;
GRANT USAGE ON SCHEMA outbox TO pg_monitor;
GRANT EXECUTE ON FUNCTION outbox.stats(), outbox.capture_stats(), outbox.rule_of(bytea) TO pg_monitor;
GRANT SELECT ON outbox.stat_relay, outbox.rules TO pg_monitor;

-- What pg_dump carries: relays, parked and dead events. Never the log or the progress: their transaction ids mean nothing
-- elsewhere.
SELECT pg_catalog.pg_extension_config_dump('outbox.relay', '');
SELECT pg_catalog.pg_extension_config_dump('outbox.parked', '');
SELECT pg_catalog.pg_extension_config_dump('outbox.relay_id', '');

SELECT outbox.start_keeper();
