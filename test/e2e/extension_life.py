"""CREATE, DROP, rollback and restart: the workers come and go with the extension, by themselves."""

import psycopg
import pytest

from harness.consumer import read_queue
from harness.waiting import wait_until

WORKERS = "SELECT count(*)::int FROM pg_stat_activity WHERE backend_type ~ 'outbox_relay (keeper|lane)' AND datname = %s"


def workers(pg, dbname):
    return pg.value(WORKERS, (dbname,), dbname="template1")


def committed_ids(pg, dbname):
    return {row[0] for row in pg.execute("SELECT event_id::text FROM outbox.event", dbname=dbname)}


def write_in(pg, dbname):
    pg.execute("CREATE TABLE thing (id int PRIMARY KEY); SELECT outbox.track('thing');"
               " INSERT INTO thing SELECT generate_series(1, 100)", dbname=dbname)


def test_create_extension_refuses_a_server_that_has_not_preloaded_the_library_and_says_what_to_do(make_server):
    pg = make_server(shared_preload_libraries="").start()
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState) as refused:
        pg.execute("CREATE EXTENSION outbox_relay")
    assert "shared_preload_libraries" in f"{refused.value.diag.message_detail} {refused.value.diag.message_hint}"


def test_capture_refuses_to_lose_an_event_when_the_library_is_no_longer_preloaded(stage):
    stage.write(1)
    stage.pg.settings["shared_preload_libraries"] = ""
    stage.pg.settings.pop("outbox_relay.amqp_url")
    stage.pg.restart()
    for statement in ("UPDATE item SET version = version + 1", "TRUNCATE item", "SELECT outbox.emit('item.seen', '{}')",
                      "SELECT outbox.preview('item', 'DELETE', '{}', NULL)", "SELECT outbox.reconcile('item', '-infinity')",
                      "SELECT outbox.capture_off()", "SELECT * FROM outbox.stats()", "SELECT outbox.pause('default', 'test')"):
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            stage.pg.execute(statement)


def test_a_rolled_back_create_extension_leaves_no_worker_and_a_committed_one_relays(stage):
    stage.pg.execute("CREATE DATABASE app")
    with stage.pg.connect("app", autocommit=False) as session:
        session.execute("CREATE EXTENSION outbox_relay")
        session.rollback()
    wait_until(lambda: workers(stage.pg, "app") == 0, 10, "no worker is left")
    stage.pg.execute("CREATE EXTENSION outbox_relay", dbname="app")
    write_in(stage.pg, "app")
    ids = committed_ids(stage.pg, "app")
    assert {message.event_id for message in read_queue(stage.broker, stage.queue, ids)} == ids


def test_drop_extension_ends_the_workers_and_creating_it_again_relays_again(stage):
    stage.write(100)
    stage.wait_settled()
    for _ in range(2):
        stage.pg.execute("DROP EXTENSION outbox_relay CASCADE")
        wait_until(lambda: workers(stage.pg, "postgres") == 0, 10, "the workers end")
        stage.pg.execute("CREATE EXTENSION outbox_relay")
    stage.read()
    stage.received.clear()      # their log is gone
    stage.write(100)
    assert stage.report().exact()


def test_a_rolled_back_drop_extension_changes_nothing(stage):
    stage.write(100)
    with stage.pg.connect(autocommit=False) as session:
        session.execute("DROP EXTENSION outbox_relay CASCADE")
        session.rollback()
    stage.write(100)
    report = stage.report()
    assert report.exact(), report


def test_two_databases_of_a_server_are_relayed_side_by_side(stage):
    for name in ("one", "two"):
        stage.pg.execute(f"CREATE DATABASE {name}")
        stage.pg.execute("CREATE EXTENSION outbox_relay", dbname=name)
        write_in(stage.pg, name)
    ids = committed_ids(stage.pg, "one") | committed_ids(stage.pg, "two")
    received = [message.event_id for message in read_queue(stage.broker, stage.queue, ids)]
    assert sorted(received) == sorted(ids)


