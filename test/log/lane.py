"""A lane of the tests' own: reads the log through the probe, settles what it likes, and restarts from its progress."""

import json
import random

BEGINNING = {"done": "1:1:", "upper": None, "last_id": None, "outstanding": "{}"}


def read(session, position, rows=1000, size=1 << 30, throw_at=0):
    """One chunk: (all_read, the position behind it, its events)."""
    text = session.execute("SELECT probe_read(%s, %s, %s, %s, %s, %s, %s)",
                           (position["done"], position["upper"], position["last_id"], position["outstanding"],
                            rows, size, throw_at)).fetchone()[0]
    chunk = json.loads(text)
    return chunk["all_read"], chunk["position"], chunk["events"]


def read_all(session, position=None, **limits):
    """Chunk after chunk until nothing is left: (the position, all events)."""
    position = position or BEGINNING
    events = []
    all_read = False
    while not all_read:
        all_read, position, chunk = read(session, position, **limits)
        events += chunk
    return position, events


def ranges(ids):
    """Single ids as an int8multirange; neighbours joined."""
    joined = []
    for id in sorted(ids):
        if joined and joined[-1][1] == id:
            joined[-1][1] = id + 1
        else:
            joined.append([id, id + 1])
    return "{" + ",".join(f"[{first},{end})" for first, end in joined) + "}"


class Lane:
    """Reads in chunks of the given limits. One that restarts settles half of what it reads, at random, before it is
    started again from what a progress row would hold."""

    def __init__(self, restarts=False, seed=1, **limits):
        self.settled = []
        self._restarts = restarts
        self._limits = limits
        self._chance = random.Random(seed)
        self._position = BEGINNING
        self._outstanding = []

    def advance(self, session):
        """Reads a chunk; True if nothing is left to read."""
        all_read, self._position, events = read(session, self._position, **self._limits)
        if self._restarts and self._chance.random() < 0.2:
            self._restart(events)
            return False
        self.settled += events
        return all_read

    def _restart(self, events):
        # Whole keys, so that the order per key can still be told from the order of settling.
        kept = {key for key in {event["entity_id"] for event in events} if self._chance.random() < 0.5}
        self.settled += [event for event in events if event["entity_id"] in kept]
        out = ranges(event["id"] for event in events if event["entity_id"] not in kept)
        rest = self._position["outstanding"]
        merged = "{" + ",".join(part for part in (out.strip("{}"), rest.strip("{}")) if part) + "}"
        self._position = {**self._position, "outstanding": merged}
