"""Bounded waiting."""

import time


def wait_until(condition, timeout=30.0, what=None, interval=0.05):
    """Calls condition until it is true and returns what it gave; AssertionError after timeout seconds."""
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s: {what or condition}")
        time.sleep(interval)
