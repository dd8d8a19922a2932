"""What `mqcore new-driver` makes works untouched, and the guides' commands and files do what they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from harness import MQCORE, SOURCE, MqcoreTest, needs_environment

BLOCK = re.compile(r"(?:^`(?P<file>[^`\n]+)`:\n\n)?^```(?P<form>\w+)\n(?P<text>.*?)^```$",
                   re.MULTILINE | re.DOTALL)
TOOLS = {"c": ("cmake", "cc"), "cpp": ("cmake", "c++"), "rust": ("cargo", "cc"), "go": ("go", "cc")}


class ProjectTest(MqcoreTest):
    def sh(self, commands: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """In the test's folder, with mqcore on PATH, as a person would."""
        path = f"{MQCORE.parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(["/bin/sh", "-ec", commands], cwd=self.folder, capture_output=True,
                              text=True, env={**os.environ, "PATH": path, **environment}, timeout=600)

    def done(self, commands: str) -> str:
        done = self.sh(commands)
        self.assertEqual(done.returncode, 0, f"{commands}{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def assert_guide_is_true(self, guide: str, commands_at_least: int) -> str:
        """Writes each file and runs each command of it; what was printed."""
        commands, printed = 0, ""
        for block in BLOCK.finditer((SOURCE / guide).read_text()):
            if block["file"]:
                target = self.folder / block["file"]
                self.assertTrue(target.exists(), f"new-driver made no {block['file']}")
                target.write_text(block["text"])
            elif block["form"] == "sh":
                # Exports of an earlier block go on, as in a terminal.
                printed += self.done(f"export MQCORE_PLUGIN_PATH=$PWD\n{block['text']}")
                commands += len(block["text"].splitlines())
        self.assertGreaterEqual(commands, commands_at_least)
        return printed


class CompiledProjects(ProjectTest):
    """Their own test builds, checks and measures them; nothing of it asks a registry."""

    def assert_works_untouched(self, language: str) -> Path:
        for tool in TOOLS[language]:
            if not shutil.which(tool):
                self.skipTest(f"{tool} is not here")
        id = f"fresh-{language}"
        project = self.folder / "my projects" / id  # a space, as in some homes
        self.done(f"mqcore new-driver {id} --lang {language} --output '{project}'")
        for file in project.rglob("*"):
            if file.is_file():
                self.assertNotRegex(file.read_text(), "my-driver|@[A-Z]+@", file.name)
        printed = self.done(f"'{project}/test.sh'")
        self.assertIn(f"'{id}' keeps the contract", printed)
        self.assertEqual(len(re.findall(r"(?:pub|sub)_qos1 \S+ run 1: valid", printed)), 2, printed)
        self.assertNotIn("warning:", printed)
        return project

    def test_c(self) -> None:
        project = self.assert_works_untouched("c")
        with open(project / "driver.c", "a") as file:
            file.write("#error\n")
        self.assertNotEqual(self.sh(f"'{project}/build.sh'").returncode, 0)
        self.assertFalse((project / "build/fresh-c/fresh-c.so").exists(), "an older driver")

    def test_cpp(self) -> None:
        self.assert_works_untouched("cpp")

    def test_rust(self) -> None:
        self.assert_works_untouched("rust")

    def test_go(self) -> None:
        self.assert_works_untouched("go")

    def test_what_building_takes_is_named_where_it_is_missing(self) -> None:
        bare = self.folder / "bin"
        bare.mkdir()
        for tool in ("dirname", "readlink", "ln"):
            (bare / tool).symlink_to(shutil.which(tool))
        (bare / "mqcore").symlink_to(MQCORE)
        for language, tools in TOOLS.items():
            made = self.sh(f"mqcore new-driver bare-{language} --lang {language}", PATH=str(bare))
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual(made.stderr.count("mqcore: note: building it takes"), 2)
            built = self.sh(f"bare-{language}/build.sh", PATH=str(bare))
            self.assertEqual((built.returncode, built.stderr),
                             (3, f"build.sh: {tools[0]} is not on PATH; README.md says what it takes\n"))
        (bare / "mqcore").unlink()
        self.assertIn("mqcore is not on PATH", self.sh("bare-c/build.sh", PATH=str(bare)).stderr)


    def test_the_guide_is_true(self) -> None:
        if not Path("/usr/include/mosquitto.h").exists() or not shutil.which("cmake"):
            self.skipTest("its library or cmake is not here (Debian: libmosquitto-dev, cmake)")
        printed = self.assert_guide_is_true("docs/first-plugin.md", 11)
        self.assertGreaterEqual(printed.count("'first' keeps the contract"), 3)
        self.assertEqual([run["status"] for run in self.runs("first", "first-numbers")], ["valid"])


class PythonProjects(ProjectTest):
    """On a library of each shape, which comes from a registry."""

    @classmethod
    def setUpClass(cls) -> None:
        needs_environment("paho")

    def test_each_skeleton_works_untouched(self) -> None:
        for shape, test in {"sync": "./test.sh", "nowait": "./build.sh && mqcore check-driver .",
                            "awaited": "./build.sh && mqcore check-driver ."}.items():
            with self.subTest(shape=shape):
                printed = self.done(f"""
                    mqcore new-driver fresh-{shape} --lang python --shape {shape}
                    cd fresh-{shape}
                    {test}""")
                self.assertIn(f"'fresh-{shape}' keeps the contract", printed)
                self.assertEqual("sub_qos1" in printed, shape == "sync")

    def test_the_guide_is_true(self) -> None:
        (self.folder / "scenarios").symlink_to(SOURCE / "scenarios")
        printed = self.assert_guide_is_true("plugin-api/python-client.md", 10)
        self.assertEqual(printed.count("'my-ohmqtt' keeps the contract"), 2)
        clients = [client["id"] for client in self.manifest("second")["clients"]]
        self.assertEqual(clients, ["my-ohmqtt", "my-ohmqtt@1.1.9"])
        for id in clients:
            self.assertEqual(self.runs(id, "second")[-1]["status"], "valid")


class Refusals(MqcoreTest):
    def test_what_cannot_be_made_is_refused(self) -> None:
        (self.folder / "there").mkdir()
        (self.folder / "a-file").write_text("")
        for arguments, code, reason in (
            ("there --lang c", 2, "is there already, and nothing is written over"),
            ("null --lang c", 2, "there is a driver 'null' already"),
            ("Mine --lang c", 2, "'Mine' is no name for a driver"),
            ("mine", 2, "--lang is required"),
            ("mine --lang cobol", 2, "no project in 'cobol'\n        languages: c, cpp, go, python, rust"),
            ("mine --lang c --shape round", 2, "shape 'round' in c\n        shapes: sync"),
            ("mine --lang c --output a-file/mine", 3, "Not a directory"),
        ):
            done, out, err = self.start("new-driver", *arguments.split()).finish()
            self.assertEqual((done, out), (code, ""), arguments)
            self.assertIn(reason, err)
        self.assertEqual({file.name for file in self.folder.iterdir()},
                         {"there", "a-file", "short.toml"})
        self.assertEqual(list((self.folder / "there").iterdir()), [])

    def test_the_help_names_the_languages(self) -> None:
        _, out, _ = self.start("new-driver", "--help").finish()
        for language in (*TOOLS, "python"):
            self.assertRegex(out, rf"\n  {language} +\S.*; shapes: ")


if __name__ == "__main__":
    unittest.main()
