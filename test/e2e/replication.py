"""Logical replication: what the subscriber applies is captured there if, and only if, its triggers say so."""

import pytest

from harness.waiting import wait_until

TABLES = ("plain", "replica", "always")
CREATE = "".join(f"CREATE TABLE {table} (id int PRIMARY KEY, v text, deleted_at date);" for table in TABLES)
TRACK = "".join(f"SELECT outbox.track('{table}');" for table in TABLES) + "".join(
    f'ALTER TABLE {table} ENABLE {table.upper()} TRIGGER "!outbox_capture{twin}";'
    for table in ("replica", "always") for twin in ("", "_truncate"))


class Pair:
    def __init__(self, publisher, subscriber):
        self.publisher = publisher
        self.subscriber = subscriber

    def write(self, sql):
        """Runs it for each table on the publisher; returns when the subscriber has applied it."""
        for table in TABLES:
            self.publisher.execute(sql.format(table=table))
        self.catch_up()

    def subscribe(self, publication="FOR ALL TABLES"):
        self.publisher.execute(f"CREATE PUBLICATION everything {publication}")
        self.subscriber.execute(f"CREATE SUBSCRIPTION s CONNECTION '{self.publisher.dsn()}' PUBLICATION everything")
        wait_until(lambda: self.subscriber.value("SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel"), 60,
                   "every table has had its first copy")

    def catch_up(self):
        now = self.publisher.value("SELECT pg_current_wal_lsn()")
        wait_until(lambda: self.publisher.value("SELECT bool_and(replay_lsn >= %s) FROM pg_stat_replication"
                                                " WHERE application_name = 's'", (now,)), 60, "all is applied")

    def events(self, server=None):
        """{table: [(event type without the table, id, new v, old v)]}"""
        rows = (server or self.subscriber).execute(
            "SELECT entity_type, split_part(event_type, '.', 2), entity_id::int, payload->'data'->>'v',"
            " payload->'previous_attributes'->>'v' FROM outbox.event ORDER BY id")
        return {table: [tuple(row[1:]) for row in rows if row[0] == table] for table in TABLES}


@pytest.fixture
def pair(make_server):
    """A publisher and a subscriber with the three tables and the extension; nothing is subscribed yet."""
    servers = [make_server(wal_level="logical").start(), make_server(wal_retrieve_retry_interval="100ms").start()]
    for server in servers:
        server.execute("CREATE EXTENSION outbox_relay")
        server.execute(CREATE)
    servers[1].execute(TRACK)
    return Pair(*servers)


def test_applied_changes_are_captured_once_each_by_replica_and_always_triggers_and_not_by_plain_ones(pair):
    pair.subscribe("FOR TABLE plain, replica, always")
    pair.write("INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    pair.write("UPDATE {table} SET v = 'c' WHERE id = 1")
    pair.write("UPDATE {table} SET v = v")
    pair.write("UPDATE {table} SET deleted_at = '2024-01-01' WHERE id = 2")
    pair.write("DELETE FROM {table}")
    pair.write("TRUNCATE {table}")
    captured = [("created", 1, "a", None), ("created", 2, "b", None), ("updated", 1, "c", "a"),
                ("deleted", 2, "b", None), ("deleted", 1, "c", None), ("truncated", None, None, None)]
    assert pair.events() == {"plain": [], "replica": captured, "always": captured}


def test_the_subscribers_own_changes_are_captured_by_plain_and_always_triggers(pair):
    pair.subscribe("FOR TABLE plain, replica, always")
    for table in TABLES:
        pair.subscriber.execute(f"INSERT INTO {table} VALUES (1, 'own')")
    own = [("created", 1, "own", None)]
    assert pair.events() == {"plain": own, "replica": [], "always": own}


def test_the_first_copy_of_a_table_counts_as_applied(pair):
    for table in TABLES:
        pair.publisher.execute(f"INSERT INTO {table} VALUES (1, 'old')")
    pair.subscribe("FOR TABLE plain, replica, always")
    pair.write("UPDATE {table} SET v = 'new'")
    copied = [("created", 1, "old", None), ("updated", 1, "new", "old")]
    assert pair.events() == {"plain": [], "replica": copied, "always": copied}


def test_rolled_back_work_of_the_publisher_is_captured_nowhere(pair):
    pair.subscribe("FOR TABLE plain, replica, always")
    with pair.publisher.connect(autocommit=False) as session:
        session.execute("INSERT INTO always VALUES (1, 'kept'); SAVEPOINT a; INSERT INTO always VALUES (2, 'undone');"
                        " ROLLBACK TO a")
        session.commit()
        session.execute("INSERT INTO always VALUES (3, 'undone')")
        session.rollback()
    pair.write("INSERT INTO {table} VALUES (4, 'last')")
    assert pair.events()["always"] == [("created", 1, "kept", None), ("created", 4, "last", None)]


def test_a_publication_of_all_tables_does_not_carry_the_log_over(pair):
    pair.publisher.execute(TRACK)
    pair.publisher.execute("INSERT INTO plain VALUES (1, 'before')")
    pair.subscribe()
    pair.publisher.execute("INSERT INTO plain VALUES (2, 'after')")
    pair.catch_up()
    pair.subscriber.execute("INSERT INTO plain VALUES (3, 'own')")
    assert pair.subscriber.value("SELECT count(*) FROM plain") == 3
    assert pair.events(pair.publisher)["plain"] == [("created", 1, "before", None), ("created", 2, "after", None)]
    assert pair.events()["plain"] == [("created", 3, "own", None)]
