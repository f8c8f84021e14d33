"""The fixture of the fault table, and the table itself: at the end of a run, and with --write-table in docs/reliability.md."""

from pathlib import Path

import pytest

from harness import fault_table
from harness.load import Load

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"


def pytest_addoption(parser):
    parser.addoption("--write-table", action="store_true", help="keep the fault table in docs/reliability.md")


@pytest.fixture
def load(request, broker, make_server):
    """A Load, not yet open: load.through(fault) opens it."""
    made = Load(make_server, broker, lambda row: request.node.user_properties.append(("fault", row.as_dict())))
    try:
        yield made
    finally:
        if getattr(request.node, "failed", False) and made.pg:
            print(f"--- the end of the server's log\n{made.pg.log_text()[-5000:]}")
            print(f"--- the end of the broker's log\n{broker.log_text()[-5000:]}")
        made.close()


def pytest_terminal_summary(terminalreporter, config):
    rows = [fault_table.Row(**value) for listed in terminalreporter.stats.values() for report in listed
            if getattr(report, "when", None) == "call"
            for kind, value in report.user_properties if kind == "fault"]
    if not rows:
        return
    terminalreporter.section("fault table")
    terminalreporter.write(fault_table.HEAD)
    for row in rows:
        terminalreporter.line(row.line())
    if config.getoption("--write-table"):
        fault_table.write(PAGE, rows)
