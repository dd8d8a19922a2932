"""`mqcore run --resume`: a campaign that was killed or interrupted goes on, or says why it must not.

MQCORE_TEST_KILLS: how often the kill test kills mqcore (6).
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import time
import unittest

from harness import BUILD, MqcoreTest, RunningMqcore, children_of

KILLS = int(os.environ.get("MQCORE_TEST_KILLS", "6"))
PAHO_C = BUILD / "lib" / "mqcore" / "plugins" / "paho-c"
# The options that change no setting; all others are refused with --resume.
MAY_BE_GIVEN = ("--help", "--resume", "--clients", "--python", "--broker-ca", "--quiet")
END_OF_RUNS = "\n  ]\n}\n"  # of a client's file: what a further run is put before


class ResumeTest(MqcoreTest):
    def setUp(self) -> None:
        super().setUp()
        # A second client, named by path: the same driver under another id.
        twin = self.folder / "twin"
        shutil.copytree(PAHO_C, twin)
        toml = (twin / "driver.toml").read_text()
        (twin / "driver.toml").write_text(toml.replace('id = "paho-c"', 'id = "twin"', 1))

    def wait_for(self, file: str, running: RunningMqcore) -> None:
        deadline = time.monotonic() + 60
        while not (self.folder / file).exists():
            self.assertIsNone(running.process.poll(), "it ended before")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def kill(self, running: RunningMqcore) -> None:
        running.seen.update(children_of(running.process.pid))
        running.process.kill()
        running.finish()
        self.assert_nobody_left(running)

    def resume(self, *arguments: str) -> RunningMqcore:
        return self.start("run", "--resume", "out", *arguments)

    def killed_in_its_first_run(self, *arguments: str, clients: str = "paho-c") -> None:
        running = self.start_run(*arguments, clients=clients)
        self.wait_for("out/manifest.json", running)
        self.kill(running)


class AKilledCampaign(ResumeTest):
    def stored_texts(self) -> dict[str, str]:
        texts = {file.name: file.read_text() for file in (self.folder / "out").glob("*.json")}
        for text in texts.values():
            json.loads(text)  # each is whole
        return texts

    def assert_each_planned_run_is_there_once(self) -> None:
        for client in ("paho-c", "twin"):
            attempts: dict[tuple[str, int], list[dict]] = {}
            for run in self.runs(client):
                attempts.setdefault((run["point"], run["run"]), []).append(run)
            self.assertEqual(set(attempts), {("pub", 1), ("sub", 1)})
            for of_one in attempts.values():
                self.assertEqual([run["attempt"] for run in of_one], list(range(1, len(of_one) + 1)))
                self.assertTrue(all(run["status"] == "invalid" for run in of_one[:-1]))
                self.assertTrue(of_one[-1]["status"] != "invalid" or len(of_one) == 2)

    def test_killing_it_anywhere_loses_at_most_the_run_in_progress(self) -> None:
        seed = random.SystemRandom().getrandbits(32)
        moments = random.Random(seed)
        kills = campaigns = 0
        while kills < KILLS or campaigns == 0:
            with self.subTest(campaign=campaigns, kills=kills, seed=seed):
                kills += self.one_campaign(moments, KILLS - kills)
            campaigns += 1
            shutil.rmtree(self.folder / "out")
        print(f"{kills} kills over {campaigns} campaigns, seed {seed}", flush=True)

    def one_campaign(self, moments: random.Random, most_kills: int) -> int:
        """Runs a campaign to its end, killing mqcore at random moments; returns how often."""
        out = self.folder / "out"
        kills = sessions = 0
        kept: dict[str, str] = {}
        while True:
            has_begun = (out / "manifest.json").exists()
            if has_begun:
                running = self.resume("--clients", "./twin")
            else:
                self.assertEqual(kept, {})
                shutil.rmtree(out, ignore_errors=True)
                running = self.start_run(clients="paho-c,./twin")
            if kills < most_kills:
                deadline = time.monotonic() + moments.uniform(0.1, 13)
                while running.process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.01)
            if kills < most_kills and running.process.poll() is None:
                self.kill(running)
                kills += 1
            else:
                code, _, err = running.finish()
                self.assertIn(code, (0, 1), err)
            texts = self.stored_texts()
            for name, text in kept.items():
                if name != "manifest.json":
                    self.assertTrue(texts[name].startswith(text.removesuffix(END_OF_RUNS)), name)
            if "manifest.json" in texts:
                manifest = json.loads(texts["manifest.json"])
                if "manifest.json" in kept:
                    first = json.loads(kept["manifest.json"])
                    for key in ("id", "created", "seed", "ceilings", "harness_floor", "clients", "points"):
                        self.assertEqual(manifest[key], first[key])
                sessions = len(manifest["sessions"])
                if manifest["state"] == "finished":
                    break
            kept = texts
        self.assert_each_planned_run_is_there_once()
        self.assertEqual([session["state"] for session in manifest["sessions"]],
                         ["killed"] * (sessions - 1) + ["finished"])
        self.assert_results_are_as_documented()
        return kills

    def test_an_invalid_run_gets_its_second_attempt(self) -> None:
        running = self.start_run("--points", "pub")
        running.worker_in_window()
        os.kill(running.child("mqworker"), signal.SIGKILL)
        self.wait_for("out/paho-c.json", running)
        self.kill(running)
        self.assertEqual([run["status"] for run in self.runs()], ["invalid"])
        code, _, err = self.resume().finish()
        self.assertEqual(code, 0, err)
        self.assertEqual([(run["attempt"], run["status"]) for run in self.runs()],
                         [(1, "invalid"), (2, "valid")])

    def test_an_interrupted_one_goes_on_without_its_scenario_files(self) -> None:
        running = self.start_run("--points", "pub", "--seed", "7")
        self.wait_for("out/manifest.json", running)
        running.process.send_signal(signal.SIGINT)
        code, _, err = running.finish()
        self.assertEqual(code, 130)
        self.assertIn("mqcore run --resume out", err)
        (self.folder / "short.toml").unlink()
        code, _, err = self.resume().finish()
        self.assertEqual(code, 0, err)
        manifest = self.manifest()
        self.assertEqual((manifest["state"], manifest["seed"]), ("finished", 7))
        self.assertEqual([session["state"] for session in manifest["sessions"]],
                         ["interrupted", "finished"])
        self.assertTrue(all(session["ended"] for session in manifest["sessions"]))
        self.assertEqual([point["id"] for point in manifest["points"]], ["pub"])
        self.assertEqual([run["status"] for run in self.runs()], ["valid"])
        self.assert_results_are_as_documented()
        code, _, err = self.resume().finish()
        self.assertEqual(code, 2)
        self.assertIn("finished: nothing is left to run", err)


class WhatIsRefused(ResumeTest):
    def assert_refused(self, running: RunningMqcore, *words: str) -> None:
        code, out, err = running.finish()
        self.assertEqual((code, out), (2, ""), err)
        for word in words:
            self.assertIn(word, err)

    def test_a_changed_setting_driver_or_scenario(self) -> None:
        self.killed_in_its_first_run(clients="./twin")
        before = (self.folder / "out" / "manifest.json").read_bytes()
        help_text = self.start("run", "--help").finish()[1]
        options = {name: bool(value) for name, value in
                   re.findall(r"^ +(?:-\w,)?(--[a-z-]+) ?([A-Z]*)", help_text, re.MULTILINE)}
        self.assertLessEqual({"--points", "--runs", "--until", "--control", "--direct", "--seed"}, set(options))
        for name in MAY_BE_GIVEN:
            del options[name]
        values = {"--profile": "smoke", "--until": "2%", "--broker": "mqtt://127.0.0.1"}
        for name, has_value in options.items():
            given = [name, values.get(name, "1")] if has_value else [name]
            if name == "--runs-max":
                given += ["--until", "2%"]  # without it there is nothing that it could mean
            self.assert_refused(self.resume(*given), "cannot be given with --resume")
        self.assert_refused(self.resume("short.toml"), "a scenario file cannot be given with --resume")
        self.assert_refused(self.resume("--clients", "paho-c"),
                            "the driver 'paho-c' is no client of this campaign (twin)")

        toml = self.folder / "twin" / "driver.toml"
        toml.write_text(toml.read_text() + "# another driver\n")
        self.assert_refused(self.resume("--clients", "./twin"), "not as it was when it began",
                            "clients.twin.files.driver.toml: ", "… → ")
        scenario = self.folder / "out" / "scenarios" / "short.toml"
        scenario.write_text(scenario.read_text().replace("500/s", "501/s"))
        self.assert_refused(self.resume("--clients", "./twin"),
                            "short.toml' was changed since the campaign began")
        self.assertEqual((self.folder / "out" / "manifest.json").read_bytes(), before)

    def test_whatever_is_not_as_it_was_when_it_began(self) -> None:
        self.killed_in_its_first_run()
        file = self.folder / "out" / "manifest.json"
        manifest = json.loads(file.read_text())
        client = manifest["clients"][0]
        library, = (name for name in client["linked"] if name.startswith("libpaho-mqtt3as"))
        told = []
        for path, part, keys in (
                ("mqcore.programs", manifest["mqcore"]["programs"], ("mqcore", "mqworker", "mqpeer")),
                ("broker", manifest["broker"], ("version", "binary_sha256", "config_sha256")),
                ("machine", manifest["machine"], ("cpu_model", "kernel", "cores")),
                ("cores.cpus", manifest["cores"]["cpus"], ("client", "broker")),
                ("clients.paho-c.files", client["files"], ("driver.toml", "paho-c.so")),
                ("clients.paho-c.linked", client["linked"], (library,))):
            for key in keys:
                self.assertTrue(part[key], f"{path}.{key}")
                part[key] = "another"
                told.append(f"{path}.{key}: 'another' → ")
        file.write_text(json.dumps(manifest))
        self.assert_refused(self.resume(), *told)

    def test_two_at_once(self) -> None:
        running = self.start_run("--points", "pub")
        self.wait_for("out/manifest.json", running)
        self.assert_refused(self.resume(), "another mqcore is running the campaign")
        code, _, err = running.finish()
        self.assertEqual(code, 0, err)

    def test_what_is_no_campaign(self) -> None:
        self.assert_refused(self.resume(), "'out' is no results folder")
        (self.folder / "out" / "scenarios").mkdir(parents=True)
        self.assert_refused(self.resume(), "ended before its first run")


if __name__ == "__main__":
    unittest.main()
