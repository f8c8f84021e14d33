"""What a queue holds, as an independent client sees it.

Most tests read a queue after the fact: its order is the order in which the broker took the messages, and a
message that is in it twice was published twice. read_queue does that. Consumer is the live one: a process of
its own, so that the clock it reads is not held up by the writers of the test.
"""

import json
import multiprocessing
import os
import queue as queues
import signal
import time
from collections import deque
from dataclasses import dataclass, field
from functools import cached_property

import pika


@dataclass
class Received:
    """One message. body is None where the reader was asked not to keep it."""

    event_id: str
    id: int
    event_type: str
    key: tuple
    arrived: float
    redelivered: bool
    routing_key: str = ""
    headers: dict = field(default_factory=dict)
    properties: pika.BasicProperties = None
    body: bytes = None

    @cached_property
    def envelope(self):
        return json.loads(self.body)


def received(method, properties, body, keep=True):
    headers = properties.headers or {}
    message = Received(
        event_id=properties.message_id,
        id=int(headers.get("outbox-id", 0)),
        event_type=properties.type,
        key=(headers.get("entity-type"), headers.get("entity-id")),
        arrived=time.time(),
        redelivered=method.redelivered,
    )
    if keep:
        message.routing_key, message.headers, message.properties, message.body = method.routing_key, headers, properties, body
    return message


class QueueReader:
    """Takes messages off a queue in order and acknowledges them."""

    def __init__(self, broker, queue, keep=True, prefetch=2000):
        self.connection = broker.connect()
        self.channel = self.connection.channel()
        self.channel.basic_qos(prefetch_count=prefetch)
        self.keep = keep
        self.prefetch = prefetch
        self.cancelled = False      # by the broker: the queue is gone
        self._arrived = deque()
        self.channel.add_on_cancel_callback(self._on_cancel)
        self.channel.basic_consume(queue, self._on_message)

    def _on_cancel(self, _):
        self.cancelled = True

    def _on_message(self, _, method, properties, body):
        self._arrived.append((method.delivery_tag, received(method, properties, body, self.keep)))

    def read(self, quiet):
        """Yields messages until none has come for `quiet` seconds."""
        unacknowledged = 0
        newest = time.monotonic()
        while self._arrived or (time.monotonic() - newest < quiet and not self.cancelled):
            if not self._arrived:
                self.connection.process_data_events(time_limit=quiet)
                continue
            newest = time.monotonic()
            tag, message = self._arrived.popleft()
            yield message
            unacknowledged += 1
            if unacknowledged >= self.prefetch // 4:
                self.channel.basic_ack(tag, multiple=True)
                unacknowledged = 0
        if unacknowledged:
            self.channel.basic_ack(tag, multiple=True)

    def close(self):
        if self.connection.is_open:
            self.connection.close()


def read_queue(broker, queue, expected, timeout=60, quiet=0.5, keep=True):
    """Reads the queue until the expected event ids have come and nothing follows them, or until timeout.

    Returns all messages in the order of the queue. It does not complain: the checker does.
    """
    missing = set(expected)
    messages = []
    deadline = time.monotonic() + timeout
    reader = QueueReader(broker, queue, keep)
    try:
        while True:
            for message in reader.read(quiet):
                messages.append(message)
                missing.discard(message.event_id)
            if not missing or time.monotonic() > deadline:
                return messages
    finally:
        reader.close()


def _consume(broker, queue, keep, sink, stop, ready):
    while not stop.is_set():
        try:
            reader = QueueReader(broker, queue, keep, prefetch=100)
            ready.set()
            while not (stop.is_set() or reader.cancelled):
                for message in reader.read(0.05):
                    sink.put(message)
                    if stop.is_set():
                        break
            reader.close()
        except (pika.exceptions.AMQPError, OSError):
            time.sleep(0.2)     # the broker is away, or has no such queue now


class Consumer:
    """A live consumer in a process of its own: messages() gives what has arrived since the last call.

    It outlives the broker and the queue. What it had not acknowledged when its connection broke comes to it again,
    marked as redelivered.
    """

    def __init__(self, broker, queue, keep=True):
        context = multiprocessing.get_context("fork")
        self._sink = context.Queue()
        self._stop = context.Event()
        ready = context.Event()
        self._process = context.Process(target=_consume, args=(broker, queue, keep, self._sink, self._stop, ready),
                                        daemon=True)
        self._process.start()
        if not ready.wait(15):
            raise AssertionError("the consumer did not connect")

    def messages(self, timeout=0.0):
        """Everything that has arrived, waiting up to timeout for the first message."""
        found = []
        try:
            found.append(self._sink.get(timeout=timeout) if timeout else self._sink.get_nowait())
            while True:
                found.append(self._sink.get_nowait())
        except queues.Empty:
            return found

    def wait_for(self, count, timeout=30):
        """At least count messages, in order of arrival; fewer if they do not come in time."""
        found = []
        deadline = time.monotonic() + timeout
        while len(found) < count and time.monotonic() < deadline:
            found += self.messages(0.2)
        return found

    def suspend(self):
        """It takes nothing more off the queue than what the broker has sent it already."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self._process.pid, signal.SIGCONT)

    def close(self):
        self._stop.set()
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
