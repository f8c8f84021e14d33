"""A TCP proxy between lanes and broker that cuts, stalls or slows their connections.

It knows AMQP's frames, so that a connection can be cut exactly between two of them: every connection takes the next
cut of the plan, (direction, offset in bytes), and is closed once so many bytes have gone that way.
"""

import select
import socket
import threading
import time
from collections import deque

TO_BROKER, FROM_BROKER = "to the broker", "from the broker"
PROTOCOL_HEADER = 8     # bytes that a client sends before its first frame
PUBLISH, ACK = (60, 40), (60, 80)


class Frames:
    """Where the frames of one direction end, and which methods they carry."""

    def __init__(self, direction):
        self.ends = []      # offsets; the protocol header counts as a frame
        self.methods = []   # (class, method) of each; None: no method frame
        self._start = 0
        self._rest = b""
        self._skip = PROTOCOL_HEADER if direction == TO_BROKER else 0

    def feed(self, data):
        self._rest += data
        while size := self._first_size():
            frame, self._rest = self._rest[:size], self._rest[size:]
            self._start += size
            method = None
            if not self._skip and frame[0] == 1:
                method = (int.from_bytes(frame[7:9], "big"), int.from_bytes(frame[9:11], "big"))
            self._skip = 0
            self.ends.append(self._start)
            self.methods.append(method)

    def _first_size(self):
        size = self._skip or (8 + int.from_bytes(self._rest[3:7], "big") if len(self._rest) >= 7 else 0)
        return size if size and len(self._rest) >= size else 0

    def before(self, method):
        """Offsets of the frame ends before the first frame with that method."""
        return self.ends[:self.methods.index(method)] if method in self.methods else list(self.ends)


class Connection:
    """One proxied connection and the threads that carry its bytes."""

    def __init__(self, proxy, client, server, cut):
        self.frames = {direction: Frames(direction) for direction in (TO_BROKER, FROM_BROKER)}
        self.frozen = False
        self.closed = threading.Event()
        self._proxy = proxy
        self._sockets = (client, server)
        for direction, source, sink in ((TO_BROKER, client, server), (FROM_BROKER, server, client)):
            limit = cut[1] if cut and cut[0] == direction else None
            threading.Thread(target=self._carry, args=(direction, source, sink, limit), daemon=True).start()

    def _carry(self, direction, source, sink, limit):
        carried = 0
        try:
            while not self.closed.is_set():
                if self.frozen or not select.select([source], [], [], 0.1)[0]:
                    time.sleep(0.02 if self.frozen else 0)
                    continue
                data = source.recv(self._proxy.chunk)
                if not data:
                    break
                if limit is not None:
                    data = data[:limit - carried]
                if self._proxy.pause:
                    time.sleep(self._proxy.pause)
                sink.sendall(data)
                carried += len(data)
                self.frames[direction].feed(data)
                if carried == limit:
                    self._proxy.cuts_made += 1
                    break
        except (OSError, ValueError):
            pass
        self.close()

    def close(self):
        self.closed.set()
        for end in self._sockets:
            try:
                end.shutdown(socket.SHUT_RDWR)      # also wakes the other thread, which would keep it open
            except OSError:
                pass
            end.close()


class Proxy:
    def __init__(self, target_port, address="127.0.0.1", port=0):
        self.target = ("127.0.0.1", target_port)
        self.connections = []
        self.plan = deque()     # cuts to be made, one for each connection
        self.cuts_made = 0
        self.pause = 0.0        # seconds before each chunk of `chunk` bytes
        self.chunk = 65536
        self._listener = socket.create_server((address, port))
        self.address, self.port = self._listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target, timeout=5)
                server.settimeout(None)
            except OSError:
                client.close()
                continue
            self.connections.append(Connection(self, client, server, self.plan.popleft() if self.plan else None))

    def open_connections(self):
        return [connection for connection in self.connections if not connection.closed.is_set()]

    def cut(self):
        for connection in self.open_connections():
            connection.close()

    def freeze(self):
        """Half-open: nothing goes through the connections there are, and neither end is told. New ones work."""
        for connection in self.open_connections():
            connection.frozen = True

    def slow(self, bytes_per_second, pause=0.05):
        self.chunk, self.pause = int(bytes_per_second * pause), pause

    def fast(self):
        self.chunk, self.pause = 65536, 0.0

    def close(self):
        """Nobody listens there any more; twice is as well as once."""
        if self._listener.fileno() >= 0:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        self.cut()
