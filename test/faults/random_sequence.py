"""A random sequence of faults: what each of them alone does not break, their order might."""

import os
import random
import time

import pytest

from harness import acts
from harness.load import CRASH, Fault

FAULTS = {
    "kill -9 of a lane": acts.kill_worker("lane"), "kill -9 of the keeper": acts.kill_worker("keeper"),
    "kill -9 of a backend": acts.kill_backend, "kill -9 of the postmaster": acts.kill_postmaster,
    "kill -9 of the broker": acts.kill_broker, "end of a lane": acts.end_worker("lane"),
    "end of the keeper": acts.end_worker("keeper"), "end of the launcher": acts.end_worker("launcher"),
    "fast restart": acts.restart_server, "immediate shutdown": acts.stop_at_once, "reload": acts.reload_server,
    "restart of the broker": acts.restart_broker, "memory alarm": acts.block_broker, "broker stopped": acts.suspend_broker,
    "lane stopped": acts.suspend_lane, "reclaim": acts.reclaim,
}


def sequence(seconds):
    def run(load):
        seed = int(os.environ.get("OUTBOX_FAULT_SEED", random.randrange(2**32)))
        print(f"seed {seed}")       # shown if it fails: OUTBOX_FAULT_SEED repeats it
        chance = random.Random(seed)
        deadline = time.monotonic() + seconds
        done = 0
        while time.monotonic() < deadline:
            name = chance.choice(list(FAULTS))
            print(f"{time.strftime('%H:%M:%S')} {name}")
            FAULTS[name](load)
            done += 1
            time.sleep(chance.uniform(0, 3))
        load.remark = f"{done} faults, seed {seed}"
    return run


SEQUENCES = {
    "random sequence of faults for 20 s": (20, CRASH * 5),
    "random sequence of faults for 10 minutes": (600, CRASH * 100),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.long) if "minutes" in name else name
                                  for name in SEQUENCES])
def test_a_random_sequence_of_faults_in_the_middle_of_load(load, name):
    seconds, repeats = SEQUENCES[name]
    load.through("random", name, Fault(sequence(seconds), repeats, writers_fail=True))
