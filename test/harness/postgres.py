"""A throw-away PostgreSQL server: trusts everybody, and listens on loopback and in its own directory only."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import psycopg

from harness import processes
from harness.waiting import wait_until

# fsync off: what is tested is the end of processes, not of the machine; what a process has written survives it.
DEFAULTS = {
    "shared_preload_libraries": "outbox_relay",
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "max_connections": "60",
    "max_worker_processes": "24",
    "max_prepared_transactions": "10",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "log_line_prefix": "%m [%p] %b ",
    "log_min_messages": "info",
    "deadlock_timeout": "100ms",
    "restart_after_crash": "on",
    "outbox_relay.crash_limit": "0",     # tests kill lanes as often as they like
}


class Postgres:
    def __init__(self, directory, pg_config, settings=None):
        self.directory = Path(directory)
        self.data = self.directory / "data"
        self.log = self.directory / "postgres.log"
        self.bin = Path(pg_config).parent
        self.port = processes.free_port()
        self.settings = {**DEFAULTS, **(settings or {})}
        self.environment = {}       # variables that the server is started with
        self.process = None

    # Life

    def create(self, template=None):
        """Makes the data directory: by initdb, or as a copy of a stopped server's."""
        self.directory.mkdir(parents=True, exist_ok=True)
        processes.own(self.directory)
        if template is None:
            processes.run([str(self.bin / "initdb"), "-D", str(self.data), "-U", "postgres", "-A", "trust",
                           "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"], timeout=120)
        else:
            processes.run(["cp", "-a", str(template.data), str(self.data)], timeout=120)
        self.log.touch()
        processes.own(self.log)
        return self

    def move(self, directory):
        """Lets a server that is not running live in another directory from now on."""
        processes.run(["cp", "-a", str(self.data), str(directory / "data")], timeout=120)
        self.data = directory / "data"

    def base_backup(self, primary):
        """Makes the data directory anew, as a standby's of a running server."""
        shutil.rmtree(self.data)
        processes.run([str(self.bin / "pg_basebackup"), "-D", str(self.data), "-d", primary.dsn(), "-X", "stream", "-R",
                       "--checkpoint=fast", "--no-sync"], timeout=120)

    def start_standby(self, primary):
        self.settings["primary_conninfo"] = primary.dsn()
        return self.start()

    def start(self, timeout=60):
        return self.launch().wait_accepting(timeout)

    def launch(self):
        """Starts it without waiting for what it does first: recovery."""
        self._write_settings()
        command = [str(self.bin / "postgres"), "-D", str(self.data)]
        self.process = processes.start(command, self.log, processes.environment(**self.environment))
        return self

    def wait_accepting(self, timeout=60):
        wait_until(self._accepts, timeout, f"server accepts connections (see {self.log})")
        return self

    def stop(self, mode="fast", timeout=60):
        """Stops as pg_ctl does (smart, fast, immediate) and waits for the end of the whole server."""
        if not self.running():
            return
        family = [self.process.pid, *processes.children(self.process.pid)]
        self.process.send_signal({"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode])
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._end_hard(family)
            raise AssertionError(f"the server did not stop ({mode}) within {timeout:g} s") from None
        processes.wait_ended(family)

    def restart(self, mode="fast"):
        self.stop(mode)
        return self.start()

    def crash(self, frozen=()):
        """kill -9 of the postmaster; its children notice and end by themselves, but the frozen ones, which are killed."""
        family = [self.process.pid, *processes.children(self.process.pid)]
        self.process.kill()
        for pid in frozen:
            os.kill(pid, signal.SIGKILL)
        self.process.wait(10)
        processes.wait_ended(family)

    def destroy(self):
        """Ends the server whatever state it is in."""
        if self.running():
            try:
                self.stop("immediate", timeout=20)
            except AssertionError:
                pass

    def remove(self):
        self.destroy()
        shutil.rmtree(self.directory, ignore_errors=True)

    def running(self):
        return self.process is not None and self.process.poll() is None

    def _end_hard(self, family):
        for pid in family:
            if processes.alive(pid):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(10)

    def _accepts(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended while starting:\n{self.log_text()[-3000:]}")
        try:
            psycopg.connect(self.dsn(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    # Settings

    def set(self, **settings):
        """Changes postgresql.conf and reloads; two underscores in a name stand for a dot. None takes a line out."""
        for name, value in settings.items():
            name = name.replace("__", ".")
            if value is None:
                self.settings.pop(name, None)
            else:
                self.settings[name] = str(value)
        self._write_settings()
        if self.running():
            self.process.send_signal(signal.SIGHUP)

    def _write_settings(self):
        own = {"port": str(self.port), "unix_socket_directories": str(self.directory)}
        lines = [f"{name} = '{value}'" for name, value in {**self.settings, **own}.items()]
        conf = self.data / "postgresql.auto.conf"
        conf.write_text("\n".join(lines) + "\n", encoding="utf-8")
        processes.own(conf)

    # Clients

    def dsn(self, dbname="postgres", user="postgres"):
        return f"host=127.0.0.1 port={self.port} dbname={dbname} user={user}"

    def connect(self, dbname="postgres", user="postgres", **options):
        options.setdefault("autocommit", True)
        options.setdefault("connect_timeout", 10)
        return psycopg.connect(self.dsn(dbname, user), **options)

    def execute(self, sql, parameters=None, dbname="postgres"):
        """Runs one statement in a session of its own; returns its rows, if it has any."""
        with self.connect(dbname) as session:
            cursor = session.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else None

    def value(self, sql, parameters=None, dbname="postgres"):
        return self.execute(sql, parameters, dbname)[0][0]

    def psql(self, *arguments, dbname="postgres", timeout=120, check=True):
        """Output of psql, which stops at the first error."""
        command = [str(self.bin / "psql"), "-X", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port),
                   "-U", "postgres", "-d", dbname, *arguments]
        return processes.run(command, timeout=timeout, check=check).stdout

    def log_text(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    # Processes

    def pids(self, backend_type, dbname=None):
        """Processes of the kind that pg_stat_activity calls backend_type (LIKE)."""
        rows = self.execute("SELECT pid FROM pg_stat_activity WHERE backend_type LIKE %s"
                            " AND (%s::text IS NULL OR datname = %s) ORDER BY pid", (backend_type, dbname, dbname))
        return [pid for (pid,) in rows]

    def kill(self, pid):
        """kill -9 of one process of this server: the postmaster ends all others and starts anew. Returns when the
        server accepts connections again."""
        if pid not in processes.children(self.process.pid):
            raise AssertionError(f"{pid} is not a process of this server")
        with self.connect() as witness:
            os.kill(pid, signal.SIGKILL)
            try:
                witness.execute("SELECT pg_sleep(30)")
            except psycopg.OperationalError:
                return self.wait_accepting()
        raise AssertionError("the server did not notice that one of its processes was killed")
