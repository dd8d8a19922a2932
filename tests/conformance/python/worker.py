"""Runs one driver in mqworker, as the orchestrator does: the control channel on descriptor 3, the
control page on descriptor 4 (docs/architecture.md)."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

SECOND = 1_000_000_000


class WorkerFailed(Exception):
    """The worker answered `failed`, or died."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(
            f"{document.get('phase')}: {document.get('status')}: {document.get('reason')}"
        )
        self.document = document


class Worker:
    """One process, one run. Use as a context manager; `log` has its output afterwards."""

    def __init__(self, program: Path, spec: dict[str, Any]) -> None:
        self._spec = spec
        self._log = tempfile.TemporaryFile()
        ours, theirs = socket.socketpair()
        page = os.memfd_create("page")
        os.ftruncate(page, 4096)
        # Above every number that is given out below, so that none is overwritten on the way.
        high = [
            fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (self._log.fileno(), theirs.fileno(), page)
        ]
        targets = [(high[0], 1), (high[0], 2), (high[1], 3), (high[2], 4)]
        self.pid = os.posix_spawn(
            str(program),
            [str(program)],
            {"PATH": os.defpath},
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, target) for fd, target in targets],
        )
        self._code: int | None = None
        for fd in [*high, page]:
            os.close(fd)
        theirs.close()
        self._channel = ours.makefile("rw", encoding="utf-8", newline="\n")
        ours.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        self._text = self.log
        self._log.close()

    def wait(self) -> int:
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code

    @property
    def log(self) -> str:
        if self._log.closed:
            return self._text
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def say(self, **order: Any) -> None:
        self._channel.write(json.dumps(order) + "\n")
        self._channel.flush()

    def hear(self) -> dict[str, Any]:
        line = self._channel.readline()
        if not line:
            code = self.wait()
            raise WorkerFailed(
                {"phase": "?", "status": "died", "reason": f"exit code {code}: {self.log}"}
            )
        document = json.loads(line)
        if document["event"] == "failed":
            raise WorkerFailed(document)
        return document

    def prepare(self) -> dict[str, Any]:
        self.say(do="prepare", spec=self._spec)
        return self.hear()

    def connect(self) -> dict[str, Any]:
        self.say(do="connect")
        return self.hear()

    def start(self, window_s: float, drain_s: float = 0.3, warmup_s: float = 0.0) -> None:
        self.say(
            do="drive",
            schedule={
                "start_ns": time.monotonic_ns() + SECOND // 50,
                "warmup_ns": int(warmup_s * SECOND),
                "window_ns": int(window_s * SECOND),
                "drain_ns": int(drain_s * SECOND),
            },
        )

    def peak_kib(self) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0])

    def finish(self) -> dict[str, Any]:
        self.say(do="finish")
        finished = self.hear()
        code = self.wait()
        if code != 0 or finished["misuse"]:
            raise WorkerFailed({"phase": "finish", "status": code, "reason": finished["misuse"]})
        return finished


def spec(
    driver_folder: Path,
    host_file: Path,
    environment: str,
    *,
    port: int = 0,
    protocol: str = "3.1.1",
    ca_file: str = "",
    send: dict[str, Any] | None = None,
    receive: dict[str, Any] | None = None,
    options: list[tuple[str, str]] | None = None,
    receive_maximum: int = 0,
    host: str = "127.0.0.1",
    keepalive_s: int = 60,
) -> dict[str, Any]:
    """A worker specification, with the defaults of these tests."""
    defaults = {"tag": 7, "payload_bytes": [256], "qos": 0}
    return {
        "driver_file": str(host_file),
        "driver_folder": str(driver_folder),
        "environment": environment,
        "endpoint": {
            "host": host,
            "port": port,
            "ca_file": ca_file,
            "protocol": protocol,
            "client_id": f"test-{os.getpid()}",
            "keepalive_s": keepalive_s,
            "receive_maximum": receive_maximum,
        },
        "connections": 1,
        "send": send and {"topics": ["t/0"], "window": 64, "pacing": "tick", **defaults, **send},
        "receive": receive and {"filters": ["t/0"], **defaults, **receive},
        "options": options or [],
    }
