"""A private Mosquitto on free loopback ports, and the second connection that counts what a client sent
and offers what it shall receive: a plain MQTT 3.1.1 socket that shares no code with any client."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path

NAMELESS_HOST = "127.0.0.2"  # has the TLS listener too, but is not in its certificate
HEADER_BYTES = 20  # stamp, sequence, run tag: core/measure/payload.hpp


def find_mosquitto() -> str | None:
    return shutil.which("mosquitto", path=os.environ.get("PATH", os.defpath) + ":/usr/sbin")


class Broker:
    """Plain and TLS listeners. Use as a context manager; ended by its process id."""

    def __init__(self, extra: str = "") -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mqcore-broker-")
        folder = Path(self._folder.name)
        os.chmod(folder, 0o755)  # mosquitto gives up root
        make_certificate(folder)
        self.ca_file = str(folder / "ca.pem")
        self.port, self.tls_port = free_port(), free_port()
        config = folder / "mosquitto.conf"
        config.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
            "persistence false\nmax_inflight_messages 0\nmax_queued_messages 0\n"
            + "".join(
                f"listener {self.tls_port} {host}\nallow_anonymous true\n"
                f"certfile {folder}/server.pem\nkeyfile {folder}/server.key\n"
                for host in ("127.0.0.1", NAMELESS_HOST)
            )
            + extra
        )
        self._log = open(folder / "log", "wb")
        program = find_mosquitto()
        assert program, "mosquitto is not installed"
        self.process = subprocess.Popen(
            [program, "-c", str(config)], stdout=self._log, stderr=self._log
        )
        wait_for_port(self.port)

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._log.close()
        self._folder.cleanup()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class Scripted:
    """The server's side by hand, one connection: what a well-behaved broker never does."""

    def __init__(
        self,
        *,
        connack: int = 0,
        suback: int | None = None,
        silent: bool = False,
        stalled: bool = False,
    ) -> None:
        self._connack, self._suback, self._silent = connack, suback, silent
        self._stalled = stalled  # reads nothing after CONNECT
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.connect = b""  # body of the CONNECT packet
        self.arrived: list[tuple[int, int]] = []  # (packet type, identifier) of PUBLISH and PUBREL
        self.withhold = {0x30, 0x62}  # whose answers wait for release()
        self.reason = 0  # of the answers, MQTT 5
        self._held: list[tuple[int, bytes]] = []
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        if self._socket is not None:
            self._socket.close()

    def drop(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        with self._lock:
            self.withhold = set()
            for kind, identifier in self._held:
                self._answer(kind, identifier)

    def _serve(self) -> None:
        try:
            self._socket, _ = self._listener.accept()
            wire = Connection.__new__(Connection)
            wire._socket, wire._buffer, wire._write_lock = self._socket, b"", threading.Lock()
            self._wire = wire
            while True:
                kind, body = wire._packet()
                with self._lock:
                    self._take(kind, body)
                if self._stalled:
                    return
        except (OSError, ValueError):
            return

    @property
    def is_v5(self) -> bool:
        return self.connect[6] == 5

    def _take(self, kind: int, body: bytes) -> None:
        if kind == 0x10:
            self.connect = body
            if not self._silent:
                self._wire._send(0x20, bytes([0, self._connack]) + (b"\0" if self.is_v5 else b""))
            if self._connack:
                self._socket.shutdown(socket.SHUT_RDWR)
        elif kind == 0x82:
            at = 3 if self.is_v5 else 2
            qos = body[-1] & 3 if self._suback is None else self._suback
            self._wire._send(0x90, body[:2] + (b"\0" if at == 3 else b"") + bytes([qos]))
        elif kind & 0xF0 == 0x30 and kind & 6:
            at = 2 + int.from_bytes(body[:2], "big")
            self._hold_or_answer(kind & 0x36, body[at : at + 2], 0x30)
        elif kind == 0x62:
            self._hold_or_answer(kind, body[:2], 0x62)

    def _hold_or_answer(self, kind: int, identifier: bytes, group: int) -> None:
        self.arrived.append((kind, int.from_bytes(identifier, "big")))
        if group in self.withhold:
            self._held.append((kind, identifier))
        else:
            self._answer(kind, identifier)

    def _answer(self, kind: int, identifier: bytes) -> None:
        answer = {0x32: 0x40, 0x34: 0x50, 0x62: 0x70}[kind]
        self._wire._send(answer, identifier + (bytes([self.reason]) if self.reason else b""))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def make_certificate(folder: Path) -> None:
    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
            "-days", "2", "-subj", "/CN=test ca", "-addext", "keyUsage=critical,keyCertSign")  # fmt: skip
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr",
            "-subj", "/CN=localhost")  # fmt: skip
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", "server.pem", "-days", "2", "-extfile", "names")  # fmt: skip
    os.chmod(
        folder / "server.key", 0o644
    )  # read after mosquitto gave up root; it lives for one test


