"""A server with the extension, no broker, and the probe: the log's reader as SQL functions."""

import shutil
from pathlib import Path

import pytest

from harness import build

PROBE = Path(__file__).parent / "probe"


@pytest.fixture(scope="session")
def probe_sql(workdir, pg_config):
    """Builds the probe's module; the SQL that makes its functions."""
    below = workdir / "probe"
    shutil.copytree(build.SOURCE / "src", below / "src", ignore=build.NOT_SOURCE)
    shutil.copytree(PROBE, below / "test" / "log" / "probe", ignore=build.NOT_SOURCE)
    source = below / "test" / "log" / "probe"
    build.make(source, pg_config)
    return (PROBE / "probe.sql").read_text(encoding="utf-8") % {"module": source / "outbox_log_probe.so"}


@pytest.fixture
def log(make_server, probe_sql):
    """A running server with the extension and the probe."""
    server = make_server(autovacuum="off").start()      # its transactions would be in the way of those that are looked at
    server.execute("CREATE EXTENSION outbox_relay")
    server.execute(probe_sql)
    return server
