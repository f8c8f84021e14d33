"""A cluster of brokers on loopback. To clients it is a Broker whose address is that of a node that runs."""

import time

import pika

from harness import processes
from harness.broker import Broker
from harness.waiting import wait_until


class Cluster:
    def __init__(self, directory, nodes=3):
        self.directory = directory
        self.nodes = [Broker(directory / f"node{number}") for number in range(nodes)]

    def start(self):
        """All nodes share one epmd, which knows their names, and one cookie."""
        first = self.nodes[0]
        for node in self.nodes:
            node.create()
            node.epmd_port = first.epmd_port
            cookie = node.directory / "home" / ".erlang.cookie"
            cookie.write_text("OUTBOXTESTCLUSTER", encoding="ascii")
            cookie.chmod(0o400)
            processes.own(cookie)
        for node in self.nodes:
            node.epmd = first.epmd
            node.start()
            if node is not first:
                node.ctl("stop_app")
                node.ctl("join_cluster", self.name(first))
                node.ctl("start_app")
                wait_until(node.accepts, 60, "the node has joined", interval=0.3)
        return self

    def name(self, node):
        return f"outbox_{node.port}@localhost"

    def remove(self):
        for node in reversed(self.nodes):
            node.remove()

    # What a Load wants of a broker

    def running_nodes(self):
        return [node for node in self.nodes if node.running()]

    def connect(self, attempts=5):
        """To any node. Asks the network and not the process table, which a consumer's process does not see."""
        for node in reversed(self.nodes * attempts):
            try:
                return node.connect(attempts=1)
            except pika.exceptions.AMQPError as error:
                problem = error
                time.sleep(0.2)
        raise problem

    def declare(self, *arguments, **more):
        return self.running_nodes()[-1].declare(*arguments, **more)

    def delete(self, **what):
        self.running_nodes()[-1].delete(**what)

    def url(self):
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"amqp://guest:guest@{hosts}/%2f"

    def recover(self):
        """Nodes that were killed run again."""
        for node in self.nodes:
            if not node.running():
                node.start(timeout=120)

    def log_text(self):
        return self.nodes[0].log_text()

    # Quorum queues

    def leader(self, queue):
        """The node that leads the queue."""
        asked = self.running_nodes()[0]
        name = asked.ctl("eval", f"{{ok, _, {{_, Leader}}}} = ra:members({server(queue)}, node()}}), Leader.").strip().strip("'")
        return next(node for node in self.nodes if self.name(node) == name)

    def move_leader(self, queue):
        """Another node leads the queue afterwards."""
        before = self.leader(queue)
        other = next(node for node in self.running_nodes() if node is not before)
        before.ctl("eval", f"ra:transfer_leadership({server(queue)}, '{self.name(before)}'}},"
                           f" {server(queue)}, '{self.name(other)}'}}).")
        wait_until(lambda: self.leader(queue) is not before, 60, "another node leads the queue", interval=0.5)


def server(queue):
    """The beginning of the Erlang term that names the queue's replica on a node."""
    return f"{{'%2F_{queue}'"