class Connection:
    """MQTT 3.1.1 over a plain socket: subscribes and counts, or publishes."""

    def __init__(self, port: int, name: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._write_lock = threading.Lock()
        self._buffer = b""
        identifier = f"{name}-{os.getpid()}".encode()
        body = b"\0\4MQTT\4\2\0\0" + _field(identifier)
        self._send(0x10, body)
        assert self._packet() == (0x20, b"\0\0"), "CONNACK"

    def close(self) -> None:
        self._socket.close()

    def subscribe(self, topic: str, qos: int) -> None:
        self._send(0x82, b"\0\1" + _field(topic.encode()) + bytes([qos]))
        assert self._packet() == (0x90, bytes([0, 1, qos])), "SUBACK"

    def count(self, into: list[bytes]) -> None:
        """Collects payloads on a thread of its own until the socket is closed."""

        def read() -> None:
            try:
                while True:
                    kind, body = self._packet()
                    if kind & 0xF0 != 0x30:
                        if kind == 0x62:  # PUBREL
                            self._send(0x70, body)
                        continue
                    qos = kind >> 1 & 3
                    at = 2 + int.from_bytes(body[:2], "big")
                    if qos:
                        self._send(0x40 if qos == 1 else 0x50, body[at : at + 2])
                        at += 2
                    into.append(body[at:])
            except OSError:
                return

        threading.Thread(target=read, daemon=True).start()

    def publish(self, topic: str, payload: bytes, qos: int, identifier: int = 1) -> None:
        """Sends only; the acknowledgements are read by drop_answers()."""
        body = _field(topic.encode()) + (struct.pack("!H", identifier) if qos else b"")
        self._send(0x30 | qos << 1, body + payload)

    def drop_answers(self) -> None:
        def read() -> None:
            try:
                while True:
                    kind, body = self._packet()
                    if kind == 0x50:  # PUBREC
                        self._send(0x62, body)
            except OSError:
                return

        threading.Thread(target=read, daemon=True).start()

    def _send(self, kind: int, body: bytes) -> None:
        length, digits = len(body), b""
        while True:
            length, digit = divmod(length, 128)
            digits += bytes([digit | (0x80 if length else 0)])
            if not length:
                break
        with self._write_lock:
            self._socket.sendall(bytes([kind]) + digits + body)

    def _packet(self) -> tuple[int, bytes]:
        kind = self._take(1)[0]
        length = shift = 0
        while True:
            digit = self._take(1)[0]
            length |= (digit & 0x7F) << shift
            shift += 7
            if not digit & 0x80:
                return kind, self._take(length)

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            more = self._socket.recv(1 << 16)
            if not more:
                raise ConnectionError("closed")
            self._buffer += more
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken


def _field(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data


def sequence_of(payload: bytes) -> int:
    return int.from_bytes(payload[8:16], "little")


def payload(sequence: int, size: int, tag: int) -> bytes:
    """What the core's peer would send."""
    fill = bytes(position % 251 ^ 0x5A for position in range(20, size))
    return struct.pack("<QQI", time.monotonic_ns(), sequence, tag) + fill
