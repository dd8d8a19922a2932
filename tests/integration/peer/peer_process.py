"""A peer, a private Mosquitto and certificates for it, as the orchestrator would hold them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PEER = os.environ.get("MQCORE_TEST_PEER", "")
MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
MS = 1_000_000
CONTROL = 3  # the peer's descriptor of its control channel

# Occupied here, so that nothing that Popen itself needs in the child sits on it when it is replaced.
while (_descriptor := os.open(os.devnull, os.O_RDONLY)) < CONTROL:
    pass
if _descriptor > CONTROL:
    os.close(_descriptor)


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def free_port(host: str = "127.0.0.1") -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def has_ipv6() -> bool:
    try:
        free_port("::1")
        return True
    except OSError:
        return False


class Peer:
    """One mqpeer with its control channel on descriptor 3."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.channel = ours
        self.process = subprocess.Popen(
            [PEER], pass_fds=(CONTROL,), stdin=subprocess.DEVNULL,
            preexec_fn=lambda: os.dup2(theirs.fileno(), CONTROL))
        theirs.close()
        self.lines = ours.makefile("r")

    def say(self, **document) -> None:
        self.say_line(json.dumps(document))

    def say_line(self, line: str) -> None:
        self.channel.sendall(line.encode() + b"\n")

    def hear(self, timeout: float = 20) -> dict:
        self.channel.settimeout(timeout)
        line = self.lines.readline()
        if not line:
            raise EOFError("the peer closed its control channel")
        return json.loads(line)

    def expect(self, event: str, timeout: float = 20) -> dict:
        said = self.hear(timeout)
        if said.get("event") != event:
            raise AssertionError(f"expected {event!r}, heard {said}")
        return said

    def connect(self, **spec) -> dict:
        self.say(do="connect", spec=spec)
        return self.expect("connected")

    def read(self, newer_than: int, timeout_s: float = 6) -> dict:
        self.say(do="read", newer_than_ns=newer_than, timeout_ns=int(timeout_s * 1e9))
        return self.expect("reading")

    def finish(self) -> int:
        self.say(do="finish")
        self.expect("finished")
        return self.process.wait(5)

    def close(self) -> None:
        self.lines.close()
        self.channel.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_) -> None:
        self.close()


class Broker:
    """A Mosquitto of our own on free loopback ports, ended with the block."""

    SETTINGS = ("allow_anonymous true\npersistence false\nmax_inflight_messages 0\n"
                "max_queued_messages 0\nset_tcp_nodelay true\n")

    def __init__(self, host: str = "127.0.0.1", sys_interval: int = 1, settings: str = "",
                 certificates: "Certificates | None" = None, acl: str | None = None,
                 tls_settings: str = "") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mqcore-peer-"))
        self.host = host
        self.port = free_port(host)
        # Mosquitto drops its rights when root starts it and must still read these files.
        self.folder.chmod(0o755)
        lines = self.SETTINGS + f"sys_interval {sys_interval}\n{settings}"
        if os.geteuid() == 0:
            lines += "user root\n"
        if acl is not None:
            (self.folder / "acl").write_text(acl)
            lines += f"acl_file {self.folder}/acl\n"
        lines += f"listener {self.port} {host}\n"
        if certificates:
            self.tls_port = free_port(host)
            lines += (f"listener {self.tls_port} {host}\ncafile {certificates.ca}\n"
                      f"certfile {certificates.server}\nkeyfile {certificates.server_key}\n"
                      + tls_settings)
        (self.folder / "conf").write_text(lines)
        self.log = (self.folder / "log").open("w")
        self.process = subprocess.Popen([MOSQUITTO, "-c", str(self.folder / "conf")],
                                        stdout=self.log, stderr=subprocess.STDOUT)
        self.wait_until_it_listens()

    def wait_until_it_listens(self) -> None:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                socket.create_connection((self.host, self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        raise AssertionError("mosquitto did not start: " + (self.folder / "log").read_text())

    def endpoint(self, client_id: str, protocol: str = "3.1.1", **changes) -> dict:
        return {"host": self.host, "port": self.port, "ca_file": "", "protocol": protocol,
                "client_id": client_id, "keepalive_s": 60, "receive_maximum": 0, **changes}

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(5)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "Broker":
        return self

    def __exit__(self, *_) -> None:
        self.end()


class Certificates:
    """A CA, a server certificate for 127.0.0.1 alone, and a CA that has nothing to do with it."""

    def __init__(self, folder: Path, until: str = "20491231235959Z") -> None:
        self.ca, self.ca_key = folder / "ca.pem", folder / "ca.key"
        self.server, self.server_key = folder / "server.pem", folder / "server.key"
        self.other_ca = folder / "other.pem"
        self._self_signed("mqcore test CA", self.ca, self.ca_key)
        self._self_signed("another CA", self.other_ca, folder / "other.key")
        extensions = folder / "extensions"
        extensions.write_text("subjectAltName=IP:127.0.0.1\n")
        request = folder / "request"
        self._openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                      "-subj", "/CN=mqcore test broker", "-keyout", self.server_key, "-out", request)
        # `openssl ca` and not `openssl x509`: only it takes the dates of an expired certificate.
        (folder / "index").touch()
        (folder / "ca.conf").write_text(
            f"[ca]\ndefault_ca = d\n[d]\ndatabase = {folder}/index\nnew_certs_dir = {folder}\n"
            "rand_serial = yes\ndefault_md = sha256\npolicy = p\n[p]\ncommonName = supplied\n")
        self._openssl("ca", "-batch", "-notext", "-config", folder / "ca.conf", "-in", request,
                      "-cert", self.ca, "-keyfile", self.ca_key, "-extfile", extensions,
                      "-startdate", "20200101000000Z", "-enddate", until, "-out", self.server)

    def _self_signed(self, name: str, certificate: Path, key: Path) -> None:
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                      "-days", "2", "-subj", f"/CN={name}", "-keyout", key, "-out", certificate)

    @staticmethod
    def _openssl(*arguments) -> None:
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
