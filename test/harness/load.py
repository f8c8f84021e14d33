"""The load in the middle of which the faults of the fault table happen, and the judge of what came of it.

Steady writers over 200 keys; three relays, one of them with two lanes, each with an exchange and a queue of its own
and a live consumer at it. through(fault) opens it, lets it run, does the fault, lets it run again, ends the writers, and
compares the committed rows with what each consumer received.
"""

import json
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Callable

import pytest

from harness import checker, steady
from harness.consumer import Consumer
from harness.fault_table import Row
from harness.stage import Stage
from harness.steady import SteadyWriters
from harness.waiting import wait_until

RATE = 120          # events a second, each to every relay
BEFORE, AFTER = 2.0, 2.0        # seconds of undisturbed load
LAST_ARRIVAL = 90   # seconds in which nothing arrives though something is missing: the longest backoff is 30 s

# G6, for the events of one lane at this rate: how many may come again.
MAX_IN_FLIGHT = 200
PROGRESS_LAG = 0.2 + 3 * 0.2    # seconds of records that a crash may take back: the WAL writer flushes within three rounds
NONE = 0                        # an orderly end
CUT = MAX_IN_FLIGHT             # of one broken connection, what was in flight
CRASH = MAX_IN_FLIGHT + int(PROGRESS_LAG * RATE * 1.5)      # of the server: and what it had not recorded on disk


@dataclass
class Fault:
    """act(load) does it and, where there is something to undo, undoes it."""

    act: Callable
    repeats: int = NONE             # at most so many per lane
    prepare: Callable = lambda load: {}     # before the server starts; returns settings
    settings: dict = field(default_factory=dict)
    writers_fail: bool = False      # transactions may fail meanwhile, as the server itself is hit
    reorders: bool = False          # the relays are pipelined: what a refusal lets overtake is no fault
    takes_messages: bool = False    # from the broker, which had confirmed them: only what it had not counts


def cases(faults, short):
    """Parameters of a test: (name, fault). Those in `short` are run by test/run, all of them by test/faults/all."""
    return [pytest.param(name, fault, id=name, marks=() if name in short else pytest.mark.long)
            for name, fault in faults.items()]


