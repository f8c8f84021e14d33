"""What we do in order while it drains as fast as it goes costs no repeat: stop, restart, reload, and the end of a single
worker. The same under a steady load is in ends.py."""

import pytest

from harness import acts
from harness.load import cases

EVENTS = 50_000
WAYS = {"restart fast": acts.restart_server, "restart smart": lambda stage: acts.restart_server(stage, "smart"),
        "reload": acts.reload_server, "end of the lane": acts.end_worker("lane"),
        "end of the keeper": acts.end_worker("keeper")}


@pytest.mark.server(connected=False)
@pytest.mark.parametrize("name, end", cases(WAYS, short=("restart fast", "end of the lane")))
def test_an_orderly_end_in_the_middle_of_draining_50000_events_repeats_nothing(stage, note, name, end):
    stage.write(EVENTS)
    stage.connect_broker()
    stage.wait_confirmed(EVENTS // 5)
    end(stage)
    report = stage.report(timeout=120)
    note(report)
    assert report.exact(), report
