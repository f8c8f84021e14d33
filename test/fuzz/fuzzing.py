"""What the fuzzers share: the limits of a run, mutation of text, and which errors are right."""

import os
import random
import time

SECONDS = int(os.environ.get("FUZZ_SECONDS") or 20)

# What is wrong with what was given: data, syntax and names, limits, privileges, prerequisites, integrity, more than one row, a
# statement that writes where it may not, a loop ended by the statement's timeout. Never XX000, nor a lost connection.
EXPECTED_CLASSES = ("0A", "21", "22", "23", "25", "2F", "38", "39", "42", "54", "55", "57014")


class Fuzzing:
    """One run: its seed, and when it ends."""

    def __init__(self):
        self.seed = int(os.environ.get("FUZZ_SEED") or random.randrange(2**32))
        self.rng = random.Random(self.seed)
        self.last = None
        self._end = time.monotonic() + SECONDS

    def goes_on(self):
        return time.monotonic() < self._end

    def say(self, given):
        """Remembers what is about to be given to the server, for when that ends it."""
        self.last = given


def expected(error, given):
    """Raises again what no input should cause."""
    if not (error.sqlstate or "").startswith(EXPECTED_CLASSES):
        raise AssertionError(f"{error.sqlstate}: {error}\ngiven: {given[:5000]}") from error


def mutate(rng, text):
    """Takes pieces out, puts them in, swaps and repeats them."""
    for _ in range(rng.randrange(1, 4)):
        begin = rng.randrange(len(text) + 1)
        end = min(len(text), begin + rng.choice((0, 1, 1, 2, 8)))
        piece = rng.choice(("", text[begin:end] * 2, rng.choice('{}[]",:\\\'()<>| 0123456789-.eE'), chr(rng.randrange(1, 256)),
                            chr(rng.choice((0x7f, 0x80, 0x2028, 0xfffd, 0x1f600))), text[:rng.randrange(20)], "\\u0000", "1" * 400))
        text = text[:begin] + piece + text[end:]
    return text
