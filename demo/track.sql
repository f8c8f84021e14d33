-- What outbox_relay is told: which tables to capture, what their events are called, where they go.
-- soft_delete (deleted_at), workspace_id and project_id are found by their names.
CREATE EXTENSION outbox_relay;

SELECT outbox.track('issues', '{
    "entity": "workitem",
    "exclude": ["description_json", "description_html", "description_stripped", "description_binary"],
    "initiator_id": ["updated_by_id", "created_by_id"],
    "initiator_type_setting": "plane.initiator_type",
    "schema_version": "1.0"}');

SELECT outbox.track('issue_comments', '{
    "entity": "workitem.comment",
    "initiator_id": ["updated_by_id", "created_by_id"],
    "initiator_type_setting": "plane.initiator_type",
    "schema_version": "1.0"}');

SELECT outbox.track('cycle_issues', '{
    "entity": "workitem.cycle",
    "verbs": {"insert": "added", "update": "moved", "delete": "removed"},
    "exclude": ["updated_at"],
    "initiator_id": ["updated_by_id", "created_by_id"],
    "initiator_type_setting": "plane.initiator_type",
    "schema_version": "1.0"}');

SELECT outbox.track('labels', '{
    "entity": "label",
    "initiator_id": ["updated_by_id", "created_by_id"],
    "initiator_type_setting": "plane.initiator_type",
    "schema_version": "1.0"}');

SELECT outbox.track('states', '{
    "entity": "state",
    "initiator_id": ["updated_by_id", "created_by_id"],
    "initiator_type_setting": "plane.initiator_type",
    "schema_version": "1.0"}');

SELECT outbox.alter_relay('default', '{"exchange": "plane.event_stream", "exchange_type": "fanout"}');
