"""A server with the extension and a broker, joined by the relay `default`, and a queue that takes every message."""

from harness import backlog, checker
from harness.consumer import read_queue
from harness.waiting import wait_until

QUEUE = "everything"


class Stage:
    def __init__(self, pg, broker):
        self.pg = pg
        self.broker = broker
        self.queue = QUEUE
        self.received = []      # in the order of the queue

    def open(self, bind=True):
        """Declares the queue, starts the server and creates the extension."""
        if bind:
            self.broker.declare(self.queue)
        self.pg.start()
        self.pg.execute("CREATE EXTENSION outbox_relay")
        return self

    def connect_broker(self):
        """Tells a server that was started without a broker where it is: the relay begins to drain."""
        self.pg.set(outbox_relay__amqp_url=self.broker.url())

    def close(self):
        self.pg.remove()
        self.broker.recover()
        self.broker.delete(queues=[self.queue], exchanges=["outbox"])

    def write(self, events, **how):
        """Commits that many events (backlog.make)."""
        with self.pg.connect() as session:
            backlog.make(session, events, **how)

    # What the relay says

    def stats(self, relay="default", lane=0):
        """outbox.stats() of a lane as a dict; empty while it has not reported."""
        with self.pg.connect() as session:
            cursor = session.execute("SELECT * FROM outbox.stats() WHERE relay = %s AND lane = %s", (relay, lane))
            row = cursor.fetchone()
            return dict(zip((column.name for column in cursor.description), row)) if row else {}

    def lane_pid(self, relay="default", lane=0, timeout=30):
        return wait_until(lambda: self.stats(relay, lane).get("pid"), timeout, f"lane {lane} of the relay {relay} runs")

    def wait_state(self, *states, relay="default", timeout=30):
        """Waits until the (first) lane is in one of the states; returns its stats."""
        def in_state():
            now = self.stats(relay)
            return now if now.get("state") in states else None
        return wait_until(in_state, timeout, f"the lane is {' or '.join(states)}")

    def wait_confirmed(self, count, timeout=60):
        """Waits until the broker has confirmed count messages since the server started; returns the lane's stats."""
        def enough():
            now = self.stats()
            return now if now.get("confirmed", 0) >= count else None
        return wait_until(enough, timeout, f"{count} messages are confirmed", interval=0.02)

    def wait_settled(self, timeout=120):
        """Waits until the relay has nothing left to do."""
        def settled():
            now = self.stats()
            return now and now["pid"] and now["backlog"] == 0 and now["in_flight"] == 0
        wait_until(settled, timeout, "the relay has settled everything", interval=0.1)

    # What has arrived

    def read(self, timeout=60, keep=True):
        """(all committed events, the messages that came since the last read), once every event has come or time is up."""
        committed = checker.committed_events(self.pg)
        missing = {row[0] for row in committed} - {message.event_id for message in self.received}
        new = read_queue(self.broker, self.queue, missing, timeout, keep=keep)
        self.received += new
        return committed, new

    def report(self, timeout=60):
        """Checks everything that was read since the beginning."""
        committed, _ = self.read(timeout, keep=False)
        return checker.check(committed, self.received)
