"""A throw-away RabbitMQ on loopback, started directly: no wrapper, no plugin, an epmd of its own."""

import shutil
import signal
import socket
from contextlib import contextmanager
from pathlib import Path

import pika

from harness import processes
from harness.waiting import wait_until

PROGRAMS = Path("/usr/lib/rabbitmq/bin")

CONFIGURATION = """\
listeners.tcp.1 = 127.0.0.1:{port}
loopback_users = none
disk_free_limit.absolute = 50MB
vm_memory_high_watermark.relative = 0.6
log.console = false
log.file.level = info
"""


# Only clients whose certificate comes from the authority get in.
TLS_CONFIGURATION = """\
listeners.ssl.1 = 127.0.0.1:{tls_port}
ssl_options.cacertfile = {tls.ca_file}
ssl_options.certfile = {server.cert_file}
ssl_options.keyfile = {server.key_file}
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = true
"""


class Broker:
    """tls: an Authority (harness/certificates.py); it then also listens for TLS."""

    def __init__(self, directory, tls=None):
        self.directory = Path(directory)
        self.tls = tls
        self.tls_port = processes.free_port() if tls else None
        self.log = self.directory / "output.log"
        self.port = processes.free_port()
        self.epmd_port = processes.free_port()
        self.dist_port = processes.free_port()
        self.process = None
        self.epmd = None
        self.vhost = "%2f"      # of url() and of the clients
        self._alarm = False

    # Life

    def create(self):
        self.directory.mkdir(parents=True, exist_ok=True)
        configuration = CONFIGURATION.format(port=self.port)
        if self.tls:
            configuration += TLS_CONFIGURATION.format(tls_port=self.tls_port, tls=self.tls,
                                                      server=self.tls.issue("broker", "DNS:localhost"))
        for name, text in (("rabbitmq.conf", configuration), ("enabled_plugins", "[].\n")):
            (self.directory / name).write_text(text, encoding="ascii")
        for name in ("home", "mnesia", "log"):
            (self.directory / name).mkdir()
            processes.own(self.directory / name)
        processes.own(self.directory)
        self.log.touch()
        return self

    def start(self, timeout=60):
        self._alarm = False     # an alarm does not outlive the process
        if self.epmd is None or self.epmd.poll() is not None:
            command = ["epmd", "-port", str(self.epmd_port), "-address", "127.0.0.1"]
            self.epmd = processes.start(command, self.log, self._environment())
            wait_until(lambda: _listens(self.epmd_port), 10, "epmd listens")
        self.process = processes.start([str(PROGRAMS / "rabbitmq-server")], self.log, self._environment())
        wait_until(self.accepts, timeout, f"broker accepts connections (see {self.directory})", interval=0.1)
        return self

    def stop(self):
        """Orderly stop: what is durable is on disk."""
        processes.end(self.process)

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait(10)

    def restart(self):
        self.stop()
        return self.start()

    def destroy(self):
        for process in (self.process, self.epmd):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait(10)

    def remove(self):
        self.destroy()
        shutil.rmtree(self.directory, ignore_errors=True)

    def log_text(self):
        return "".join(path.read_text(encoding="utf-8", errors="replace")
                       for path in sorted((self.directory / "log").glob("*.log")))

    def running(self):
        return self.process is not None and self.process.poll() is None

    @contextmanager
    def suspended(self):
        """kill -STOP: a broker that stops reading, and answers nobody."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def recover(self):
        """Whatever was done to it: the broker runs again, and takes messages."""
        if not self.running():
            self.start()
        self.process.send_signal(signal.SIGCONT)
        if self._alarm:
            self.unblock()

    def accepts(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the broker ended while starting:\n{self.log.read_text(errors='replace')[-3000:]}")
        if not _listens(self.port):
            return False
        try:
            self.connect(attempts=1).close()
        except pika.exceptions.AMQPError:
            return False
        return True

    def _environment(self):
        # "detached" makes the start script become the Erlang machine: its pid is the one we know.
        return processes.environment(
            HOME=str(self.directory / "home"),
            detached="true",
            ERL_EPMD_PORT=str(self.epmd_port),
            ERL_EPMD_ADDRESS="127.0.0.1",
            RABBITMQ_NODENAME=f"outbox_{self.port}@localhost",
            RABBITMQ_DIST_PORT=str(self.dist_port),
            RABBITMQ_CONFIG_FILE=str(self.directory / "rabbitmq.conf"),
            RABBITMQ_CONF_ENV_FILE="/dev/null",
            RABBITMQ_ADVANCED_CONFIG_FILE=str(self.directory / "advanced.config"),
            RABBITMQ_ENABLED_PLUGINS_FILE=str(self.directory / "enabled_plugins"),
            RABBITMQ_MNESIA_BASE=str(self.directory / "mnesia"),
            RABBITMQ_LOG_BASE=str(self.directory / "log"),
            RABBITMQ_PID_FILE=str(self.directory / "pid"),
            RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}",
        )

    # Administration

    def ctl(self, *arguments, timeout=60):
        """Output of rabbitmqctl."""
        return processes.run([str(PROGRAMS / "rabbitmqctl"), "-q", *arguments], timeout=timeout,
                             env=self._environment()).stdout

    @contextmanager
    def blocking(self):
        """The memory alarm: the broker sends connection.blocked to whoever publishes."""
        self._alarm = True
        self.ctl("set_vm_memory_high_watermark", "0.000001")
        try:
            yield
        finally:
            self.unblock()

    def unblock(self):
        self.ctl("set_vm_memory_high_watermark", "0.6")
        self._alarm = False

    def add_user(self, user, password, vhost="/"):
        self.ctl("add_user", user, password)
        self.ctl("set_permissions", "-p", vhost, user, ".*", ".*", ".*")

    def url(self, user="guest", password="guest", vhost=None):
        return f"amqp://{user}:{password}@127.0.0.1:{self.port}/{vhost or self.vhost}"

    # An independent client

    def connect(self, attempts=5):
        parameters = pika.URLParameters(self.url())
        parameters.heartbeat = 0
        parameters.connection_attempts = attempts
        parameters.retry_delay = 0.5
        parameters.socket_timeout = 5
        parameters.blocked_connection_timeout = 60
        return pika.BlockingConnection(parameters)

    def declare(self, queue, exchange="outbox", exchange_type="topic", binding="#", **arguments):
        """A durable queue bound to a durable exchange; both are made if they are missing."""
        with self.connect() as connection:
            channel = connection.channel()
            channel.queue_declare(queue, durable=True, arguments=arguments)
            if exchange:
                channel.exchange_declare(exchange, exchange_type, durable=True)
                channel.queue_bind(queue, exchange, binding)
        return queue

    def delete(self, queues=(), exchanges=()):
        with self.connect() as connection:
            channel = connection.channel()
            for queue in queues:
                channel.queue_delete(queue)
            for exchange in exchanges:
                channel.exchange_delete(exchange)

    def depth(self, queue):
        """Messages ready in the queue."""
        with self.connect() as connection:
            return connection.channel().queue_declare(queue, passive=True).method.message_count


def _listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
