"""The network between lanes and broker, and whoever does not answer on it, in the middle of load."""

import time

import pytest

from harness import acts
from harness.load import CUT, NONE, Fault, cases
from harness.proxy import Proxy
from harness.waiting import wait_until

QUICK = {"outbox_relay__heartbeat": "2s", "outbox_relay__confirm_timeout": "5s", "outbox_relay__connect_timeout": "2s"}
NAME = "broker.outbox.test"


def stop_broker(seconds):
    return lambda load: acts.suspend_broker(load, seconds)


def stop_lane(seconds):
    return lambda load: acts.suspend_lane(load, seconds)


def through_proxy(load):
    load.proxy = Proxy(load.broker.port)
    load.closing.callback(load.proxy.close)
    return {"outbox_relay__amqp_url": f"amqp://guest:guest@127.0.0.1:{load.proxy.port}/%2f"}


def cut(load):
    load.proxy.cut()


def half_open(load):
    stale = load.proxy.open_connections()
    load.proxy.freeze()
    wait_until(lambda: len(load.proxy.connections) >= 2 * len(stale), 30, "every lane has connected anew")


def slow(load):
    load.proxy.slow(bytes_per_second=40_000)
    time.sleep(15)
    load.proxy.fast()


def by_name(load):
    """The broker is known by a name, which libnss_wrapper looks up in a file of ours."""
    load.hosts = load.broker.directory / "hosts"
    load.first = Proxy(load.broker.port, "127.0.0.2")
    load.second = Proxy(load.broker.port, "127.0.0.3", load.first.port)
    for proxy in (load.first, load.second):
        load.closing.callback(proxy.close)
    resolve(load, load.first)
    load.environment = {"LD_PRELOAD": "libnss_wrapper.so", "NSS_WRAPPER_HOSTS": str(load.hosts)}
    return {"outbox_relay__amqp_url": f"amqp://guest:guest@{NAME}:{load.first.port}/%2f"}


def resolve(load, proxy):
    load.hosts.write_text(f"{proxy.address} {NAME}\n", encoding="ascii")


def move_the_name(load):
    assert load.first.connections and not load.second.connections
    resolve(load, load.second)
    load.first.close()
    wait_until(lambda: load.second.connections, 40, "a lane has found the new address")


NETWORK = {
    "broker stopped with kill -STOP for 8 s": Fault(stop_broker(8), CUT, settings=QUICK),
    "broker stopped with kill -STOP for 90 s": Fault(stop_broker(90), CUT),
    "lane stopped with kill -STOP for 8 s": Fault(stop_lane(8), CUT, settings=QUICK),
    "lane stopped with kill -STOP for 90 s": Fault(stop_lane(90), CUT),
    "connections cut": Fault(cut, CUT, through_proxy),
    "connections half-open": Fault(half_open, CUT, through_proxy, QUICK),
    "slow network": Fault(slow, NONE, through_proxy),
    "name that resolves elsewhere later": Fault(move_the_name, CUT, by_name),
}


@pytest.mark.parametrize("name, fault", cases(NETWORK, short=("broker stopped with kill -STOP for 8 s", "connections half-open")))
def test_trouble_with_the_network_in_the_middle_of_load(load, name, fault):
    load.through("network", name, fault)
