"""`mqcore profile`: each profiler attached to a client, and what becomes of such a run."""

from __future__ import annotations

import os
import shutil
import subprocess
import unittest
import venv

from harness import BUILD, SOURCE, MqcoreTest, needs_environment

POINT = "pub_qos1_max"
CORE = str(SOURCE / "scenarios" / "core.toml")


class Profiles(MqcoreTest):
    def profile(self, client: str, tool: str, *arguments: str, **popen: object) -> tuple[int, str, str]:
        return self.start("profile", client, POINT, CORE, "--tool", tool, "--direct",
                          "--seconds", "1", "--output", "out", *arguments, **popen).finish(300)

    def made(self, client: str, tool: str, **popen: object) -> str:
        """What it printed; the test is skipped where the tool is not there or may not look."""
        code, out, err = self.profile(client, tool, **popen)
        if code == 3 and ("is not here" in err or "may not look" in err):
            self.assertFalse((self.folder / "out").exists())
            self.skipTest(err.strip())
        self.assertEqual(code, 0, out + err)
        self.assertTrue(out.startswith(f"NOT COMPARABLE: profiled with {tool}\n"), out)
        self.assert_results_are_as_documented()
        return out

    def artifact(self, name: str) -> str:
        return (self.folder / "out" / "profile" / name).read_text(errors="replace")

    def mqcore(self, *arguments: str) -> tuple[int, str, str]:
        return self.start(*arguments).finish()

    def hottest(self) -> list[str]:
        return [spot["function"] for spot in self.manifest()["profiler"]["hottest"]]

    def test_callgrind_counts_and_no_such_run_is_taken_for_a_measurement(self) -> None:
        out = self.made("paho-c", "callgrind")
        self.assertIn("fl=", self.artifact("callgrind.out"))
        self.assertIn("MQTTAsync_send", self.artifact("callgrind.out"))
        self.assertTrue(any("libpaho-mqtt3as" in name for name in self.hottest()), self.hottest())
        self.assertIn("libpaho-mqtt3as", out)

        manifest = self.manifest()
        self.assertIs(manifest["comparable"], False)
        self.assertEqual(manifest["not_comparable_because"][0], "profiled with callgrind")
        run, = self.runs()
        self.assertIs(run["comparable"], False)
        self.assertEqual(run["not_comparable_because"][0], "profiled with callgrind")
        self.assertIn("non_comparable", [flag["id"] for flag in run["flags"]])

        code, shown, err = self.mqcore("show", "out")
        self.assertEqual(code, 0, err)
        self.assertIn("NOT COMPARABLE:\n  profiled with callgrind\n", shown)
        self.assertIn("libpaho-mqtt3as", shown)
        shutil.copytree(self.folder / "out", self.folder / "again")
        code, _, err = self.mqcore("compare", "out", "again")
        self.assertEqual(code, 2)
        self.assertIn("NOT COMPARABLE: profiled with callgrind", err)
        code, _, err = self.mqcore("run", "--resume", "out")
        self.assertEqual(code, 2)
        self.assertIn("is a profile", err)
        if (BUILD / "share" / "mqcore" / "report" / "index.html").exists():
            self.assertEqual(self.mqcore("report", "out", "--output", "site")[0], 0)
            data = (self.folder / "site" / "data" / "out.js").read_text()
            self.assertIn('"profiled with callgrind"', data)

        code, out, err = self.mqcore("verify", "out")
        self.assertEqual(code, 0, out + err)
        report = self.folder / "out" / "profile" / "report.txt"
        report.write_text(report.read_text().replace("MQTTAsync", "AsyncMQTT"))
        (self.folder / "out" / "profile" / "callgrind.out").unlink()
        code, out, err = self.mqcore("verify", "out")
        self.assertEqual(code, 1)
        for name in ("report.txt", "callgrind.out"):
            self.assertIn(f"profile/{name}: is not the file", out + err)

    def test_perf_names_the_functions_of_a_native_client(self) -> None:
        self.made("paho-c", "perf")
        self.assertGreater((self.folder / "out" / "profile" / "perf.data").stat().st_size, 1000)
        self.assertIn("(libpaho-mqtt3as.so", self.artifact("stacks.folded"))
        self.assertIn("libpaho-mqtt3as.so", self.artifact("report.txt"))

    def test_py_spy_names_the_functions_of_a_python_client(self) -> None:
        needs_environment("paho")
        tools = BUILD / "test-tools"
        if not shutil.which("py-spy") and not (tools / "bin" / "py-spy").exists():
            venv.create(tools, clear=True, with_pip=True)
            got = subprocess.run([str(tools / "bin" / "pip"), "install", "--quiet", "py-spy"],
                                 capture_output=True, text=True)
            if got.returncode:
                self.skipTest(f"no py-spy from the package registry: {got.stderr.strip()}")
        path = f"{os.environ['PATH']}:{tools / 'bin'}"
        self.made("paho", "py-spy", env={**os.environ, "PATH": path})
        self.assertIn("publish (paho/mqtt/client.py", self.artifact("stacks.folded"))
        # Lines are told apart in the file; in the list a function is one.
        self.assertIn("Client.publish (paho/mqtt/client.py)",
                      [name for name in self.hottest() if "publish" in name])

    def test_a_tool_that_is_missing_leaves_nothing(self) -> None:
        empty = self.folder / "empty"
        empty.mkdir()
        for tool, hint in {"perf": "linux-perf", "callgrind": "valgrind"}.items():
            code, out, err = self.profile("paho-c", tool, env={**os.environ, "PATH": str(empty)})
            self.assertEqual((code, out), (3, ""), err)
            self.assertIn(f"{tool} is not here\n", err)
            self.assertIn(hint, err)
        needs_environment("paho")
        code, out, err = self.profile("paho", "tachyon")
        if code != 0:  # a CPython before 3.15
            self.assertEqual((code, out), (3, ""), err)
            self.assertIn("CPython 3.15", err)
            self.assertEqual(sorted(entry.name for entry in self.folder.iterdir()),
                             ["empty", "short.toml"])

    def test_what_cannot_be_is_refused_before_anything_starts(self) -> None:
        for arguments, says in (
                (("paho-c", POINT, CORE, "--tool", "pref"), "did you mean 'perf'?"),
                (("paho-c", "pub_qos1_mx", CORE), f"did you mean '{POINT}'?"),
                (("paho-c", POINT, CORE, "--tool", "py-spy"), "'paho-c' is none"),
                (("paho-d", POINT, CORE), "did you mean 'paho-c'?")):
            code, out, err = self.mqcore("profile", *arguments, "--output", "out")
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(says, err)
            self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    unittest.main()
