-- What a team puts into its migration. The tables are there (tables.sql); from now on RabbitMQ hears of their changes.
-- outbox_relay finds by their names: the primary key, deleted_at (a soft delete is the deleted event), workspace_id and
-- project_id.
CREATE EXTENSION outbox_relay;

-- An issue as its events show it: without its descriptions, with its labels and those who work on it.
CREATE FUNCTION assignee_ids(issue uuid) RETURNS uuid[] STABLE
    RETURN ARRAY(SELECT assignee_id FROM issue_assignees WHERE issue_id = issue AND deleted_at IS NULL ORDER BY 1);
CREATE FUNCTION label_ids(issue uuid) RETURNS uuid[] STABLE
    RETURN ARRAY(SELECT label_id FROM issue_labels WHERE issue_id = issue AND deleted_at IS NULL ORDER BY 1);
CREATE VIEW workitem AS
    SELECT id, workspace_id, project_id, parent_id, state_id, estimate_point_id, type_id, point, name, priority,
           start_date, target_date, sequence_id, sort_order, completed_at, archived_at, is_draft, external_source,
           external_id, created_at, updated_at, deleted_at, created_by_id, updated_by_id,
           label_ids(id), assignee_ids(id)
      FROM issues;

-- What the event types of an issue begin with; null: with the rule's entity.
CREATE FUNCTION prefix_of(type uuid) RETURNS text STABLE
    RETURN (SELECT 'epic' FROM issue_types WHERE id = type AND is_epic);

-- A list as it was before one row changed, which put an id into it and took one out (or none: null).
CREATE FUNCTION ids_before(ids uuid[], put_in uuid, taken_out uuid) RETURNS uuid[] IMMUTABLE
    RETURN ARRAY(SELECT unnest(array_remove(ids, put_in)) UNION SELECT taken_out WHERE taken_out IS NOT NULL ORDER BY 1);

-- In the SQL of a rule $1 is the new row, null after a DELETE, and $2 the old one, null after an INSERT.
SELECT outbox.track(target, common || rule)
  FROM (SELECT '{
            "verbs": {"truncate": null},
            "initiator_id": ["updated_by_id", "created_by_id"],
            "initiator_type_setting": "plane.initiator_type",
            "schema_version": "1.0"}'::jsonb AS common) AS _,
       (VALUES
        ('issues'::regclass, '{
            "entity": "workitem",
            "variant": "prefix_of((coalesce($1, $2)).type_id)",
            "exclude": ["description_json", "description_html", "description_stripped", "description_binary"],
            "enrich": {"assignee_ids": "assignee_ids((coalesce($1, $2)).id)",
                       "label_ids": "label_ids((coalesce($1, $2)).id)"}}'::jsonb),
        -- Who works on an issue, and its labels, are news of the issue. None are told of one that is deleted.
        ('issue_assignees', '{
            "entity": "workitem",
            "entity_id": "issue_id",
            "verbs": {"insert": "updated", "update": "updated", "delete": "updated", "truncate": null},
            "watch": ["assignee_id", "deleted_at"],
            "data_query": "SELECT * FROM workitem WHERE id = (coalesce($1, $2)).issue_id AND deleted_at IS NULL",
            "previous_query": "SELECT ids_before(assignee_ids((coalesce($1, $2)).issue_id), CASE WHEN $1.deleted_at IS NULL THEN $1.assignee_id END, CASE WHEN $2.deleted_at IS NULL THEN $2.assignee_id END) AS assignee_ids"}'),
        ('issue_labels', '{
            "entity": "workitem",
            "entity_id": "issue_id",
            "verbs": {"insert": "updated", "update": "updated", "delete": "updated", "truncate": null},
            "watch": ["label_id", "deleted_at"],
            "data_query": "SELECT * FROM workitem WHERE id = (coalesce($1, $2)).issue_id AND deleted_at IS NULL",
            "previous_query": "SELECT ids_before(label_ids((coalesce($1, $2)).issue_id), CASE WHEN $1.deleted_at IS NULL THEN $1.label_id END, CASE WHEN $2.deleted_at IS NULL THEN $2.label_id END) AS label_ids"}'),
        ('issue_comments', '{"entity": "workitem.comment"}'),
        ('issue_links', '{"entity": "workitem.link"}'),
        ('issue_relations', '{"entity": "workitem.relation", "verbs": {"update": null, "truncate": null}}'),
        ('file_assets', '{
            "entity": "workitem.attachment",
            "condition": "entity_type = ''ISSUE_ATTACHMENT''",
            "verbs": {"update": null, "truncate": null}}'),
        -- Ordered by the issue: it leaves one cycle before it joins the next.
        ('cycle_issues', '{
            "entity": "workitem.cycle",
            "ordering_key": "issue_id",
            "verbs": {"insert": "added", "update": "moved", "delete": "removed", "truncate": null},
            "watch": ["cycle_id"]}'),
        ('module_issues', '{
            "entity": "workitem.module",
            "ordering_key": "issue_id",
            "verbs": {"insert": "added", "update": "moved", "delete": "removed", "truncate": null},
            "watch": ["module_id"]}'),
        ('labels', '{"entity": "label"}'),
        ('states', '{"entity": "state"}'))
       AS rules (target, rule);

SELECT outbox.alter_relay('default', '{"exchange": "plane.event_stream", "exchange_type": "fanout"}');
