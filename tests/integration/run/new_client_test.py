"""What `mqcore new-client` makes works untouched, and the guide's commands and files do what it says."""

from __future__ import annotations

import os
import re
import subprocess
import unittest
from pathlib import Path

from harness import BUILD, MQCORE, SOURCE, MqcoreTest

GUIDE = SOURCE / "plugin-api" / "python-client.md"
BLOCK = re.compile(r"(?:^`(?P<file>[^`\n]+)`:\n\n)?^```(?P<form>\w+)\n(?P<text>.*?)^```$",
                   re.MULTILINE | re.DOTALL)


class NewClients(MqcoreTest):
    @classmethod
    def setUpClass(cls) -> None:
        os.environ.setdefault("MQCORE_ENVIRONMENTS", str(BUILD / "test-environments"))
        made = subprocess.run([str(MQCORE), "envs", "sync", "--clients", "paho"],
                              capture_output=True, text=True)
        if made.returncode:
            raise unittest.SkipTest(f"no package registry here: {made.stderr.strip()}")

    def sh(self, commands: str) -> subprocess.CompletedProcess[str]:
        """In the test's folder, with mqcore on PATH, as a person would."""
        path = f"{MQCORE.parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(["sh", "-ec", commands], cwd=self.folder, capture_output=True,
                              text=True, env={**os.environ, "PATH": path}, timeout=600)

    def test_each_skeleton_passes_the_check_untouched(self) -> None:
        for shape in ("sync", "nowait", "awaited"):
            with self.subTest(shape=shape):
                done = self.sh(f"""
                    mqcore new-client fresh-{shape} --python --shape {shape}
                    export MQCORE_PLUGIN_PATH=$PWD
                    mqcore envs lock --clients fresh-{shape}
                    mqcore envs sync --clients fresh-{shape}
                    mqcore check-driver fresh-{shape}""")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn(f"'fresh-{shape}' keeps the contract", done.stdout)

    def test_the_guide_is_true(self) -> None:
        (self.folder / "scenarios").symlink_to(SOURCE / "scenarios")
        commands, printed = 0, ""
        for block in BLOCK.finditer(GUIDE.read_text()):
            if block["file"]:
                target = self.folder / block["file"]
                self.assertTrue(target.exists(), f"new-client made no {block['file']}")
                target.write_text(block["text"])
            elif block["form"] == "sh":
                # Exports of an earlier block go on, as in a terminal.
                done = self.sh(f"export MQCORE_PLUGIN_PATH=$PWD\n{block['text']}")
                self.assertEqual(done.returncode, 0, f"{block['text']}{done.stdout}{done.stderr}")
                commands += block["text"].count("mqcore ")
                printed += done.stdout
        self.assertGreaterEqual(commands, 10)
        self.assertEqual(printed.count("'my-ohmqtt' keeps the contract"), 2)
        clients = [client["id"] for client in self.manifest("second")["clients"]]
        self.assertEqual(clients, ["my-ohmqtt", "my-ohmqtt@1.1.9"])
        for id in clients:
            self.assertEqual(self.runs(id, "second")[-1]["status"], "valid")

    def test_what_cannot_be_made_is_refused(self) -> None:
        (self.folder / "there").mkdir()
        for arguments, reason in {
            "there --python": "is there already",
            "paho --python": "there is a client 'paho' already",
            "Mine --python": "'Mine' is no name for a client",
            "mine": "in which language?",
            "mine --cobol": "'--cobol' is no option of new-client",
            "mine --python --shape round": "--shape",
        }.items():
            code, out, err = self.start("new-client", *arguments.split()).finish()
            self.assertIn(code, (2, 3), arguments)
            self.assertIn(reason, err + out)
        self.assertEqual(list((self.folder / "there").iterdir()), [])
        self.assertFalse((self.folder / "mine").exists())

    def test_the_help_names_the_languages(self) -> None:
        _, out, _ = self.start("new-client", "--help").finish()
        self.assertIn("Languages: --python", out)


if __name__ == "__main__":
    unittest.main()
