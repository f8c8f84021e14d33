"""Everything that can end ends in the middle of load: killed, stopped in order, stopped at once."""

import pytest

from harness import acts
from harness.load import CRASH, CUT, NONE, Fault, cases

ENDS = {
    "kill -9 of a lane": Fault(acts.kill_worker("lane"), CRASH, writers_fail=True),
    "kill -9 of the keeper": Fault(acts.kill_worker("keeper"), CRASH, writers_fail=True),
    "kill -9 of the launcher": Fault(acts.kill_worker("launcher"), CRASH, writers_fail=True),
    "kill -9 of a backend": Fault(acts.kill_backend, CRASH, writers_fail=True),
    "kill -9 of the postmaster": Fault(acts.kill_postmaster, CRASH, writers_fail=True),
    "kill -9 of the broker": Fault(acts.kill_broker, CUT),
    "orderly end of a lane": Fault(acts.end_worker("lane"), NONE),
    "orderly end of the keeper": Fault(acts.end_worker("keeper"), NONE),
    "orderly end of the launcher": Fault(acts.end_worker("launcher"), NONE),
    "orderly end of a backend": Fault(acts.end_backend, NONE),
    "fast restart of the server": Fault(acts.restart_server, NONE, writers_fail=True),
    "reload of the server": Fault(acts.reload_server, NONE),
    "orderly restart of the broker": Fault(acts.restart_broker, CUT),
    "immediate shutdown": Fault(acts.stop_at_once, CRASH, writers_fail=True),
    "immediate shutdown, and again in recovery": Fault(acts.stop_at_once_in_recovery, CRASH, writers_fail=True),
}


@pytest.mark.parametrize("name, fault", cases(ENDS, short=("kill -9 of a lane", "kill -9 of the broker",
                                                           "fast restart of the server")))
def test_an_end_in_the_middle_of_load(load, name, fault):
    load.through("ends", name, fault)
