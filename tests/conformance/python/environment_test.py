"""The environment tool: what it makes, what it refuses, what it leaves alone. Needs no network."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support
from wheels import make_wheel

WHEELS = Path(__file__).with_name("wheels.py")


# A build backend that needs nothing, so that a checkout is built without a network. It leaves a file
# where it was run, as real ones do.
BACKEND = """
import pathlib, runpy
def build_wheel(folder, config_settings=None, metadata_directory=None):
    pathlib.Path("left-behind").touch()
    make = runpy.run_path({maker!r})["make_wheel"]
    version = pathlib.Path("version").read_text().strip()
    make(pathlib.Path(folder), {name!r}, version)
    return f"{name}-{{version}}-py3-none-any.whl"
"""


def make_checkout(folder: Path, name: str = "tiny_client", version: str = "2.0") -> Path:
    """A working copy of a library, which builds a wheel of one module."""
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        f'[project]\nname = "{name}"\nversion = "{version}"\n'
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (folder / "backend.py").write_text(BACKEND.format(maker=str(WHEELS), name=name))
    (folder / "version").write_text(version)
    return folder


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    return subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip


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
        self.assertEqual(set(facts), {"interpreter", "packages", "lock", "instead_of_lock"})
        self.assertIsNone(facts["instead_of_lock"])
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
        self.assertIn("installing the packages failed", broken["reason"])
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

    # ---- other releases ----

    def release(self, verb: str, *release: str) -> dict:
        wheels = ["--wheels", str(self.wheels)] if verb == "sync" else []
        return self.call(verb, *release, *wheels)

    def test_a_version_is_an_environment_beside_the_locked_one(self) -> None:
        locked = self.sync()
        make_wheel(self.wheels, version="0.9")
        self.assertIn("'tiny@0.9'", self.release("status", "--version", "0.9")["reason"])
        older = self.release("sync", "--version", "0.9")
        self.assertNotEqual(older["path"], locked["path"])
        self.assertEqual(older["facts"]["packages"], {"tiny_client": "0.9"})
        self.assertIsNone(older["facts"]["lock"])
        self.assertEqual(older["facts"]["instead_of_lock"], {"version": "0.9"})
        config = (Path(older["path"]) / "pyvenv.cfg").read_text()
        self.assertIn("mqcore-library-version = 0.9\n", config)
        self.assertEqual(self.call("status")["facts"], locked["facts"])

    def test_a_version_that_is_not_there(self) -> None:
        document = self.release("sync", "--version", "7.7")
        self.assertEqual((document["ready"], document["code"]), (False, 1))
        self.assertIn("tiny-client==7.7", document["reason"])
        self.assertNotIn("\n", document["reason"])

    def test_what_else_is_required_comes_with_a_version(self) -> None:
        make_wheel(self.wheels, "other", "3.0")
        (self.driver / "requirements.in").write_text("# both\ntiny_client >= 1\nother >= 2\n")
        make_wheel(self.wheels, version="0.9")
        packages = self.release("sync", "--version", "0.9")["facts"]["packages"]
        self.assertEqual(packages, {"other": "3.0", "tiny_client": "0.9"})

    def test_a_checkout_is_built_and_left_as_it_was(self) -> None:
        copy = make_checkout(self.folder / "tiny.copy")
        before = sorted(os.listdir(copy))
        made = self.release("sync", "--checkout", str(copy))
        self.assertEqual(made["facts"]["packages"], {"tiny_client": "2.0"}, made["reason"])
        self.assertIsNone(made["facts"]["lock"])
        self.assertRegex(made["facts"]["instead_of_lock"]["sha256"], "^[0-9a-f]{64}$")
        self.assertIsNone(made["facts"]["instead_of_lock"]["git"])
        self.assertEqual(sorted(os.listdir(copy)), before)
        self.assertNotIn(str(self.folder), json.dumps(made["facts"]))
        self.assertEqual(self.release("status", "--checkout", f"{copy}/")["path"], made["path"])

    def test_an_edited_checkout_is_another_environment(self) -> None:
        copy = make_checkout(self.folder / "copy")
        first = self.release("sync", "--checkout", str(copy))
        (copy / "version").write_text("2.1")
        self.assertFalse(self.release("status", "--checkout", str(copy))["ready"])
        second = self.release("sync", "--checkout", str(copy))
        self.assertEqual(second["facts"]["packages"], {"tiny_client": "2.1"})
        self.assertTrue(os.path.exists(first["path"]))
        (copy / "version").write_text("2.0")
        self.assertEqual(self.release("status", "--checkout", str(copy))["path"], first["path"])

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_git_says_what_a_checkout_is(self) -> None:
        copy = make_checkout(self.folder / "copy")
        git(copy, "init", "--quiet")
        (copy / ".gitignore").write_text("*.log\n")
        git(copy, "add", ".")
        git(copy, "commit", "--quiet", "--message", "first")
        commit = git(copy, "rev-parse", "--short", "HEAD")
        made = self.release("sync", "--checkout", str(copy))
        self.assertEqual(made["facts"]["instead_of_lock"]["git"], commit)
        (copy / "noise.log").write_text("ignored")
        self.assertEqual(self.release("status", "--checkout", str(copy))["path"], made["path"])
        (copy / "version").write_text("2.2")
        self.assertFalse(self.release("status", "--checkout", str(copy))["ready"])
        dirty = self.release("sync", "--checkout", str(copy))
        self.assertEqual(dirty["facts"]["instead_of_lock"]["git"], f"{commit}-dirty")
        self.assertEqual(dirty["facts"]["packages"], {"tiny_client": "2.2"})
        git(copy, "commit", "--quiet", "--all", "--message", "second")
        clean = self.release("status", "--checkout", str(copy))
        self.assertEqual(clean["path"], dirty["path"])  # the same content under another name
        self.assertEqual(
            clean["facts"]["instead_of_lock"]["git"], git(copy, "rev-parse", "--short", "HEAD")
        )

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_a_copy_that_something_else_ignores_is_read_without_git(self) -> None:
        git(self.folder, "init", "--quiet")
        (self.folder / ".gitignore").write_text("*\n")
        copy = make_checkout(self.folder / "copy")
        made = self.release("sync", "--checkout", str(copy))
        self.assertTrue(made["ready"], made["reason"])
        self.assertIsNone(made["facts"]["instead_of_lock"]["git"])

    def test_a_checkout_that_is_none(self) -> None:
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertEqual(
            self.release("status", "--checkout", str(empty))["reason"],
            f"'{empty}' is no Python project: no pyproject.toml and no setup.py in it",
        )
        other = make_checkout(self.folder / "other", name="other")
        self.assertEqual(
            self.release("sync", "--checkout", str(other))["reason"],
            "'tiny@other' does not contain the package 'tiny-client'",
        )

    def test_remove_knows_releases(self) -> None:
        locked = self.sync()["path"]
        make_wheel(self.wheels, version="0.9")
        older = self.release("sync", "--version", "0.9")["path"]
        copy = make_checkout(self.folder / "copy")
        built = [self.release("sync", "--checkout", str(copy))["path"]]
        (copy / "version").write_text("2.1")
        built.append(self.release("sync", "--checkout", str(copy))["path"])
        listed = {each["client"] for each in self.call("list", driver=False)["environments"]}
        self.assertEqual(listed, {"tiny", "tiny@0.9", "tiny@copy"})

        def removed(*release: str) -> list[str]:
            return sorted(each["path"] for each in self.release("remove", *release)["environments"])

        self.assertEqual(removed("--checkout", str(copy)), sorted(built))
        self.assertEqual(removed("--version", "0.9"), [older])
        self.release("sync", "--version", "0.9")
        self.assertEqual(removed(), sorted([locked, older]))
        self.assertEqual(self.call("list", driver=False)["environments"], [])

    # ---- locks ----

    def lock_required(self) -> dict:
        (self.driver / "requirements.in").write_text("tiny-client\n")
        return self.call("lock", "--wheels", str(self.wheels))

    def test_a_lock_holds_what_is_required_with_hashes(self) -> None:
        (self.driver / "requirements.lock").unlink()
        self.assertEqual(self.lock_required()["packages"], 1)
        text = (self.driver / "requirements.lock").read_text()
        self.assertRegex(text, rf"tiny[-_]client==1\.0 \\\n    --hash=sha256:{self.hash}\n")
        self.assertEqual(self.sync()["facts"]["packages"], {"tiny_client": "1.0"})

    def test_requirements_without_their_lock_are_refused(self) -> None:
        (self.driver / "requirements.lock").unlink()
        (self.driver / "requirements.in").write_text("tiny-client\n")
        reason = "requirements.in has no requirements.lock yet: run 'mqcore envs lock --clients tiny'"
        self.assertEqual(self.call("status")["reason"], reason)
        self.assertEqual((self.sync()["reason"], self.sync()["code"]), (reason, 1))
        self.lock_required()
        self.assertTrue(self.sync()["ready"])
        with open(self.driver / "requirements.in", "a") as file:
            file.write("# edited\n")
        self.assertIn("changed since requirements.lock was made", self.sync()["reason"])

    def test_nothing_to_lock(self) -> None:
        document = self.call("lock")
        self.assertEqual(document["code"], 1)
        self.assertEqual(
            document["reason"], "'tiny' has no requirements.in, which says what to lock"
        )

    def test_a_lock_that_fails_leaves_the_old_one(self) -> None:
        before = (self.driver / "requirements.lock").read_bytes()
        (self.driver / "requirements.in").write_text("no-such-package\n")
        document = self.call("lock", "--wheels", str(self.wheels))
        self.assertIn("locking failed", document["reason"])
        self.assertEqual((self.driver / "requirements.lock").read_bytes(), before)
        self.assertEqual(
            sorted(os.listdir(self.driver)), ["driver.toml", "requirements.in", "requirements.lock"]
        )

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

    def test_every_interpreter_here_has_environments_of_its_own(self) -> None:
        made = {
            name: self.call("sync", "--wheels", str(self.wheels), "--interpreter", name)
            for name in support.interpreters()
            if name
        }
        self.assertEqual(len({each["path"] for each in made.values()}), len(made))
        for name, each in made.items():
            self.assertTrue(self.call("status", "--interpreter", name)["ready"], each["reason"])
            version = each["facts"]["interpreter"]["version"]
            self.assertIn(f"/cpython-{version}-", each["path"])
            python = Path(each["path"]) / "bin" / "python3"
            ran = subprocess.run(
                [python, "-c", "import platform, tiny_client; print(platform.python_version())"],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            self.assertEqual(ran.stdout.strip(), version)

    def test_mqcore_python_chooses_too(self) -> None:
        self.variables["MQCORE_PYTHON"] = self.fake(version_info=[3, 12, 8], build="3.12.8 (fake)")
        self.assertIn("/cpython-3.12.8-", self.call("status")["path"])


if __name__ == "__main__":
    unittest.main()
