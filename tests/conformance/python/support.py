"""Where the build is, which interpreters there are, and environments for them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path
from typing import Any

import worker

BUILD = Path(os.environ.get("MQCORE_BUILD_DIR", "build/release")).resolve()
PLUGINS = BUILD / "lib/mqcore/plugins"
HOST_FILE = PLUGINS / "python/python-host.so"
TOOL = PLUGINS / "python/environment.py"
os.environ.setdefault("MQCORE_ENVIRONMENTS", str(BUILD / "test-environments"))


def worker_program() -> Path:
    found = sorted(BUILD.glob("**/bin/mqworker"))
    assert found, f"no mqworker in {BUILD}: build it first"
    return found[0]


@functools.cache
def interpreters() -> tuple[str, ...]:
    """Every suitable CPython of this machine, one of each minor version and the one that runs this."""
    found: dict[str, str] = {}
    asked = os.environ.get("MQCORE_TEST_PYTHONS")
    for name in (
        asked.split() if asked else ["/usr/bin/python3", "3.11", "3.12", "3.13", "3.14", "3.15"]
    ):
        folder = driver_folder("python-null")
        document = tool("status", "--driver-folder", str(folder), "--interpreter", name)
        if document["path"]:
            found.setdefault(document["path"], name)
    return tuple(found.values()) or ("",)


def tool(*arguments: str, environment: dict[str, str] | None = None) -> dict[str, Any]:
    answer = subprocess.run(
        [sys.executable, str(TOOL), *arguments],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert answer.stdout, answer.stderr
    return {**json.loads(answer.stdout), "code": answer.returncode, "stderr": answer.stderr}


@functools.cache
def environment(driver_id: str, interpreter: str = "") -> str:
    """The path of a ready environment; skips the test where its packages cannot be installed."""
    options = ["--interpreter", interpreter] if interpreter else []
    document = tool("sync", "--driver-folder", str(driver_folder(driver_id)), *options)
    if not document["ready"]:
        raise unittest.SkipTest(f"no environment for {driver_id}: {document['reason']}")
    return document["path"]


def driver_folder(driver_id: str) -> Path:
    return PLUGINS / driver_id


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="mqcore-test-")


class Case(unittest.TestCase):
    """Runs drivers in workers and keeps a broken run's log in the failure message."""

    def run_driver(
        self, folder: Path, venv: str, *, window_s: float = 0.3, drain_s: float = 0.1, **spec: Any
    ) -> dict[str, Any]:
        """The worker's report of one whole run; also its notes, log and peak memory."""
        document = worker.spec(folder, HOST_FILE, venv, **spec)
        with worker.Worker(worker_program(), document) as process:
            try:
                process.prepare()
                connected = process.connect()
                process.start(window_s, drain_s)
                driven = process.hear()
                peak = process.peak_kib()
                process.finish()
            except worker.WorkerFailed as failure:
                failure.add_note(process.log)
                raise
            report = driven["report"]
            self.assertEqual(report["misuse"], [])
            return {**report, "notes": connected["notes"], "log": process.log, "peak_kib": peak}

    def assert_fails(self, run: Any, phase: str, status: str, reason: str) -> str:
        """The run ends with this phase, status and a reason that contains the text; returns the log."""
        with self.assertRaises(worker.WorkerFailed) as caught:
            run()
        document = caught.exception.document
        self.assertEqual(
            (document["phase"], document["status"]), (phase, status), document["reason"]
        )
        self.assertIn(reason, document["reason"])
        self.assertNotIn("\n", document["reason"])
        return "\n".join(getattr(caught.exception, "__notes__", []))

    def make_driver(self, shape: str, code: str, options: str = "") -> Path:
        """A driver folder of the test's own."""
        folder = Path(self.enterContext(temporary_folder()))
        template = (driver_folder("python-null") / "driver.toml").read_text()
        template = template.replace('shape = "sync"', f'shape = "{shape}"')
        (folder / "driver.toml").write_text(template)
        (folder / "driver.py").write_text(textwrap.dedent(code))
        return folder
