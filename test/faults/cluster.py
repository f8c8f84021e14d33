"""A cluster of three brokers with quorum queues, in the middle of load: a node is killed, a leader is moved."""

import shutil
import tempfile
import time
from pathlib import Path

import pytest

from harness import processes
from harness.cluster import Cluster
from harness.load import CUT, NONE, Fault, Load
from harness.waiting import wait_until


@pytest.fixture(scope="module")
def cluster(workdir):
    directory = Path(tempfile.mkdtemp(prefix="cluster.", dir=workdir))
    processes.own(directory)
    directory.chmod(0o755)
    made = Cluster(directory)
    try:
        yield made.start()
    finally:
        made.remove()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def cluster_load(request, cluster, make_server):
    made = Load(make_server, cluster, lambda row: request.node.user_properties.append(("fault", row.as_dict())))
    made.queue_arguments = {"x-queue-type": "quorum"}
    try:
        yield made
    finally:
        if getattr(request.node, "failed", False) and made.pg:
            print(f"--- the end of the server's log\n{made.pg.log_text()[-5000:]}")
        made.close()


def kill_node(load):
    """The node that the lanes are connected to: the first of the URL."""
    node = load.broker.nodes[0]
    node.kill()
    wait_until(lambda: f":{node.port}" not in (load.stats()["broker"] or "") and load.stats()["state"] in ("idle", "relaying"),
               60, "the lane has found another node")
    time.sleep(3)
    node.start(timeout=120)


def kill_leader(load):
    node = load.broker.leader(load.place("default"))
    node.kill()
    time.sleep(5)
    node.start(timeout=120)


def move_leaders(load):
    for relay in load.relays:
        load.broker.move_leader(load.place(relay))
    time.sleep(3)


CLUSTER = {
    "leader of a quorum queue moved": Fault(move_leaders, NONE),
    "node of a cluster killed": Fault(kill_node, CUT),
    "node that leads a quorum queue killed": Fault(kill_leader, CUT),
}


@pytest.mark.long
@pytest.mark.parametrize("name", CLUSTER)
def test_trouble_in_a_cluster_in_the_middle_of_load(cluster_load, name):
    cluster_load.through("cluster", name, CLUSTER[name])
