"""What people do in the tracker, one transaction a step: (sentence, SQL, how many events it makes)."""

WORKSPACE = "11111111-0000-4000-8000-000000000001"
PROJECT = "22222222-0000-4000-8000-000000000001"
ADA = "aaaaaaaa-0000-4000-8000-000000000001"
BEN = "bbbbbbbb-0000-4000-8000-000000000002"
TODO = "33333333-0000-4000-8000-000000000001"
DOING = "34343434-0000-4000-8000-000000000002"
BUG = "44444444-0000-4000-8000-000000000001"
ISSUE = "55555555-0000-4000-8000-000000000001"
COMMENT = "66666666-0000-4000-8000-000000000001"
SPRINT_1 = "77777777-0000-4000-8000-000000000001"
SPRINT_2 = "78787878-0000-4000-8000-000000000002"

STEPS = [
    ("Ada sets up the board: two states and a label", f"""
        INSERT INTO states (id, workspace_id, project_id, name, "group", created_by_id) VALUES
            ('{TODO}', '{WORKSPACE}', '{PROJECT}', 'Todo', 'unstarted', '{ADA}'),
            ('{DOING}', '{WORKSPACE}', '{PROJECT}', 'In progress', 'started', '{ADA}');
        INSERT INTO labels (id, workspace_id, name, color, created_by_id)
            VALUES ('{BUG}', '{WORKSPACE}', 'bug', '#d00', '{ADA}')""", 3),
    ("Ada files an issue", f"""
        INSERT INTO issues (id, workspace_id, project_id, state_id, name, priority, sequence_id, created_by_id)
            VALUES ('{ISSUE}', '{WORKSPACE}', '{PROJECT}', '{TODO}', 'Login fails on Safari', 'high', 1, '{ADA}')""", 1),
    ("Ben comments on it", f"""
        INSERT INTO issue_comments (id, workspace_id, project_id, issue_id, actor_id, comment_stripped, created_by_id)
            VALUES ('{COMMENT}', '{WORKSPACE}', '{PROJECT}', '{ISSUE}', '{BEN}', 'It is the cookie banner.', '{BEN}')""", 1),
    ("Ben starts on it: state and date change at once", f"""
        UPDATE issues SET state_id = '{DOING}', start_date = '2025-01-15', updated_by_id = '{BEN}', updated_at = now()
         WHERE id = '{ISSUE}'""", 1),
    ("Ada renames it", f"""
        UPDATE issues SET name = 'Login fails when cookies are refused', updated_by_id = '{ADA}', updated_at = now()
         WHERE id = '{ISSUE}'""", 1),
    ("Ada saves it again, with nothing changed: no event", f"""
        UPDATE issues SET name = name WHERE id = '{ISSUE}'""", 0),
    ("Ada plans it for sprint 1, then moves it to sprint 2", f"""
        INSERT INTO cycle_issues (workspace_id, project_id, issue_id, cycle_id, created_by_id)
            VALUES ('{WORKSPACE}', '{PROJECT}', '{ISSUE}', '{SPRINT_1}', '{ADA}');
        UPDATE cycle_issues SET cycle_id = '{SPRINT_2}', updated_by_id = '{ADA}' WHERE issue_id = '{ISSUE}'""", 2),
    ("Ben edits his comment", f"""
        UPDATE issue_comments SET comment_stripped = 'It is the cookie banner, again.', edited_at = now(),
               updated_by_id = '{BEN}', updated_at = now()
         WHERE id = '{COMMENT}'""", 1),
    ("An import brings three issues; its initiator is the system", f"""
        SET LOCAL plane.initiator_type = 'SYSTEM.IMPORT';
        INSERT INTO issues (workspace_id, project_id, state_id, name, sequence_id, external_source, external_id)
            SELECT '{WORKSPACE}', '{PROJECT}', '{TODO}', 'Imported issue ' || i, 1 + i, 'github', i::text
              FROM generate_series(1, 3) AS i""", 3),
    ("Ada deletes the comment: a soft delete is the deleted event", f"""
        UPDATE issue_comments SET deleted_at = now(), updated_by_id = '{ADA}' WHERE id = '{COMMENT}'""", 1),
]
ROLLED_BACK = ("Ben renames the issue and thinks better of it (ROLLBACK): no event", f"""
        UPDATE issues SET name = 'Never mind', updated_by_id = '{BEN}' WHERE id = '{ISSUE}'""")
