"""The environment tool: what it makes, what it refuses, what it leaves alone. Needs no network."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import support


def make_wheel(folder: Path, name: str = "tiny_client", version: str = "1.0") -> str:
    """A wheel of one empty module; returns its hash."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f'__version__ = "{version}"\n',
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for file, text in files.items():
        digest = (
            base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        )
        record += f"{file},sha256={digest},{len(text)}\n"
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Environments(support.Case):
    def setUp(self) -> None:
        self.folder = Path(
            self.enterContext(tempfile.TemporaryDirectory(prefix="mqcore-environments-"))
        )
        self.root = self.folder / "root"
        self.variables = {**os.environ, "MQCORE_ENVIRONMENTS": str(self.root)}
        self.variables.pop("MQCORE_PYTHON", None)
        self.wheels = self.folder / "wheels"
        self.wheels.mkdir()
        self.driver = self.folder / "tiny"
        self.driver.mkdir()
        (self.driver / "driver.toml").write_text('[driver]\nid = "tiny"\npackage = "tiny-client"\n')
        self.hash = make_wheel(self.wheels)
        self.lock(self.hash)

    def lock(self, digest: str) -> None:
        (self.driver / "requirements.lock").write_text(f"tiny-client==1.0 --hash=sha256:{digest}\n")

    def call(self, verb: str, *options: str, driver: bool = True) -> dict:
        folder = ["--driver-folder", str(self.driver)] if driver else []
        return support.tool(verb, *folder, *options, environment=self.variables)

    def sync(self) -> dict:
        return self.call("sync", "--wheels", str(self.wheels))

    def test_sync_makes_what_status_then_finds(self) -> None:
        before = self.call("status")
        self.assertEqual((before["ready"], before["code"]), (False, 0))
        self.assertIn("no environment of 'tiny'", before["reason"])
        made = self.sync()
        self.assertEqual((made["ready"], made["code"], made["path"]), (True, 0, before["path"]))
        self.assertEqual(made["facts"]["packages"], {"tiny_client": "1.0"})
        self.assertEqual(self.call("status")["facts"], made["facts"])
        config = (Path(made["path"]) / "pyvenv.cfg").read_text()
        self.assertIn("mqcore-library-version = 1.0\n", config)

    def test_the_place_names_build_client_and_lock(self) -> None:
        build, name = Path(self.call("status")["path"]).parts[-2:]
        version = ".".join(map(str, sys.version_info[:3]))
        self.assertRegex(build, rf"^cpython-{re.escape(version)}-[0-9a-f]{{8}}$")
        lock = hashlib.sha256((self.driver / "requirements.lock").read_bytes()).hexdigest()
        self.assertEqual(name, f"tiny-{lock[:12]}")

    def test_facts_name_no_place_of_this_machine(self) -> None:
        facts = self.sync()["facts"]
        self.assertEqual(set(facts), {"interpreter", "packages", "lock"})
        self.assertEqual(
            set(facts["interpreter"]), {"implementation", "version", "build", "compiler", "flags"}
        )
        self.assertNotIn("/", json.dumps(facts["interpreter"]))
        flags = facts["interpreter"]["flags"]
        self.assertEqual((flags["gil"], flags["debug"]), (True, False))
        self.assertIn("executable_contains_interpreter", flags)

    def test_a_second_sync_changes_nothing(self) -> None:
        path = Path(self.sync()["path"])
        inode = path.stat().st_ino
        self.assertTrue(self.sync()["ready"])
        self.assertEqual(path.stat().st_ino, inode)

    def test_another_lock_is_another_environment(self) -> None:
        first = self.sync()["path"]
        make_wheel(self.wheels, version="1.1")
        with open(self.driver / "requirements.lock", "a") as file:
            file.write("# newer\n")
        self.assertFalse(self.call("status")["ready"])
        self.assertNotEqual(self.sync()["path"], first)

    def test_a_broken_install_leaves_what_was_there(self) -> None:
        good = self.sync()["path"]
        self.lock("0" * 64)
        broken = self.sync()
        self.assertEqual((broken["ready"], broken["code"], broken["path"]), (False, 1, ""))
        self.assertIn("installing the locked packages failed", broken["reason"])
        self.assertNotIn("\n", broken["reason"])
        self.assertEqual(
            os.listdir(Path(good).parent), [Path(good).name]
        )  # no half-made one either
        self.lock(self.hash)
        self.assertTrue(self.call("status")["ready"])

    def test_an_incomplete_environment_is_made_again(self) -> None:
        path = Path(self.sync()["path"])
        (path / "mqcore.json").unlink()
        self.assertFalse(self.call("status")["ready"])
        self.assertTrue(self.sync()["ready"])

    def test_list_and_remove(self) -> None:
        self.assertEqual(self.call("list", driver=False)["environments"], [])
        path = self.sync()["path"]
        (listed,) = self.call("list", driver=False)["environments"]
        self.assertEqual((listed["client"], listed["path"], listed["ready"]), ("tiny", path, True))
        (removed,) = self.call("remove")["environments"]
        self.assertEqual(removed["path"], path)
        self.assertFalse(os.path.exists(path))

    def test_a_client_without_packages_needs_no_installer(self) -> None:
        (self.driver / "requirements.lock").unlink()
        self.assertEqual(self.call("sync")["facts"]["packages"], {})

    def test_a_client_that_is_none(self) -> None:
        (self.driver / "driver.toml").unlink()
        self.assertIn("driver.toml': No such file", self.call("status")["reason"])

    # ---- interpreters ----

    def fake(self, name: str = "python3", **facts: object) -> str:
        """A program that answers the probe as this interpreter does, but for some facts."""
        probe = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(support.TOOL.parent)!r});"
             "import environment; exec(environment._PROBE)"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        bin_folder = self.folder / f"bin-{len(os.listdir(self.folder))}"
        bin_folder.mkdir()
        answer = json.dumps({**json.loads(probe.stdout), **facts})
        program = bin_folder / name
        program.write_text(f"#!/bin/sh\n/bin/cat <<'END'\n{answer}\nEND\n")
        program.chmod(0o755)
        return str(program)

    def refused(self, program: str, reason: str) -> None:
        document = self.call("status", "--interpreter", program)
        self.assertEqual((document["ready"], document["reason"]), (False, f"'{program}' {reason}"))

    def test_unsuitable_interpreters_are_refused_in_one_line(self) -> None:
        old = self.fake(version_info=[3, 10, 4])
        self.refused(old, "is 3.10.4, older than 3.11")
        self.refused(self.fake(implementation="pypy"), "is pypy, not CPython")
        free = self.fake(version_info=[3, 13, 1], free_threaded=True)
        self.refused(free, "is a free-threaded 3.13.1: it has no stable ABI")
        static = self.fake(version_info=[3, 12, 0], shared=False)
        self.refused(static, "is 3.12.0 without a shared libpython")
        gone = self.fake(version_info=[3, 12, 0], library="libpython-gone.so")
        self.refused(gone, "is 3.12.0 without a shared libpython")
        self.refused("/bin/false", "does not start (exit code 1)")

    def test_an_interpreter_that_is_not_there(self) -> None:
        reason = self.call("status", "--interpreter", "pyhton3")["reason"]
        self.assertEqual(
            reason,
            "no interpreter 'pyhton3': give a path, a program on PATH or a version such as 3.12",
        )

    def test_the_first_suitable_one_on_path_is_taken(self) -> None:
        old = self.fake(version_info=[3, 9, 1])
        good = self.fake(version_info=[3, 12, 7], build="3.12.7 (fake)", prefix="/fake")
        self.variables["PATH"] = os.pathsep.join([os.path.dirname(old), os.path.dirname(good)])
        self.assertIn("/cpython-3.12.7-", self.call("status")["path"])
        self.variables["PATH"] = os.path.dirname(old)
        self.assertEqual(
            self.call("status")["reason"],
            "no suitable Python on PATH: python3 is 3.9.1, older than 3.11",
        )

    def test_mqcore_python_chooses_too(self) -> None:
        self.variables["MQCORE_PYTHON"] = self.fake(version_info=[3, 12, 8], build="3.12.8 (fake)")
        self.assertIn("/cpython-3.12.8-", self.call("status")["path"])


if __name__ == "__main__":
    unittest.main()
