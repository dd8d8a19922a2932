"""`mqcore show`, `compare` and `verify` on a results folder, with the exit codes that scripts rely on."""

import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import results_schema

MQCORE = pathlib.Path(os.environ["MQCORE_TEST_BUILD"]) / "bin" / "mqcore"
FIXTURE = results_schema.ROOT / "tests" / "golden" / "report" / "results"


class ResultsCommands(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.campaign("one")

    def campaign(self, name, runs=3, factor=1.0):
        """The campaign of the tests with so many blocks; its stored rates are changed by the factor."""
        folder = self.folder / name
        shutil.copytree(FIXTURE, folder)
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["id"] = name
        manifest["profile"]["runs"] = runs
        manifest["refused"].append({"client": "paho", "point": "idle_connect", "missing": ["x"]})
        (folder / "manifest.json").write_text(json.dumps(manifest))
        for client in ("gmqtt", "paho", "paho-c"):
            file = folder / f"{client}.json"
            document = json.loads(file.read_text())
            first = [run for run in document["runs"] if run["run"] == 1]
            document["runs"] = [run | {"run": number} for number in range(1, runs + 1) for run in first]
            document["runs"] += [run | {"attempt": 2} for run in document["runs"] if run["status"] == "invalid"]
            for run in document["runs"]:
                if "rate" in run["metrics"] and run["metrics"]["rate"] is not None:
                    run["metrics"] = run["metrics"] | {"rate": run["metrics"]["rate"] * factor}
            file.write_text(json.dumps(document))

    def mqcore(self, *arguments):
        done = subprocess.run([MQCORE, *arguments], cwd=self.folder, text=True, capture_output=True,
                              timeout=120)
        return done.returncode, done.stdout, done.stderr

    def test_verify_is_silent_about_honest_files_and_names_a_change(self):
        code, out, _ = self.mqcore("verify", "one")
        self.assertEqual(code, 0, out)
        self.assertIn("0 differences, 0 faults", out)
        self.campaign("tampered", factor=1.1)
        code, out, _ = self.mqcore("verify", "tampered")
        self.assertEqual(code, 1)
        self.assertIn("gmqtt.json: pub_qos0_max run 1: metric rate: stored 4.4121E4, computed 4.011E4",
                      out)

    def test_verify_misses_a_run(self):
        file = self.folder / "one" / "paho.json"
        document = json.loads(file.read_text())
        document["runs"] = [run for run in document["runs"] if run["run"] < 3]
        file.write_text(json.dumps(document))
        code, out, _ = self.mqcore("verify", "one")
        self.assertEqual(code, 1)
        self.assertIn("run 3 is missing", out)

    def test_a_retracted_campaign_says_so_everywhere_and_keeps_its_files(self):
        before = {file.name: file.read_bytes() for file in (self.folder / "one").glob("*.json")}
        self.assertEqual(self.mqcore("verify", "one", "--retract", "the broker was another one")[0], 0)
        for name, content in before.items():
            self.assertEqual((self.folder / "one" / name).read_bytes(), content)
        self.assertEqual(results_schema.problems_of(self.folder / "one"), [])
        _, out, _ = self.mqcore("show", "one")
        self.assertTrue(out.startswith("RETRACTED:\n  the broker was another one"), out[:200])
        code, _, err = self.mqcore("compare", "one", "--clients", "gmqtt,paho")
        self.assertEqual(code, 2)
        self.assertIn("'one' is retracted: the broker was another one", err)
        self.assertEqual(self.mqcore("verify", "one")[0], 0)

    def test_slower_than_allowed_has_an_exit_code_of_its_own(self):
        self.campaign("slow", factor=0.8)
        allowed = ("--metrics", "rate", "--fail-if-slower")
        self.assertEqual(self.mqcore("compare", "one", "one", *allowed, "5%")[0], 0)
        self.assertEqual(self.mqcore("compare", "slow", "one", *allowed, "5%")[0], 0)
        self.assertEqual(self.mqcore("compare", "one", "slow", *allowed, "30%")[0], 0)
        code, _, err = self.mqcore("compare", "one", "slow", *allowed, "5%")
        self.assertEqual(code, 4)
        self.assertIn("pub_qos0_max gmqtt rate: slower by -20.0 %, allowed are 5 %", err)
        code, _, err = self.mqcore("compare", "one", "slow", *allowed, "5")
        self.assertEqual(code, 2)
        self.assertIn('did you mean "5%"?', err)

    def test_nothing_known_is_no_success_for_a_script(self):
        self.campaign("short", runs=2)
        code, out, err = self.mqcore("compare", "short", "--clients", "gmqtt,paho-c",
                                     "--fail-if-slower", "5%")
        self.assertEqual(code, 3)
        self.assertIn("an interval needs 3", out)
        self.assertIn("nothing could be compared", err)

    def test_the_forms_for_programs_hold_the_same_rows(self):
        arguments = ("compare", "one", "--clients", "gmqtt,paho-c", "--format")
        rows = list(csv.DictReader(io.StringIO(self.mqcore(*arguments, "csv")[1])))
        pairs = json.loads(self.mqcore(*arguments, "json")[1])["pairs"]
        self.assertGreater(len(rows), 5)
        self.assertEqual([(row["point"], row["metric"], row["verdict"]) for row in rows],
                         [(pair["point"], pair["metric"], pair["verdict"]) for pair in pairs])
        self.assertIn("| pub_qos0_max | paho-c |", self.mqcore(*arguments, "markdown")[1])

    def test_the_cells_of_show_carry_intervals_and_places(self):
        cells = json.loads(self.mqcore("show", "one", "--format", "json")[1])["cells"]
        cell = {(c["client"], c["point"]): c for c in cells}["paho-c", "pub_qos0_max"]
        self.assertEqual(cell["rank"], [1, 1])
        low, high = cell["metrics"]["rate"]["interval"]
        self.assertLessEqual(low, cell["metrics"]["rate"]["value"])
        self.assertGreaterEqual(high, cell["metrics"]["rate"]["value"])


if __name__ == "__main__":
    unittest.main()
