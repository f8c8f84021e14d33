"""Compares the events that were committed with the messages that were received.

lost          committed, never received
phantom       received, not committed
out of order  within one ordering key the first delivery of a lower id came after a higher one
repeats       deliveries of an event beyond its first; one that the broker marks as redelivered is the same message once
              more, whose acknowledgement by the consumer was lost
"""

from dataclasses import dataclass, field

COMMITTED = """
    SELECT event_id::text, id, entity_type, coalesce(ordering_key, entity_id)
      FROM outbox.event ORDER BY id
"""


@dataclass
class Report:
    committed: int = 0
    received: int = 0
    lost: list = field(default_factory=list)
    phantom: list = field(default_factory=list)
    out_of_order: list = field(default_factory=list)
    repeats: int = 0
    longest_delay: float = 0.0      # seconds from capture to the first delivery; means something of a live consumer

    def exact(self):
        return self.nothing_wrong() and self.repeats == 0

    def nothing_wrong(self):
        """Lost, phantom and out of order are never right; repeats may be."""
        return not (self.lost or self.phantom or self.out_of_order)

    def __str__(self):
        return (f"committed {self.committed:>8}  received {self.received:>8}  lost {len(self.lost):>5}"
                f"  phantom {len(self.phantom):>5}  out of order {len(self.out_of_order):>5}  repeats {self.repeats:>6}")


def committed_events(pg, dbname="postgres"):
    """(event_id, id, entity type, ordering key) of all events in the log, in order of id."""
    return pg.execute(COMMITTED, dbname=dbname)


def check(committed, messages):
    """Report on messages, in the order of their queue, against rows of committed_events."""
    ids = {event_id: (id, (entity, key)) for event_id, id, entity, key in committed}
    report = Report(committed=len(ids))
    seen = set()
    newest = {}
    for message in messages:
        if message.redelivered and message.event_id in seen:
            continue
        report.received += 1
        if message.event_id not in ids:
            report.phantom.append(message.event_id)
            continue
        if message.event_id in seen:
            report.repeats += 1
            continue
        seen.add(message.event_id)
        id, key = ids[message.event_id]
        report.longest_delay = max(report.longest_delay, message.arrived - id / 1e6)
        if None not in key:
            if newest.get(key, 0) > id:
                report.out_of_order.append((key, id))
            newest[key] = max(newest.get(key, 0), id)
    report.lost = [event_id for event_id in ids if event_id not in seen]
    return report


def broken_versions(messages, version):
    """(key, before, after) wherever a row's own version, which its writers only ever count up, did not rise from
    one first delivery to the next. An order check that does not trust the ids: version(message) is the number, or
    None for messages it says nothing about."""
    seen = set()
    newest = {}
    broken = []
    for message in messages:
        number = None if message.event_id in seen else version(message)
        seen.add(message.event_id)
        if number is None:
            continue
        if message.key in newest and number <= newest[message.key]:
            broken.append((message.key, newest[message.key], number))
        newest[message.key] = number
    return broken
