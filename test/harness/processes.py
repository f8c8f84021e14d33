"""Processes: who they run as, where they listen, what they use, how they end."""

import os
import pwd
import random
import signal
import socket
import subprocess

from harness.waiting import wait_until


def identity():
    """Arguments of Popen that drop root's rights: neither server runs as root. Nothing for a plain user."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise RuntimeError("running as root, and there is neither a user postgres nor nobody to run servers as")


def own(path):
    """Gives path to the user that servers run as."""
    who = identity()
    if who:
        os.chown(path, who["user"], who["group"])


def environment(**more):
    """This process's environment without what would lead a client to somebody else's server."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "RABBITMQ_", "ERL_"))}
    return {**kept, "LC_ALL": "C.UTF-8", "TZ": "UTC", **more}


def run(command, timeout=60, check=True, **options):
    """Runs a command as the servers' user; returns its CompletedProcess with text output."""
    options.setdefault("env", environment())
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=timeout, cwd="/", **identity(), **options)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    return done


def start(command, log, env):
    """Starts a server as its user in a session of its own (Ctrl-C at the terminal is ours to handle)."""
    with open(log, "ab") as out:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env,
                                cwd="/", start_new_session=True, **identity())


def free_port():
    """A free port of 127.0.0.1, below the range from which the kernel hands out client ports."""
    for _ in range(200):
        port = random.randrange(15000, 30000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port found on 127.0.0.1")


def alive(pid):
    """True while the process runs; one that only waits to be reaped has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as listed:
            return [int(child) for child in listed.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def title(pid):
    """What ps shows as its command; empty: it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as command:
            return command.read().replace("\0", " ").strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def wait_ended(pids, timeout=30):
    wait_until(lambda: not any(alive(pid) for pid in pids), timeout, f"end of processes {pids}")


def end(process, sig=signal.SIGTERM, timeout=30):
    """Ends a child that start() made; with SIGKILL if it does not listen."""
    if process.poll() is None:
        process.send_signal(sig)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def cpu_seconds(pid):
    """User and system time the process has used."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def anonymous_memory(pid):
    """RssAnon in bytes: the process's own memory, without the shared buffers it has touched. 0: it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0