class Load(Stage):
    relays = {"default": {}, "second": {}, "third": {"lanes": 2}}

    def __init__(self, make_server, broker, record=lambda row: None):
        super().__init__(None, broker)
        self.make_server = make_server
        self._record = record
        self._consumers = {}
        self.writers = None
        self.environment = {}   # variables that the server is started with
        self.closing = ExitStack()      # what a fault has made, and its end
        self.moved_to = None    # a directory that the server shall live in
        self.options = {}       # of every relay, beside its own
        self.exchange_type, self.binding, self.queue_arguments = "topic", "#", {}
        self.dropped = set()    # event ids whose log is gone by the fault's doing: sent or not, they say nothing
        self.remark = ""        # of the row: a fault may set it

    # Life

    def lanes(self, relay):
        return self.relays[relay].get("lanes", 1)

    def place(self, relay):
        """The name of the relay's exchange and of its queue."""
        return f"load_{relay}"

    def open(self, **settings):
        settings.setdefault("outbox_relay__amqp_url", self.broker.url())
        settings.setdefault("outbox_relay__max_in_flight", MAX_IN_FLIGHT)
        self.pg_settings = settings
        self.pg = self.make_server(**settings)
        if self.moved_to:
            self.pg.move(self.moved_to)
        self.pg.environment = self.environment
        for relay in self.relays:
            self.declare(relay)
        self.pg.start()
        with self.pg.connect() as session:
            self.install(session)
        for relay in self.relays:
            self._consumers[relay] = Consumer(self.broker, self.place(relay), keep=False)
        self.writers = SteadyWriters(self.pg, RATE)
        return self

    def declare(self, relay):
        self.broker.declare(self.place(relay), self.place(relay), self.exchange_type, self.binding, **self.queue_arguments)

    def install(self, session):
        """Extension, relays and table, in a database without them."""
        session.execute("CREATE EXTENSION outbox_relay")
        for relay, options in self.relays.items():
            create = "alter_relay" if relay == "default" else "create_relay"
            session.execute(f"SELECT outbox.{create}(%s, %s::jsonb)",
                            (relay, json.dumps({"exchange": self.place(relay), **options, **self.options})))
        steady.prepare(session)

    def close(self):
        if self.writers:
            self.writers.stop()
        for consumer in self._consumers.values():
            consumer.close()
        if self.pg:
            self.pg.remove()
        self.closing.close()
        self.broker.recover()
        places = [self.place(relay) for relay in self.relays]
        self.broker.delete(queues=places, exchanges=places)

    # A fault

    def through(self, subject, name, fault):
        """Runs the fault in the middle of load and judges it; returns the row, and what each relay came to."""
        self.open(**{**fault.settings, **fault.prepare(self)})
        self.run_for(BEFORE, at_least=steady.KEYS // 2)
        fault.act(self)
        self.run_for(AFTER)
        self.writers.stop()
        reports = self.judge()
        if fault.takes_messages:
            self.leave_out_what_was_confirmed(reports)
        row = Row(subject, name, remark=self.remark)
        for report in reports.values():
            row.add(report)
        self._record(row)
        for relay, report in reports.items():
            if fault.reorders and self.order_breaks(relay):
                report.out_of_order = []
            assert report.nothing_wrong(), f"relay {relay}: {report}"
            assert report.repeats <= fault.repeats * self.lanes(relay), f"relay {relay}: {report}"
        if not fault.writers_fail:
            assert not self.writers.failures, "a fault of the broker or the network must not reach a transaction"
        return row, reports

    @contextmanager
    def consumers_stopped(self):
        """Nobody takes messages off the queues."""
        for consumer in self._consumers.values():
            consumer.suspend()
        try:
            yield
        finally:
            for consumer in self._consumers.values():
                consumer.resume()

    def run_for(self, seconds, at_least=0):
        """Lets it run; returns once every consumer has had so many messages."""
        time.sleep(seconds)
        self.collect()
        wait_until(lambda: self.collect() and all(len(messages) >= at_least for messages in self.received.values()),
                   60, f"every consumer has {at_least} messages")

    def collect(self):
        """Takes what has arrived: received is {relay: messages in order of arrival}."""
        if not self.received:
            self.received = {relay: [] for relay in self.relays}
        for relay, consumer in self._consumers.items():
            self.received[relay] += consumer.messages()
        return self.received

    def committed(self):
        """The rows of checker.committed_events; the table that the writers wrote agrees on how many they are."""
        rows = checker.committed_events(self.pg)
        assert sum(row[2] == "steady" for row in rows) == self.pg.value("SELECT sum(version)::int FROM steady"), "the log is not what was committed"
        return rows

    def judge(self):
        """{relay: Report}, once everything has arrived or time is up."""
        committed = [row for row in self.committed() if row[0] not in self.dropped]
        ids = {row[0] for row in committed}

        def all_arrived():
            return all(ids <= {message.event_id for message in messages} for messages in self.collect().values())

        # What is late is not lost: it waits as long as anything comes.
        arrived, deadline = 0, time.monotonic() + LAST_ARRIVAL
        while not all_arrived() and time.monotonic() < deadline:
            now = sum(len(messages) for messages in self.received.values())
            if now > arrived:
                arrived, deadline = now, time.monotonic() + LAST_ARRIVAL
            elif all(self.settled(relay) for relay in self.relays):
                deadline = min(deadline, time.monotonic() + 5)      # the relays have done what they can
            time.sleep(0.3)
        time.sleep(0.5)     # what comes twice comes now
        return {relay: checker.check(committed, [message for message in messages if message.event_id not in self.dropped])
                for relay, messages in self.collect().items()}

    def settled(self, relay):
        """The relay has nothing left to do, and nothing parked."""
        lanes = [self.stats(relay, lane) for lane in range(self.lanes(relay))]
        return all(now.get("pid") and now["backlog"] == 0 and now["in_flight"] == 0 and now["parked"] == 0 for now in lanes)

    def order_breaks(self, relay):
        return sum(self.stats(relay, lane)["order_breaks"] for lane in range(self.lanes(relay)))

    def confirmed(self, relay):
        return sum(self.stats(relay, lane)["confirmed"] for lane in range(self.lanes(relay)))

    def leave_out_what_was_confirmed(self, reports):
        """What a deleted queue held is gone with it: not lost by a relay that had every event confirmed once."""
        gone = sum(len(report.lost) for report in reports.values())
        self.remark = f"{gone} confirmed, then deleted with their queue"
        for relay, report in reports.items():
            assert self.confirmed(relay) >= report.committed, f"relay {relay} had not everything confirmed: {report}"
            report.lost = []
