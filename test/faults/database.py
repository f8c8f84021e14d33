"""What happens to the server, the database and the extension in the middle of load."""

import os
import subprocess
import time

import pytest

from harness import checker, processes, steady
from harness.load import CRASH, NONE, Fault, cases
from harness.waiting import wait_until

SHORT_WHILE = 4
WORKERS = "SELECT count(*)::int FROM pg_stat_activity WHERE datname = %s AND backend_type LIKE 'outbox_relay lane%%'"


# Disk full: the data directory is on a small file system of its own, which takes root to mount.

def on_a_small_disk(load):
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system that is small enough to fill")
    disk = load.broker.directory.parent / "small_disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m,mode=0755", "tmpfs", str(disk)], check=True)
    load.closing.callback(lambda: (subprocess.run(["umount", str(disk)], check=True), disk.rmdir()))
    processes.own(disk)
    load.moved_to = disk
    return {"max_wal_size": "64MB", "min_wal_size": "32MB", "wal_keep_size": "0"}


def fill_the_disk(load):
    ballast = load.moved_to / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        try:
            while file.write(bytes(2**20)):
                pass
        except OSError:
            pass
    try:
        load.pg.set()
        wait_until(lambda: "No space left on device" in load.pg.log_text(), 60, "the server has met the full disk")
        time.sleep(SHORT_WHILE)
    finally:
        ballast.unlink()
    if load.pg.running():
        load.pg.wait_accepting()
    else:
        load.pg.start()


# The extension and its database

def recreate_extension(load):
    """What waits in the log goes with it, as a dropped table's rows do; what was sent from it is no phantom."""
    with load.pg.connect(autocommit=False) as session:
        session.execute("LOCK TABLE steady IN ACCESS EXCLUSIVE MODE")
        load.dropped = {row[0] for row in session.execute(checker.COMMITTED).fetchall()}
        session.execute("DROP EXTENSION outbox_relay CASCADE")
        session.execute("DROP TABLE steady")
        session.commit()
    time.sleep(SHORT_WHILE)
    load.collect()
    with load.pg.connect() as session:
        load.install(session)


def drop_another_database(load):
    load.pg.execute("CREATE DATABASE other")
    with load.pg.connect("other") as session:
        session.execute("CREATE EXTENSION outbox_relay")
        session.execute("SELECT outbox.alter_relay('default', '{\"exchange\": \"other\"}')")
        steady.prepare(session)
    load.closing.callback(load.broker.delete, exchanges=["other"])
    began = time.monotonic()
    load.pg.execute("DROP DATABASE other")
    assert time.monotonic() - began < 5


def alter_relays(load):
    """Options that change what is sent, and how much of it at a time."""
    for options in ('{"max_in_flight": 10}', '{"app_id": "another"}', '{"max_in_flight": null, "app_id": null}'):
        for relay in load.relays:
            load.pg.execute("SELECT outbox.alter_relay(%s, %s::jsonb)", (relay, options))
        time.sleep(1)


def copy_database(load):
    """The copy has the log, the relays and the positions of its template, and sends nothing."""
    load.writers.pause()
    load.pg.execute("CREATE DATABASE copy TEMPLATE postgres", dbname="template1")
    load.writers.resume()
    change_copy(load)


def restore_dump(load):
    load.pg.execute("CREATE DATABASE copy TEMPLATE template0")
    server = ["-h", "127.0.0.1", "-p", str(load.pg.port), "-U", "postgres"]
    dump = str(load.pg.directory / "dump")
    processes.run([str(load.pg.bin / "pg_dump"), *server, "-Fc", "-f", dump, "postgres"])
    processes.run([str(load.pg.bin / "pg_restore"), *server, "--exit-on-error", "-d", "copy", dump])
    change_copy(load)


def change_copy(load):
    load.pg.execute("UPDATE steady SET version = version + 1", dbname="copy")
    time.sleep(SHORT_WHILE)
    assert load.pg.value(WORKERS, ("copy",)) == 0, "a copy does not relay"
    assert load.pg.value("SELECT state FROM outbox.stats() WHERE relay = 'default'", dbname="copy") == "paused"


def subscribe(load):
    """A subscriber with the extension and the same broker takes everything: it captures none of it and sends nothing."""
    load.subscriber = load.make_server(**load.pg_settings, wal_retrieve_retry_interval="100ms").start()
    load.subscriber.execute("CREATE EXTENSION outbox_relay")
    load.subscriber.execute(steady.SCHEMA)
    load.subscriber.execute("SELECT outbox.track('steady')")
    load.pg.execute("CREATE PUBLICATION everything FOR ALL TABLES")
    load.subscriber.execute(f"CREATE SUBSCRIPTION s CONNECTION '{load.pg.dsn()}' PUBLICATION everything")
    wait_until(lambda: load.subscriber.value("SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel"), 60,
               "every table has had its first copy")
    time.sleep(SHORT_WHILE)
    assert load.subscriber.value("SELECT count(*)::int FROM steady") == steady.KEYS
    assert load.subscriber.value("SELECT count(*)::int FROM outbox.event") == 0


# Worker slots

def run_out_of_slots(load):
    """Fewer worker slots than the lanes need: the log says so, events wait, and a restart with more heals it."""
    load.pg.settings["max_worker_processes"] = "2"      # of which the launcher has one, and the keeper
    load.pg.restart("fast")
    wait_until(lambda: "max_worker_processes" in load.pg.log_text(), 30, "the log says what is missing")
    time.sleep(SHORT_WHILE)
    assert "max_worker_processes" in load.stats()["detail"]
    load.pg.settings["max_worker_processes"] = "24"
    load.pg.restart("fast")


DATABASE = {
    "disk full": Fault(fill_the_disk, CRASH, on_a_small_disk, writers_fail=True),
    "out of worker slots": Fault(run_out_of_slots, NONE, writers_fail=True),
    "DROP and CREATE EXTENSION": Fault(recreate_extension, NONE, writers_fail=True),
    "DROP DATABASE of another": Fault(drop_another_database, NONE),
    "ALTER of the relays": Fault(alter_relays, NONE),
    "template copy": Fault(copy_database, NONE),
    "restored dump": Fault(restore_dump, NONE),
    "FOR ALL TABLES with a subscriber": Fault(subscribe, NONE, settings={"wal_level": "logical"}),
}


@pytest.mark.parametrize("name, fault", cases(DATABASE, short=("out of worker slots", "template copy")))
def test_trouble_in_the_database_in_the_middle_of_load(load, name, fault):
    load.through("database", name, fault)
