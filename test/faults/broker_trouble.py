"""What a broker's administrator, its disk or its memory can do to us in the middle of load."""

import time

import pytest

from harness.load import CUT, NONE, Fault, cases
from harness.waiting import wait_until

USER, PASSWORD = "relay_user", "secret"
SHORT_WHILE = 4


def as_user(load, configure=".*"):
    """Lanes log in as a user of their own; the consumers stay guests."""
    load.broker.add_user(USER, PASSWORD)
    load.closing.callback(load.broker.ctl, "delete_user", USER)
    if configure != ".*":
        load.broker.ctl("set_permissions", USER, configure, ".*", configure)
    return {"outbox_relay__amqp_url": load.broker.url(USER, PASSWORD)}


def may_only_write(load):
    return as_user(load, configure="^$")


def in_vhost(load):
    load.broker.ctl("add_vhost", "load")
    load.broker.ctl("set_permissions", "-p", "load", "guest", ".*", ".*", ".*")
    load.broker.vhost = "load"
    load.closing.callback(leave_vhost, load)
    return {"outbox_relay__amqp_url": load.broker.url()}


def leave_vhost(load):
    load.broker.ctl("delete_vhost", "load")
    load.broker.vhost = "%2f"


def each_relay(load):
    return [load.place(relay) for relay in load.relays]


def declare_again(load):
    for relay in load.relays:
        load.declare(relay)


def close_connections(load):
    load.broker.ctl("close_all_user_connections", USER, "by the test")


def memory_alarm(load):
    with load.broker.blocking():
        load.wait_state("blocked")
        time.sleep(SHORT_WHILE)


def disk_alarm(load):
    load.broker.ctl("set_disk_free_limit", str(10**15))
    try:
        load.wait_state("blocked")
        time.sleep(SHORT_WHILE)
    finally:
        load.broker.ctl("set_disk_free_limit", "50MB")


def delete_exchanges(load):
    load.broker.delete(exchanges=each_relay(load))
    time.sleep(SHORT_WHILE)
    declare_again(load)


def delete_queues(load):
    load.broker.delete(queues=each_relay(load))
    time.sleep(SHORT_WHILE)
    assert load.stats()["parked"] > 0
    declare_again(load)


def delete_vhost(load):
    load.broker.ctl("delete_vhost", "load")
    load.wait_state("backing off")
    time.sleep(SHORT_WHILE)
    load.broker.ctl("add_vhost", "load")
    load.broker.ctl("set_permissions", "-p", "load", "guest", ".*", ".*", ".*")
    declare_again(load)


def take_permission(load):
    load.broker.ctl("clear_permissions", USER)
    close_connections(load)     # a channel remembers what it was once allowed
    wait_until(lambda: "refused" in load.stats()["last_error"], 15, "the broker's refusal is told")
    time.sleep(SHORT_WHILE)
    load.broker.ctl("set_permissions", USER, ".*", ".*", ".*")


def change_password(load):
    load.broker.ctl("change_password", USER, "rotated")
    close_connections(load)
    now = load.wait_state("backing off")
    assert PASSWORD not in now["last_error"]
    time.sleep(SHORT_WHILE)
    load.pg.set(outbox_relay__amqp_url=load.broker.url(USER, "rotated"))


def limit_connections(load):
    load.broker.ctl("set_user_limits", USER, '{"max-connections": 0}')
    close_connections(load)
    load.wait_state("backing off")
    time.sleep(SHORT_WHILE)
    load.broker.ctl("clear_user_limits", USER, "max-connections")


def only_run(load):
    close_connections(load)
    wait_until(lambda: load.stats()["reconnects"] > 0, 15, "the lane has connected anew")


BROKER = {
    "memory alarm": Fault(memory_alarm, NONE),
    "disk alarm": Fault(disk_alarm, NONE),
    "exchange deleted": Fault(delete_exchanges, CUT),
    "queue deleted": Fault(delete_queues, CUT, takes_messages=True),
    "vhost deleted": Fault(delete_vhost, CUT, in_vhost, takes_messages=True),
    "permission taken away": Fault(take_permission, CUT, as_user),
    "password changed": Fault(change_password, CUT, as_user),
    "connection limit": Fault(limit_connections, CUT, as_user),
    "user that may only write": Fault(only_run, CUT, may_only_write),
}


@pytest.mark.parametrize("name, fault", cases(BROKER, short=("exchange deleted", "queue deleted")))
def test_trouble_at_the_broker_in_the_middle_of_load(load, name, fault):
    load.through("broker", name, fault)
