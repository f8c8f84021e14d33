"""The benchmarks: see bench/run. Each comparison alternates its sides in one run, on fresh servers."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import capture
import drain
import hot_key
import latency
import unchanged
from harness import build, processes
from harness.broker import Broker
from harness.postgres import Postgres

# As a server is run in earnest, but for fsync: disks differ more than what is compared here.
SETTINGS = {"autovacuum": "off", "shared_buffers": "512MB", "max_wal_size": "8GB", "checkpoint_timeout": "1h",
            "log_min_messages": "warning", "outbox_relay.amqp_url": ""}

DELIVERY = {"drain": drain, "hot_key": hot_key, "latency": latency}
PARTS = [*DELIVERY, "capture"]
PROGRAMS = ["bare_publisher", "bare_consumer"]


def build_programs(directory):
    """The bare publisher and consumer, by CMake; returns their paths by name."""
    source, target = directory / "build" / "src", directory / "cmake"
    for command in (["cmake", "-S", str(source), "-B", str(target), "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_MODULE=OFF"],
                    ["cmake", "--build", str(target), "--target", *PROGRAMS, "-j", str(os.cpu_count())]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {name: target / name for name in PROGRAMS}


def build_server(directory):
    """A private server with the extension and the bench's own module; returns its pg_config."""
    pg_config = build.build(directory / "build")
    build.make(directory / "build" / "src" / "bench" / "floor", pg_config, "install")
    return pg_config


def machine(pg):
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        models = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    version = pg.value("SELECT split_part(version(), ' ', 2)")
    return f"{models[0] if models else 'unknown CPU'}, {os.cpu_count()} cores; PostgreSQL {version}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("part", nargs="?", choices=PARTS, help="default: all")
    arguments.add_argument("--rounds", type=int, default=5, help="rounds of each side (default 5)")
    options = arguments.parse_args()
    parts = [options.part] if options.part else PARTS

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    directory = Path(tempfile.mkdtemp(prefix="outbox_relay_bench."))
    directory.chmod(0o755)
    processes.own(directory)
    broker = Broker(directory / "broker")
    pg = None
    try:
        pg = Postgres(directory / "pg", build_server(directory), SETTINGS).create().start()
        pg.execute("CREATE EXTENSION outbox_relay")
        print(machine(pg) + "\n", flush=True)
        delivery = [DELIVERY[part] for part in parts if part in DELIVERY]
        if delivery:
            broker.create().start()
            programs = build_programs(directory)
            for part in delivery:
                part.run(pg, broker, programs, options.rounds)
        if "capture" in parts:
            capture.run(pg, options.rounds)
            unchanged.run(pg, options.rounds)
    finally:
        if pg:
            pg.remove()
        broker.remove()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