def test_the_databases_setting_narrows_what_is_relayed_and_a_reload_widens_it(stage):
    stage.pg.set(outbox_relay__databases="one")
    for name in ("one", "two"):
        stage.pg.execute(f"CREATE DATABASE {name}")
        stage.pg.execute("CREATE EXTENSION outbox_relay", dbname=name)
        write_in(stage.pg, name)
    one, two = committed_ids(stage.pg, "one"), committed_ids(stage.pg, "two")
    assert {message.event_id for message in read_queue(stage.broker, stage.queue, one)} == one
    assert workers(stage.pg, "two") == 0
    stage.pg.set(outbox_relay__databases=None)
    assert {message.event_id for message in read_queue(stage.broker, stage.queue, two)} == two


@pytest.mark.parametrize("command", ["ALTER DATABASE app RENAME TO renamed", "CREATE DATABASE copy TEMPLATE app",
                                     "DROP DATABASE app"])
def test_commands_that_need_a_database_for_themselves_find_its_workers_gone(stage, command):
    stage.pg.execute("CREATE DATABASE app")
    stage.pg.execute("CREATE EXTENSION outbox_relay", dbname="app")
    write_in(stage.pg, "app")
    ids = committed_ids(stage.pg, "app")
    read_queue(stage.broker, stage.queue, ids)
    stage.pg.execute(command)
    if "DROP" in command:
        return
    name = "renamed" if "RENAME" in command else "app"
    stage.pg.execute("INSERT INTO thing SELECT generate_series(101, 200)", dbname=name)
    new = committed_ids(stage.pg, name) - ids
    assert {message.event_id for message in read_queue(stage.broker, stage.queue, new)} == new


def test_a_failed_drop_database_gives_the_workers_back(stage):
    stage.pg.execute("CREATE DATABASE app")
    stage.pg.execute("CREATE EXTENSION outbox_relay", dbname="app")
    with stage.pg.connect("app"):
        with pytest.raises(psycopg.errors.ObjectInUse):
            stage.pg.execute("DROP DATABASE app")
    write_in(stage.pg, "app")
    ids = committed_ids(stage.pg, "app")
    assert {message.event_id for message in read_queue(stage.broker, stage.queue, ids)} == ids


def test_a_terminated_worker_of_each_kind_is_replaced(stage):
    stage.write(10)
    stage.wait_settled()
    for kind in ("lane", "keeper", "launcher"):
        (pid,) = stage.pg.pids(f"outbox_relay {kind}%")
        stage.pg.execute("SELECT pg_terminate_backend(%s)", (pid,))
        wait_until(lambda: pid not in (now := stage.pg.pids(f"outbox_relay {kind}%")) and now, 15, f"{kind} is replaced")
    stage.write(10)
    report = stage.report()
    assert report.exact(), report


def test_create_database_copies_a_template_that_has_the_extension_and_the_template_keeps_its_keeper(stage):
    stage.pg.execute("CREATE EXTENSION outbox_relay", dbname="template1")
    wait_until(lambda: stage.pg.value(WORKERS, ("template1",)) == 1, 20, "template1 has a keeper")
    stage.pg.execute("CREATE DATABASE plain")
    for dbname in ("template1", "plain"):
        wait_until(lambda name=dbname: stage.pg.value(WORKERS, (name,)) == 1, 20, f"{dbname} has a keeper")


def test_a_copied_log_gets_a_uuid_of_its_own_and_the_template_keeps_its_own(stage):
    def log_id(dbname):
        return stage.pg.value("SELECT log_id FROM outbox.installation", dbname=dbname)
    stage.pg.execute("CREATE DATABASE app")
    stage.pg.execute("CREATE EXTENSION outbox_relay", dbname="app")
    original = log_id("app")
    stage.pg.execute("CREATE DATABASE copy TEMPLATE app")
    copied = wait_until(lambda: (now := log_id("copy")) != original and now, 20, "the copy has a UUID of its own")
    stage.pg.restart()
    for dbname in ("app", "copy"):
        wait_until(lambda name=dbname: stage.pg.value(WORKERS, (name,)) == 1, 20, f"{dbname} has a keeper again")
    assert (log_id("app"), log_id("copy")) == (original, copied)
