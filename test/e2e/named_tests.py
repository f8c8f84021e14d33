"""Pages that say which test proves a promise: each of these tests exists under that name."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"
LINE = re.compile(r"^- `((?:e2e|faults|log)/\w+\.py)`: (.+)$", re.MULTILINE)


def named_tests(page):
    """(file, name of the function) of every test in the page's lists: "- `file`: a sentence; another (a remark)"."""
    for file, sentences in LINE.findall((DOCS / page).read_text(encoding="utf-8")):
        for sentence in re.sub(r" \([^)]*\)", "", sentences).split("; "):
            yield file, "test_" + re.sub(r"[^a-z0-9]+", "_", sentence.lower())


@pytest.mark.parametrize("page", ["guarantees.md"])
def test_every_test_that_a_page_names_exists(page):
    named = list(named_tests(page))
    missing = [(file, name) for file, name in named
               if not re.search(rf"^def {name}\(", (TESTS / file).read_text(encoding="utf-8"), re.MULTILINE)]
    assert len(named) > 10
    assert not missing
