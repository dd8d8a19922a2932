"""Starts mqcore as a user does and looks at what it leaves behind: output, files, processes."""

from __future__ import annotations

import json
import os
import re
import sys
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "results"))
import results_schema  # noqa: E402

BUILD = Path(os.environ["MQCORE_TEST_BUILD"])
SOURCE = Path(__file__).resolve().parents[3]
MQCORE = BUILD / "bin" / "mqcore"
BAD_DRIVERS = BUILD / "tests" / "conformance" / "bad"
OURS = ("mqcore", "mqworker", "mqpeer", "mosquitto")

SHORT_SCENARIO = """
[suite]
name = "short"

[[point]]
id = "pub"
kind = "pub"
qos = 1
payload = "256B"
rate = "500/s"
question = "Does a short publish point reconcile?"

[[point]]
id = "sub"
kind = "sub"
qos = 1
payload = "256B"
rate = "500/s"
question = "Does a short receive point reconcile?"
"""


def children_of(pid: int) -> dict[int, str]:
    """Living processes under pid, all generations: pid -> program name."""
    found: dict[int, str] = {}
    parents: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        match = re.match(r"\d+ \((.*)\) (\S) (\d+)", stat)
        if match and match[2] != "Z":
            parents[int(entry.name)] = (int(match[3]), match[1])
    frontier = {pid}
    while frontier:
        step = {child for child, (parent, _) in parents.items() if parent in frontier}
        found.update({child: parents[child][1] for child in step})
        frontier = step
    return found


def alive(pids: dict[int, str]) -> dict[int, str]:
    left = {}
    for pid, name in pids.items():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if f"({name})" in stat and ") Z " not in stat:
            left[pid] = name
    return left


def needs_environment(client: str) -> None:
    """Makes it where this build's tests keep theirs; skips the test, or its whole class, where it cannot be made."""
    os.environ.setdefault("MQCORE_ENVIRONMENTS", str(BUILD / "test-environments"))
    made = subprocess.run([str(MQCORE), "envs", "sync", "--clients", client], capture_output=True, text=True)
    if made.returncode:
        raise unittest.SkipTest(f"no environment for {client}: {made.stderr.strip()}")


class RunningMqcore:
    """One `mqcore run` under way."""

    def __init__(self, arguments: list[str], folder: Path, **popen: object) -> None:
        self.process = subprocess.Popen(
            [str(MQCORE), *arguments], cwd=folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)
        self.folder = folder
        self.seen: dict[int, str] = {}

    def child(self, program: str, argument: str = "", timeout: float = 20) -> int:
        """Waits for a child process of that program name."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.seen.update(children_of(self.process.pid))
            for pid, name in children_of(self.process.pid).items():
                if name == program:
                    return pid
            time.sleep(0.01)
        raise AssertionError(f"no {program} was started: {self.finish()}")

    def worker_of_a_run(self) -> int:
        """A worker that measures: those of before the manifest tell mqcore's own cost."""
        deadline = time.monotonic() + 30
        while not (self.folder / "out" / "manifest.json").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.child("mqworker")

    def worker_in_window(self, warmup: float = 0.5) -> int:
        """A worker of a run that has been driving for longer than the warm-up."""
        pid = self.worker_of_a_run()
        time.sleep(warmup + 1.0)
        return pid

    def finish(self, timeout: float = 120) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, err


class MqcoreTest(unittest.TestCase):
    def setUp(self) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        (self.folder / "short.toml").write_text(SHORT_SCENARIO)
        self.started: list[RunningMqcore] = []

    def tearDown(self) -> None:
        for running in self.started:
            if running.process.poll() is None:
                running.process.kill()
                running.process.communicate()
        self.temporary.cleanup()

    def start(self, *arguments: str, **popen: object) -> RunningMqcore:
        running = RunningMqcore(list(arguments), self.folder, **popen)
        self.started.append(running)
        return running

    def start_run(self, *arguments: str, clients: str = "paho-c", **popen: object) -> RunningMqcore:
        return self.start("run", "short.toml", "--profile", "smoke", "--clients", clients,
                          "--output", "out", *arguments, **popen)

    def manifest(self, folder: str = "out") -> dict:
        return json.loads((self.folder / folder / "manifest.json").read_text())

    def runs(self, client: str = "paho-c", folder: str = "out") -> list[dict]:
        return json.loads((self.folder / folder / f"{client}.json").read_text())["runs"]

    def assert_results_are_as_documented(self, folder: str = "out") -> None:
        self.assertEqual(results_schema.problems_of(self.folder / folder), [])

    def assert_nobody_left(self, running: RunningMqcore) -> None:
        deadline = time.monotonic() + 5
        while alive(running.seen) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(alive(running.seen), {}, "processes were left behind")
