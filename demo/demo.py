"""The demo: see demo/run."""

import argparse
import re
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import story
from harness import build, processes
from harness.broker import Broker
from harness.consumer import Consumer
from harness.postgres import Postgres

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
QUEUE = "demo"
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
EXCHANGE = "plane.event_stream"
NAMES = ("name", "comment_stripped", "url", "asset", "relation_type", "cycle_id", "module_id")
BOLD, DIM, GREEN, PLAIN = ("\033[1m", "\033[2m", "\033[32m", "\033[0m") if sys.stdout.isatty() else ("",) * 4

BY_HAND = """
{bold}Go on by hand{plain}
  The same servers, kept until Ctrl-C, with every event printed as it arrives:
      bash demo/run --keep
  Your own server (as root; PG_CONFIG=... chooses another one than the first on the path):
      make && make install
      echo "shared_preload_libraries = 'outbox_relay'"                        >> postgresql.conf
      echo "outbox_relay.amqp_url = 'amqp://user:password@broker:5672/vhost'" >> postgresql.conf
      (restart the server)
      psql -c "CREATE EXTENSION outbox_relay" -c "SELECT outbox.track('your_table')"
  docs/getting-started.md goes through it step by step.
"""

KEPT = """
{bold}Servers are running{plain}, until Ctrl-C. In another terminal:
      {psql} -h 127.0.0.1 -p {pg_port} -U postgres
  and there, for example:
      UPDATE issues SET priority = 'urgent' WHERE sequence_id = 1;
      SELECT * FROM outbox.rules;
      SELECT id, event_type, entity_id, created_at FROM outbox.event ORDER BY id DESC LIMIT 5;
      SELECT relay, state, confirmed, backlog, delay_p50 FROM outbox.stats();
  The broker is {url}, exchange {exchange}.
  Events as they arrive:
"""


class Demo:
    def __init__(self, directory):
        self.directory = directory
        self.pg = None
        self.broker = None
        self.consumer = None

    def prepare(self):
        began = time.monotonic()
        print(f"{BOLD}outbox_relay{PLAIN}: committed changes, on a RabbitMQ exchange, milliseconds later\n")
        print("  building the extension ...", end="", flush=True)
        pg_config = build.build(self.directory / "build")
        print(f" {time.monotonic() - began:.0f} s")
        print("  starting RabbitMQ and PostgreSQL ...", end="", flush=True)
        began = time.monotonic()
        self.broker = Broker(self.directory / "broker").create()
        self.broker.start()
        self.broker.declare(QUEUE, EXCHANGE, exchange_type="fanout", binding="")
        self.pg = Postgres(self.directory / "pg", pg_config, {"outbox_relay.amqp_url": self.broker.url()})
        self.pg.create().start()
        print(f" {time.monotonic() - began:.0f} s")
        for script in ("tables.sql", "plane.sql"):
            self.pg.execute((HERE / script).read_text(encoding="utf-8"))
        tracked = self.pg.value("SELECT count(*) FROM outbox.rules")
        print(f"  tracked {tracked} tables (demo/plane.sql); the relay publishes to the fanout exchange {EXCHANGE}\n")
        self.consumer = Consumer(self.broker, QUEUE)

    def play(self):
        """Each step in a transaction; its events are printed with the time from the commit to the consumer.
        False if an event did not arrive, or one that should not exist did."""
        right = True
        with self.pg.connect(autocommit=False) as session:
            for sentence, sql, types in story.STEPS:
                session.execute(sql)
                session.commit()
                right &= self._show(sentence, types, time.time())
            sentence, sql = story.ROLLED_BACK
            session.execute(sql)
            session.rollback()
            right &= self._show(sentence, [], time.time())
        return right

    def _show(self, sentence, expected, committed):
        print(f"{BOLD}{sentence}{PLAIN}")
        found = self.consumer.wait_for(len(expected)) if expected else self.consumer.messages(0.5)
        for message in found:
            print_event(message, f"{max(0.0, message.arrived - committed) * 1000:6.1f} ms")
        right = sorted(message.event_type for message in found) == sorted(expected)
        if not right:
            print(f"      expected here: {', '.join(expected) or 'nothing'}", file=sys.stderr)
        return right

    def follow(self):
        psql = self.pg.bin / "psql"
        print(KEPT.format(bold=BOLD, plain=PLAIN, psql=psql, pg_port=self.pg.port, url=self.broker.url(),
                          exchange=EXCHANGE))
        while True:
            for message in self.consumer.messages(1.0):
                print_event(message, time.strftime("%H:%M:%S"))

    def end(self):
        if self.consumer:
            self.consumer.close()
        for server in (self.pg, self.broker):
            if server:
                server.remove()


def print_event(message, when):
    event = message.envelope
    print(f"  {GREEN}{when}{PLAIN}  {event['event_type']:<27} {DIM}{event['initiator_type']:<13}{PLAIN} {what_changed(event)}",
          flush=True)


def what_changed(event):
    """One line for a reader: the name of what there is, or the columns that changed."""
    data, previous = event["payload"]["data"], event["payload"]["previous_attributes"]
    noise = ("updated_at", "updated_by_id", "edited_at")
    changes = [f"{column}: {short(old)} -> {short(data[column])}" for column, old in previous.items()
               if column not in noise]
    if changes:
        return ", ".join(changes)
    named = next(column for column in NAMES if data.get(column))
    return f"{named}: {short(data[named])}" if named.endswith("_id") else short(data[named])


def short(value):
    if isinstance(value, list):
        return f"[{', '.join(short(item) for item in value)}]"
    text = "null" if value is None else str(value)
    if UUID.fullmatch(text):
        return text[:8] + "…"
    return text if len(text) <= 40 else text[:39] + "…"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--keep", action="store_true", help="keep the servers running until Ctrl-C")
    keep = arguments.parse_args().keep

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    directory = Path(tempfile.mkdtemp(prefix="outbox_relay_demo."))
    directory.chmod(0o755)
    processes.own(directory)
    demo = Demo(directory)
    right = False
    try:
        demo.prepare()
        right = demo.play()
        print(f"\n{BOLD}SELECT * FROM outbox.stats(){PLAIN}")
        print(demo.pg.psql("-x", "-c", "SELECT * FROM outbox.stats()").rstrip())
        if keep:
            demo.follow()
        print(BY_HAND.format(bold=BOLD, plain=PLAIN))
    except KeyboardInterrupt:
        print("\nstopping")
    finally:
        demo.end()
        shutil.rmtree(directory, ignore_errors=True)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
