"""Connections cut at every frame boundary, and at random offsets, of handshake, publish and confirm."""

import random

import pytest

from faults.network import through_proxy
from harness.load import CUT, Fault, cases
from harness.proxy import ACK, FROM_BROKER, PUBLISH, TO_BROKER
from harness.waiting import wait_until

CUTS_AT_MOST = 250      # of all plans; a session that follows a cut begins carefully: few of them repeat anything


def make_plan(connection, chance, every, offsets):
    """The cuts, (direction, offset), from what one connection has carried so far."""
    to_broker, from_broker = connection.frames[TO_BROKER], connection.frames[FROM_BROKER]
    handshake = {TO_BROKER: to_broker.before(PUBLISH), FROM_BROKER: from_broker.before(ACK)}
    after = {TO_BROKER: to_broker.ends, FROM_BROKER: from_broker.ends}
    plan = []
    for direction, ends in handshake.items():
        plan += [(direction, end) for end in ends]
        plan += [(direction, chance.randint(1, ends[-1])) for _ in range(offsets // 2)]
        # Publishes are three frames each, confirms one.
        following = [end for end in after[direction] if end > ends[-1]][:30]
        plan += [(direction, end) for end in following]
        plan += [(direction, chance.randint(ends[-1] + 1, following[-1])) for _ in range(offsets)]
    chance.shuffle(plan)
    return plan if every else plan[::12]


def cut_everywhere(offsets, every=True):
    def cut(load):
        seed = random.randrange(2**32)
        load.proxy.plan.extend(make_plan(load.proxy.connections[0], random.Random(seed), every, offsets))
        planned = len(load.proxy.plan)
        assert planned <= CUTS_AT_MOST
        load.remark = f"{planned} cuts, seed {seed}"
        load.proxy.cut()

        def over():
            load.pg.set()       # a reload: a lane that backs off tries again at once
            return not load.proxy.plan and load.proxy.cuts_made == planned

        wait_until(over, 300, "every cut was made", interval=0.2)
    return cut


CUTS = {
    "connections cut at a sample of boundaries and offsets":
        Fault(cut_everywhere(offsets=10, every=False), CUT, through_proxy),
    "connections cut at every frame boundary and 150 random offsets":
        Fault(cut_everywhere(offsets=50), CUT * 5, through_proxy),
}


@pytest.mark.parametrize("name, fault", cases(CUTS, short=("connections cut at a sample of boundaries and offsets",)))
def test_cuts_in_the_middle_of_load(load, name, fault):
    load.through("network", name, fault)
