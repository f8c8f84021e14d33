"""Fixtures of e2e and faults. Run through test/run, or by pytest itself: then the extension is built first."""

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from harness import build, processes
from harness.broker import Broker
from harness.postgres import Postgres
from harness.stage import Stage


def pytest_configure():
    # A terminated run ends what it started, as an interrupted one does.
    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


@pytest.fixture(scope="session")
def workdir():
    path = Path(tempfile.mkdtemp(prefix="outbox_relay.", dir=os.environ.get("OUTBOX_WORK")))
    path.chmod(0o755)
    processes.own(path)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def pg_config(workdir):
    """pg_config of a server with the extension installed: OUTBOX_PG_CONFIG, or built now."""
    return os.environ.get("OUTBOX_PG_CONFIG") or build.build(workdir / "build")


@pytest.fixture(scope="session")
def template(workdir, pg_config):
    """A data directory that the servers of the tests are copies of."""
    return Postgres(workdir / "template", pg_config).create()


@pytest.fixture(scope="session")
def session_broker(workdir):
    broker = Broker(workdir / "broker").create()
    try:
        yield broker.start()
    finally:
        broker.remove()


@pytest.fixture
def broker(session_broker):
    yield session_broker
    session_broker.recover()


@pytest.fixture
def make_server(request, workdir, pg_config, template):
    """make_server(**settings): a server that is not started yet; removed after the test."""
    made = []

    def make(**settings):
        directory = Path(tempfile.mkdtemp(prefix="pg.", dir=workdir))
        directory.chmod(0o755)
        server = Postgres(directory, pg_config, {name.replace("__", "."): value for name, value in settings.items()})
        made.append(server.create(template))
        return server

    yield make
    for server in made:
        server.remove()


@pytest.fixture
def stage(request, broker, make_server):
    """A Stage, open. @pytest.mark.server(outbox_relay__batch_size=10) gives settings; bound=False: no queue is there,
    connected=False: the relay has not been told of its broker."""
    settings = {}
    for marker in request.node.iter_markers("server"):
        settings = {**marker.kwargs, **settings}
    bound, connected = settings.pop("bound", True), settings.pop("connected", True)
    if connected:
        settings.setdefault("outbox_relay__amqp_url", broker.url())
    opened = Stage(make_server(**settings), broker)
    try:
        yield opened.open(bind=bound)
    finally:
        if getattr(request.node, "failed", False):
            print(f"--- the end of the server's log\n{opened.pg.log_text()[-5000:]}")
            print(f"--- the end of the broker's log\n{broker.log_text()[-5000:]}")
        opened.close()


@pytest.fixture
def note(request):
    """note(text): a line with a figure or a report, shown at the end of the run."""
    return lambda text: request.node.user_properties.append(("note", str(text)))


def pytest_terminal_summary(terminalreporter):
    # From the reports, which also come from the processes of a run in parallel.
    reports = [report for listed in terminalreporter.stats.values() for report in listed
               if getattr(report, "when", None) == "call"]
    notes = [(report.nodeid.rpartition("::")[2], text) for report in reports
             for kind, text in report.user_properties if kind == "note"]
    if notes:
        terminalreporter.section("figures")
        for name, text in notes:
            terminalreporter.line(f"{name.removeprefix('test_').replace('_', ' ')}\n    {text}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if outcome.get_result().failed:
        item.failed = True
