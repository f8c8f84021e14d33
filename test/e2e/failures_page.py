"""docs/failures.md: what it quotes is what the program says, and no state is missing."""

import re
from pathlib import Path

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs" / "failures.md").read_text(encoding="utf-8")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def said():
    """Every string of the sources, those side by side as one, conversions and all."""
    for source in sorted((TOP / "src").rglob("*.cpp")):
        text = re.sub(r'(?<!\\)"\s*\n\s*"', "", source.read_text(encoding="utf-8"))
        for literal in STRING.findall(text):
            yield literal.replace('\\"', '"').replace("\\\\", "\\")


def quotes():
    """What the page quotes of details and log lines: code of more than two words."""
    return [quote for quote in re.findall(r"`([^`\n]+)`", PAGE) if quote.count(" ") > 1]


def is_said(piece, messages):
    """By one string, or by two that the program puts together ("broker refused " and "exchange ")."""
    if any(piece in message for message in messages):
        return True
    return any(any(message.endswith(piece[:cut]) for message in messages) and
               any(message.startswith(piece[cut:]) for message in messages)
               for cut in (match.end() for match in re.finditer(" ", piece)) if cut < len(piece))


def test_every_message_that_the_page_quotes_is_one_of_the_program():
    messages = set(said())
    pieces = {piece for quote in quotes() for piece in re.split(r'[…"]', quote) if len(piece.strip()) > 4}
    assert len(pieces) > 30
    assert not [piece for piece in pieces if not is_said(piece, messages)]


def test_every_state_of_a_lane_is_on_the_page():
    source = (TOP / "src" / "stats" / "lane_stats.cpp").read_text(encoding="utf-8")
    states = re.findall(r'return "([a-z ]+)";', source)
    assert len(states) > 10
    missing = [state for state in [*states, "paused"] if f"`{state}`" not in PAGE]
    assert not missing
