-- The part of the project tracker Plane's schema that other systems hear of.

CREATE TABLE issue_types (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id  uuid,
    project_id    uuid,
    name          text NOT NULL,
    is_epic       boolean NOT NULL DEFAULT false,
    level         double precision NOT NULL DEFAULT 0,
    is_active     boolean NOT NULL DEFAULT true,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    deleted_at    timestamptz,
    created_by_id uuid,
    updated_by_id uuid
);

CREATE TABLE states (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id    uuid,
    project_id      uuid,
    name            varchar(255) NOT NULL,
    color           varchar(255),
    description     text,
    slug            varchar(100),
    sequence        float8,
    "group"         varchar(20),
    is_triage       boolean NOT NULL DEFAULT false,
    "default"       boolean NOT NULL DEFAULT false,
    external_source varchar(255),
    external_id     varchar(255),
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    deleted_at      timestamptz,
    created_by_id   uuid,
    updated_by_id   uuid
);

CREATE TABLE labels (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id    uuid,
    project_id      uuid,
    parent_id       uuid,
    name            varchar(255) NOT NULL,
    color           varchar(255),
    description     text,
    sort_order      float8,
    external_source varchar(255),
    external_id     varchar(255),
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    deleted_at      timestamptz,
    created_by_id   uuid,
    updated_by_id   uuid
);

CREATE TABLE issues (
    id                   uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id         uuid,
    project_id           uuid,
    parent_id            uuid REFERENCES issues,
    state_id             uuid REFERENCES states,
    estimate_point_id    uuid,
    type_id              uuid REFERENCES issue_types,
    point                int,
    name                 varchar(255) NOT NULL,
    description_json     jsonb,
    description_html     text,
    description_stripped text,
    description_binary   bytea,
    priority             varchar(30) NOT NULL DEFAULT 'none',
    start_date           date,
    target_date          date,
    sequence_id          int,
    sort_order           float8,
    completed_at         timestamptz,
    archived_at          date,
    is_draft             boolean NOT NULL DEFAULT false,
    external_source      varchar(255),
    external_id          varchar(255),
    created_at           timestamptz NOT NULL DEFAULT now(),
    updated_at           timestamptz NOT NULL DEFAULT now(),
    deleted_at           timestamptz,
    created_by_id        uuid,
    updated_by_id        uuid
);

CREATE TABLE issue_assignees (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id  uuid,
    project_id    uuid,
    issue_id      uuid NOT NULL REFERENCES issues ON DELETE CASCADE,
    assignee_id   uuid NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    deleted_at    timestamptz,
    created_by_id uuid,
    updated_by_id uuid
);
CREATE UNIQUE INDEX ON issue_assignees (issue_id, assignee_id) WHERE deleted_at IS NULL;

CREATE TABLE issue_labels (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id  uuid,
    project_id    uuid,
    issue_id      uuid NOT NULL REFERENCES issues ON DELETE CASCADE,
    label_id      uuid NOT NULL REFERENCES labels ON DELETE CASCADE,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    deleted_at    timestamptz,
    created_by_id uuid,
    updated_by_id uuid
);
CREATE UNIQUE INDEX ON issue_labels (issue_id, label_id) WHERE deleted_at IS NULL;

CREATE TABLE issue_comments (
    id               uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id     uuid,
    project_id       uuid,
    comment_stripped text,
    comment_html     text,
    comment_json     jsonb,
    attachments      text[],
    issue_id         uuid NOT NULL REFERENCES issues ON DELETE CASCADE,
    actor_id         uuid,
    parent_id        uuid REFERENCES issue_comments ON DELETE CASCADE,
    description_id   uuid,
    access           varchar(100),
    external_source  varchar(255),
    external_id      varchar(255),
    edited_at        timestamptz,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    deleted_at       timestamptz,
    created_by_id    uuid,
    updated_by_id    uuid
);

CREATE TABLE issue_links (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id  uuid,
    project_id    uuid,
    title         varchar(255),
    url           text NOT NULL,
    issue_id      uuid NOT NULL REFERENCES issues ON DELETE CASCADE,
    metadata      jsonb NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    deleted_at    timestamptz,
    created_by_id uuid,
    updated_by_id uuid
);

CREATE TABLE issue_relations (
    id               uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id     uuid,
    project_id       uuid,
    issue_id         uuid NOT NULL REFERENCES issues ON DELETE CASCADE,
    related_issue_id uuid NOT NULL REFERENCES issues ON DELETE CASCADE,
    relation_type    varchar(20) NOT NULL,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    deleted_at       timestamptz,
    created_by_id    uuid,
    updated_by_id    uuid
);

CREATE TABLE file_assets (
    id                uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id      uuid,
    project_id        uuid,
    attributes        jsonb NOT NULL DEFAULT '{}',
    storage_metadata  jsonb,
    asset             varchar(800),
    user_id           uuid,
    draft_issue_id    uuid,
    issue_id          uuid REFERENCES issues ON DELETE CASCADE,
    comment_id        uuid REFERENCES issue_comments ON DELETE CASCADE,
    page_id           uuid,
    entity_type       varchar(255),
    entity_identifier varchar(255),
    is_deleted        boolean NOT NULL DEFAULT false,
    is_archived       boolean NOT NULL DEFAULT false,
    is_uploaded       boolean NOT NULL DEFAULT false,
    size              float8,
    created_at        timestamptz NOT NULL DEFAULT now(),
    updated_at        timestamptz NOT NULL DEFAULT now(),
    deleted_at        timestamptz,
    created_by_id     uuid,
    updated_by_id     uuid
);

CREATE TABLE cycle_issues (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id  uuid,
    project_id    uuid,
    issue_id      uuid NOT NULL REFERENCES issues ON DELETE CASCADE,
    cycle_id      uuid NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    deleted_at    timestamptz,
    created_by_id uuid,
    updated_by_id uuid
);

CREATE TABLE module_issues (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id  uuid,
    project_id    uuid,
    module_id     uuid NOT NULL,
    issue_id      uuid NOT NULL REFERENCES issues ON DELETE CASCADE,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    deleted_at    timestamptz,
    created_by_id uuid,
    updated_by_id uuid
);
