"""A server whose module is built with AddressSanitizer and UndefinedBehaviorSanitizer (test/fuzz/run makes it)."""

import re

import pytest

from fuzzing import Fuzzing

REPORTS = re.compile(r"AddressSanitizer|runtime error:|terminated by signal|TRAP:|PANIC:")


@pytest.fixture
def server(make_server):
    """Whatever else a test finds: it fails if a sanitizer or the server's own assertions had to speak."""
    pg = make_server(log_min_messages="warning", shared_buffers="32MB", outbox_relay__mask_salt="salt").start()
    pg.execute("CREATE EXTENSION outbox_relay")
    yield pg
    report = REPORTS.search(pg.log_text())
    assert not report, pg.log_text()[max(0, report.start() - 200):][:8000]


@pytest.fixture
def fuzzing(server):
    run = Fuzzing()
    yield run
    if not server.running() or REPORTS.search(server.log_text()):
        print(f"seed {run.seed}, given last: {run.last}")
