"""What people do in the tracker, one transaction a step: (sentence, SQL, the types of its events)."""

WORKSPACE = "11111111-0000-4000-8000-000000000001"
PROJECT = "22222222-0000-4000-8000-000000000001"
ADA = "aaaaaaaa-0000-4000-8000-000000000001"
BEN = "bbbbbbbb-0000-4000-8000-000000000002"
CLEO = "cccccccc-0000-4000-8000-000000000003"
TODO = "33333333-0000-4000-8000-000000000001"
DOING = "34343434-0000-4000-8000-000000000002"
BUG = "44444444-0000-4000-8000-000000000001"
EPIC_TYPE = "e0e0e0e0-0000-4000-8000-000000000001"
ISSUE = "55555555-0000-4000-8000-000000000001"
EPIC = "5e5e5e5e-0000-4000-8000-000000000002"
COMMENT = "66666666-0000-4000-8000-000000000001"
SPRINT_1 = "77777777-0000-4000-8000-000000000001"
SPRINT_2 = "78787878-0000-4000-8000-000000000002"
MODULE = "88888888-0000-4000-8000-000000000001"
PLACE = f"'{WORKSPACE}', '{PROJECT}'"

STEPS = [
    ("Ada sets up the board: two states, a label, and a type for epics (types make no events)", f"""
        INSERT INTO states (id, workspace_id, project_id, name, "group", created_by_id) VALUES
            ('{TODO}', {PLACE}, 'Todo', 'unstarted', '{ADA}'), ('{DOING}', {PLACE}, 'In progress', 'started', '{ADA}');
        INSERT INTO labels (id, workspace_id, name, color, created_by_id)
            VALUES ('{BUG}', '{WORKSPACE}', 'bug', '#d00', '{ADA}');
        INSERT INTO issue_types (id, workspace_id, project_id, name, is_epic)
            VALUES ('{EPIC_TYPE}', {PLACE}, 'Epic', true)""",
     ["state.created", "state.created", "label.created"]),
    ("Ada files an issue", f"""
        INSERT INTO issues (id, workspace_id, project_id, state_id, name, priority, sequence_id, created_by_id)
            VALUES ('{ISSUE}', {PLACE}, '{TODO}', 'Login fails on Safari', 'high', 1, '{ADA}')""",
     ["workitem.created"]),
    ("Ada gives it to Ben, then to Cleo, too, and labels it: news of the issue, with the lists as they were", f"""
        INSERT INTO issue_assignees (workspace_id, project_id, issue_id, assignee_id, created_by_id)
            VALUES ({PLACE}, '{ISSUE}', '{BEN}', '{ADA}');
        INSERT INTO issue_assignees (workspace_id, project_id, issue_id, assignee_id, created_by_id)
            VALUES ({PLACE}, '{ISSUE}', '{CLEO}', '{ADA}');
        INSERT INTO issue_labels (workspace_id, project_id, issue_id, label_id, created_by_id)
            VALUES ({PLACE}, '{ISSUE}', '{BUG}', '{ADA}')""",
     ["workitem.updated", "workitem.updated", "workitem.updated"]),
    ("Ben comments on it, with a screenshot and a link; his new portrait is a file, too, but no attachment", f"""
        INSERT INTO issue_comments (id, workspace_id, project_id, issue_id, actor_id, comment_stripped, created_by_id)
            VALUES ('{COMMENT}', {PLACE}, '{ISSUE}', '{BEN}', 'It is the cookie banner.', '{BEN}');
        INSERT INTO file_assets (workspace_id, issue_id, asset, entity_type, created_by_id)
            VALUES ('{WORKSPACE}', '{ISSUE}', 'banner.png', 'ISSUE_ATTACHMENT', '{BEN}');
        INSERT INTO file_assets (workspace_id, user_id, asset, entity_type, created_by_id)
            VALUES ('{WORKSPACE}', '{BEN}', 'ben.jpg', 'USER_AVATAR', '{BEN}');
        INSERT INTO issue_links (workspace_id, project_id, issue_id, url, created_by_id)
            VALUES ({PLACE}, '{ISSUE}', 'https://example.org/cookies', '{BEN}')""",
     ["workitem.comment.created", "workitem.attachment.created", "workitem.link.created"]),
    ("Ben starts on it: state and date change at once", f"""
        UPDATE issues SET state_id = '{DOING}', start_date = '2025-01-15', updated_by_id = '{BEN}', updated_at = now()
         WHERE id = '{ISSUE}'""",
     ["workitem.updated"]),
    ("Ada saves it again, with nothing changed: no event", f"""
        UPDATE issues SET name = name WHERE id = '{ISSUE}'""",
     []),
    ("Ada plans an epic, which the issue relates to", f"""
        INSERT INTO issues (id, workspace_id, project_id, state_id, type_id, name, sequence_id, created_by_id)
            VALUES ('{EPIC}', {PLACE}, '{TODO}', '{EPIC_TYPE}', 'A login without cookies', 2, '{ADA}');
        INSERT INTO issue_relations (workspace_id, project_id, issue_id, related_issue_id, relation_type, created_by_id)
            VALUES ({PLACE}, '{ISSUE}', '{EPIC}', 'relates_to', '{ADA}')""",
     ["epic.created", "workitem.relation.created"]),
    ("Ada puts it into a module and into sprint 1, then moves it to sprint 2", f"""
        INSERT INTO module_issues (workspace_id, project_id, issue_id, module_id, created_by_id)
            VALUES ({PLACE}, '{ISSUE}', '{MODULE}', '{ADA}');
        INSERT INTO cycle_issues (workspace_id, project_id, issue_id, cycle_id, created_by_id)
            VALUES ({PLACE}, '{ISSUE}', '{SPRINT_1}', '{ADA}');
        UPDATE cycle_issues SET cycle_id = '{SPRINT_2}', updated_by_id = '{ADA}' WHERE issue_id = '{ISSUE}'""",
     ["workitem.module.added", "workitem.cycle.added", "workitem.cycle.moved"]),
    ("Cleo is off it: the row of the link is soft-deleted", f"""
        UPDATE issue_assignees SET deleted_at = now(), updated_by_id = '{CLEO}'
         WHERE issue_id = '{ISSUE}' AND assignee_id = '{CLEO}'""",
     ["workitem.updated"]),
    ("The issue turns out to be an epic itself", f"""
        UPDATE issues SET type_id = '{EPIC_TYPE}', updated_by_id = '{ADA}' WHERE id = '{ISSUE}'""",
     ["epic.updated"]),
    ("An import brings three issues; its initiator is the system", f"""
        SET LOCAL plane.initiator_type = 'SYSTEM.IMPORT';
        INSERT INTO issues (workspace_id, project_id, state_id, name, sequence_id, external_source, external_id)
            SELECT {PLACE}, '{TODO}', 'Imported issue ' || i, 2 + i, 'github', i::text
              FROM generate_series(1, 3) AS i""",
     ["workitem.created", "workitem.created", "workitem.created"]),
    ("Ada deletes the comment: a soft delete is the deleted event", f"""
        UPDATE issue_comments SET deleted_at = now(), updated_by_id = '{ADA}' WHERE id = '{COMMENT}'""",
     ["workitem.comment.deleted"]),
]
ROLLED_BACK = ("Ben renames the issue and thinks better of it (ROLLBACK): no event", f"""
        UPDATE issues SET name = 'Never mind', updated_by_id = '{BEN}' WHERE id = '{ISSUE}'""")
