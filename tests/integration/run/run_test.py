"""`mqcore run` end to end on the real broker, and what it must survive."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from harness import BAD_DRIVERS, BUILD, MqcoreTest, alive, children_of, results_schema


TLS_SCENARIO = """
[suite]
name = "tls"

[[point]]
id = "idle_tls"
kind = "idle"
tls = true
question = "What do both sides of a TLS connection agree on?"
"""


class AHonestRun(MqcoreTest):
    def test_a_run_reconciles_to_the_message(self) -> None:
        running = self.start_run()
        code, out, err = running.finish()
        self.assertEqual(code, 0, err)
        self.assertIn("paho-c", out)
        by_point = {run["point"]: run for run in self.runs()}
        self.assertEqual(set(by_point), {"pub", "sub"})

        pub = by_point["pub"]
        self.assertEqual(pub["status"], "valid", pub["reason"])
        sent = pub["client"]["report"]["send"]
        arrived = pub["peer"]["report"]["receive"]
        # 500/s over half a second of warm-up and two of window.
        self.assertEqual(sent["sent"], sent["completed"])
        self.assertEqual(sent["sent"], arrived["total"])
        self.assertEqual(arrived["ledger"]["distinct"], sent["sent"])
        self.assertEqual(pub["broker"]["delta"]["publish_received"], sent["sent"])
        self.assertEqual(pub["broker"]["delta"]["publish_sent"], sent["sent"])
        self.assertEqual(sent["due_in_window"], 1000)

        sub = by_point["sub"]
        self.assertEqual(sub["status"], "valid", sub["reason"])
        source = sub["peer"]["report"]["send"]
        taken = sub["client"]["report"]["receive"]
        self.assertEqual(source["sent"], taken["total"])
        self.assertEqual(taken["ledger"]["lost_below_frontier"], 0)
        self.assertEqual(sub["broker"]["delta"]["publish_received"], source["sent"])

        for run in by_point.values():
            self.assertIs(run["comparable"], False)
            self.assertTrue(run["not_comparable_because"])
            self.assertGreater(run["resources"]["client"]["cpu_ns"], 0)
        self.assertEqual(self.manifest()["state"], "finished")
        self.assert_results_are_as_documented()

    def test_direct_mode_has_no_broker_and_the_same_accounts(self) -> None:
        code, out, err = self.start_run("--direct").finish()
        self.assertEqual(code, 0, err)
        self.assertIn(", direct", out)
        self.assertIn("direct: no broker, a ranking of its own", out)
        self.assertNotIn("the broker's acknowledgement", out)
        self.assertNotIn("acknowledgement", self.manifest())
        self.assertEqual({run["point"] for run in self.runs()}, {"pub", "sub"})
        for run in self.runs():
            self.assertEqual(run["status"], "valid", run["reason"])
            self.assertIs(run["spec"]["direct"], True)
            self.assertEqual(
                {c["outcome"] for c in run["checks"] if c["id"].startswith("broker_")},
                {"not_applicable"},
            )
            sender, receiver = ("client", "peer") if run["point"] == "pub" else ("peer", "client")
            sent = run[sender]["report"]["send"]["sent"]
            self.assertEqual(run[receiver]["report"]["receive"]["ledger"]["distinct"], sent)
        self.assert_results_are_as_documented()

    def test_the_manifest_tells_what_mqcore_is_and_what_it_costs(self) -> None:
        code, out, err = self.start_run("--points", "pub").finish()
        self.assertEqual(code, 0, err)
        manifest = self.manifest()
        self.assertRegex(manifest["mqcore"]["revision"], r"^([0-9a-f]{12,40}(-dirty)?|unknown)$")
        floor = manifest["harness_floor"]
        self.assertEqual(floor["unavailable"], {})
        [row] = floor["rows"]
        self.assertEqual((row["client"], row["clients"]), ("null", ["paho-c"]))
        self.assertGreater(row["publish"]["best_ns"], floor["stamp"]["best_ns"])
        self.assertGreater(row["publish_budget_ns"], floor["clock_read"]["best_ns"])
        self.assertGreater(row["rss_peak_kib"], 0)
        self.assertGreaterEqual(floor["rounds"], 1)
        self.assertIn("mqcore's own cost, ns a message: null publish ", out)

    def test_the_brokers_ceilings_are_measured_first_and_set_the_offer(self) -> None:
        points = {"pub": ("pub", 1, "5"), "sub": ("sub", 0, "3.1.1"), "sub5": ("sub", 1, "5")}
        (self.folder / "short.toml").write_text('[suite]\nname = "short"\n' + "".join(
            f'[[point]]\nid = "{id}"\nkind = "{kind}"\nqos = {qos}\npayload = "256B"\nload = "capacity"\n'
            f'protocol = "{protocol}"\nquestion = "How fast?"\n' for id, (kind, qos, protocol) in points.items()))
        code, out, err = self.start_run().finish()
        self.assertIn(code, (0, 1), err)
        manifest = self.manifest()
        ceilings = {(row["qos"], row["protocol"], row["payload_bytes"]): row for row in manifest["ceilings"]}
        # Once for each load that the points have.
        self.assertEqual(set(ceilings), {(0, "3.1.1", 256), (1, "5", 256)})
        for row in ceilings.values():
            self.assertGreater(row["rate"], 0)
            self.assertAlmostEqual(row["receive_offer"], 0.9 * row["rate"], delta=1e-6 * row["rate"])
        for run in self.runs():
            kind, qos, protocol = points[run["point"]]
            self.assertEqual(run["receive_offer"], None if kind == "pub" else
                             ceilings[qos, protocol, 256]["receive_offer"])
        trip = manifest["acknowledgement"]
        self.assertEqual(trip["qos"], 1)
        self.assertGreater(trip["count"], 100)
        steps = [trip[key] for key in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")]
        self.assertEqual(steps, sorted(steps))
        self.assertTrue(0 < trip["mean_ns"] <= trip["max_ns"])
        self.assertIn("acknowledgement of a QoS 1 publish of 256 B, one in flight: mean ", out)

    def test_clients_tells_the_version_of_a_native_library(self) -> None:
        code, out, err = self.start("clients", "--json").finish()
        self.assertEqual(code, 0, err)
        versions = {client["id"]: client["version"] for client in json.loads(out)}
        self.assertRegex(versions["paho-c"], r"^\d+\.\d+\.\d+$")
        self.assertIsNone(versions["null"])  # there is no library

    def test_a_client_tells_what_tls_agreed_on_or_why_that_is_not_known(self) -> None:
        version, cipher, unknown = r"^TLSv1\.[23]$", r"^(TLS_)?[A-Z0-9_-]+$", "^not known: "
        expected = {
            "libmosquitto": (version, cipher),
            "paho-c": (unknown, unknown),
            "paho-golang": (version, cipher),
            "rumqttc": (version, unknown),
        }
        built = [it for it in expected if (BUILD / "lib/mqcore/plugins" / it / f"{it}.so").exists()]
        self.assertIn("paho-c", built)
        (self.folder / "short.toml").write_text(TLS_SCENARIO)
        code, out, err = self.start_run(clients=",".join(built)).finish()
        self.assertEqual(code, 0, err)
        for client in built:
            with self.subTest(client=client):
                [run] = self.runs(client)
                notes = run["client"]["notes"]
                for key, words in zip(("tls.version", "tls.cipher"), expected[client]):
                    self.assertRegex(notes[key], words)

    def test_an_a_a_pair_runs_until_it_is_known_and_verifies(self) -> None:
        code, out, err = self.start_run("--points", "pub", "--runs", "1", "--control",
                                        "--until", "1000%", "--runs-max", "5").finish()
        self.assertEqual(code, 0, err)
        self.assertIn("A/A control: paho-c against itself", out)
        clients = {client["id"]: client["control_of"] for client in self.manifest()["clients"]}
        self.assertEqual(clients, {"paho-c": None, "paho-c#control": "paho-c"})
        # Three blocks make an interval, and any is narrower than this.
        for client in clients:
            self.assertEqual({run["run"] for run in self.runs(client)}, {1, 2, 3})
        code, out, _ = self.start("verify", "out").finish()
        self.assertEqual(code, 0, out)
        self.assertIn("0 differences, 0 faults", out)
        self.assertNotIn("note:", out)

    def test_a_results_folder_is_never_written_over(self) -> None:
        (self.folder / "out").mkdir()
        (self.folder / "out" / "precious").write_text("old")
        code, _, err = self.start_run().finish()
        self.assertEqual(code, 2)
        self.assertIn("not empty", err)
        self.assertEqual((self.folder / "out" / "precious").read_text(), "old")

    def test_two_at_once_share_nothing(self) -> None:
        arguments = ("run", "short.toml", "--profile", "smoke", "--clients", "paho-c", "--points", "pub")
        both = [self.start(*arguments), self.start(*arguments)]
        folders = []
        for running in both:
            code, out, err = running.finish()
            self.assertIn(code, (0, 1), err)  # two on one small machine may disturb each other
            folders.append(out.rsplit("results: ", 1)[1].strip())
        self.assertNotEqual(folders[0], folders[1])
        for folder in folders:
            run = self.runs(folder=folder)[-1]
            receive = run["peer"]["report"]["receive"]
            self.assertEqual(receive["stray"], 0)
            self.assertEqual(receive["total"], run["client"]["report"]["send"]["sent"])

    def test_list_and_a_dry_run_show_the_chosen_points_alone(self) -> None:
        for command in (("list",), ("run", "--dry-run")):
            code, out, err = self.start(*command, "short.toml", "--clients", "paho-c", "--points", "su*",
                                        "--profile", "smoke", "--direct").finish()
            self.assertEqual(code, 0, err)
            self.assertRegex(out, r"(?m)^sub  +sub ")
            self.assertNotRegex(out, r"(?m)^pub ")
            self.assertRegex(out, r"(?m)^sub .*direct")
            self.assertIn("1 runs", out)

    def test_a_refused_pair_is_named_before_the_first_run(self) -> None:
        (self.folder / "short.toml").write_text(
            '[suite]\nname = "short"\n[[point]]\nid = "two"\nkind = "sub"\nqos = 2\npayload = "256B"\n'
            'rate = "100/s"\nquestion = "QoS 2?"\n')
        code, out, _ = self.start("list", "short.toml", "--clients", "gmqtt", "--json").finish()
        self.assertEqual(code, 0)
        refused = json.loads(out)["refused"]
        self.assertEqual([(pair["client"], pair["point"]) for pair in refused], [("gmqtt", "two")])
        self.assertIn("QoS 2", refused[0]["missing"][0])


def wait_until_it_sends(worker: int, timeout: float = 20) -> None:
    """Until the worker's threads sleep and wake as often as a sender does that is paced at 500/s."""

    def wake_ups() -> int:
        return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(), re.M)[1])
                   for status in Path(f"/proc/{worker}/task").glob("*/status"))

    deadline = time.monotonic() + timeout
    before = wake_ups()
    while time.monotonic() < deadline:
        time.sleep(0.2)
        now = wake_ups()
        if now - before > 50:
            return
        before = now
    raise AssertionError("the worker never began to send")


class ARunOverTime(MqcoreTest):
    def test_a_worker_that_stood_still_shows_when_and_for_how_long(self) -> None:
        running = self.start_run("--points", "pub")
        worker = running.worker_of_a_run()
        wait_until_it_sends(worker)
        os.kill(worker, signal.SIGSTOP)
        stopped = time.monotonic_ns()  # the schedule's clock
        time.sleep(0.6)
        resumed = time.monotonic_ns()
        os.kill(worker, signal.SIGCONT)
        code, _, err = running.finish()
        self.assertEqual(code, 0, err)
        self.assert_results_are_as_documented()

        run = self.runs()[0]
        start = run["schedule"]["start_ns"]
        cuts, _, drain = results_schema.bounds_of(run["schedule"])
        sent, completed = (run["client"]["report"]["send"]["series"][name] for name in ("sent", "completed"))
        cpu_us = run["resources"]["series"]["client_cpu_us"]
        still = [i for i in range(drain) if start + cuts[i] >= stopped and start + cuts[i + 1] <= resumed]
        self.assertGreaterEqual(len(still), 3, f"stopped outside the run: {run['schedule']}, {stopped}")
        self.assertEqual([sent[i] for i in still], [0] * len(still))
        self.assertEqual([completed[i] for i in still], [0] * len(still))
        # The kernel bills what ran before the stop a tick late at most.
        self.assertLess(sum(cpu_us[i] or 0 for i in still[1:]), 20_000)
        self.assertGreater(sum(sent), 0)
        # What was due meanwhile came late, by as much as the stop was long when it was due at its begin.
        slowest = run["peer"]["report"]["receive"]["series"]["since_due_max_us"]
        self.assertGreater(max(slowest[still[-1] + 1:] + [0], key=lambda us: us or 0), 500_000)

        code, out, err = self.start("show", "out", "--format", "csv-series").finish()
        self.assertEqual(code, 0, err)
        rows = list(csv.DictReader(out.splitlines()))
        first = [row for row in rows if row["attempt"] == "1"]
        self.assertEqual([row["client_sent"] for row in first], [str(n) for n in sent] + ["0"] * (len(cuts) - len(sent)))
        self.assertEqual({first[i]["client_sent"] for i in still}, {"0"})
        self.assertEqual({row["phase"] for row in first}, {"warmup", "window", "drain", "after"})
        self.assertAlmostEqual(float(first[still[0]]["begin_s"]), cuts[still[0]] / 1e9 - 0.5, places=6)


class ADeadParty(MqcoreTest):
    """One party dies or hangs in the window of the first run; the rest of the plan goes on."""

    def strike(self, program: str, sent_signal: int) -> list[dict]:
        running = self.start_run()
        running.worker_in_window()
        os.kill(running.child(program), sent_signal)
        code, _, err = running.finish()
        self.assertEqual(code, 0, err)  # the retry of the struck run is valid
        runs = self.runs()
        self.assertEqual(runs[0]["status"], "invalid")
        self.assertEqual([run["status"] for run in runs[1:]], ["valid", "valid"])
        self.assertEqual((runs[1]["point"], runs[1]["attempt"]), ("pub", 2))
        self.assert_results_are_as_documented()
        self.assert_nobody_left(running)
        return runs

    def test_worker_killed(self) -> None:
        failure = self.strike("mqworker", signal.SIGKILL)[0]["failure"]
        self.assertEqual(failure["party"], "client")
        self.assertIn("signal 9", failure["reason"])

    def test_worker_stopped(self) -> None:
        failure = self.strike("mqworker", signal.SIGSTOP)[0]["failure"]
        self.assertEqual(failure["party"], "client")
        self.assertIn("stopped", failure["reason"])

    def test_broker_killed(self) -> None:
        failure = self.strike("mosquitto", signal.SIGKILL)[0]["failure"]
        self.assertEqual(failure["party"], "broker")

    def test_peer_killed(self) -> None:
        running = self.start_run()
        running.worker_in_window()
        peers = [pid for pid, name in children_of(running.process.pid).items() if name == "mqpeer"]
        os.kill(max(peers), signal.SIGKILL)  # the youngest is the run's; the probe is older
        code, _, err = running.finish()
        self.assertEqual(code, 0, err)
        first = self.runs()[0]
        self.assertEqual(first["status"], "invalid")
        self.assertEqual(first["failure"]["party"], "peer")
        self.assert_nobody_left(running)


class ABadDriver(MqcoreTest):
    """A driver that misbehaves ends its own run with a named reason and disturbs no other client."""

    def run_with(self, name: str) -> list[dict]:
        running = self.start("run", "short.toml", "--profile", "smoke", "--points", "pub", "--clients",
                             f"{BAD_DRIVERS / name},paho-c", "--output", "out")
        code, _, err = running.finish(180)
        self.assertEqual(code, 1, err)
        self.assertEqual([run["status"] for run in self.runs()], ["valid"])
        running.seen.update(children_of(running.process.pid))
        self.assert_nobody_left(running)
        [client] = [c["id"] for c in self.manifest()["clients"] if c["id"] != "paho-c"]
        runs = self.runs(client)
        self.assertEqual([run["attempt"] for run in runs], [1, 2])
        self.assertEqual({run["status"] for run in runs}, {"invalid"})
        self.assert_results_are_as_documented()
        return runs

    def assert_reason(self, name: str, phase: str, *words: str) -> None:
        for run in self.run_with(name):
            self.assertEqual(run["failure"]["party"], "client")
            self.assertEqual(run["failure"]["phase"], phase)
            for word in words:
                self.assertIn(word, run["failure"]["reason"])

    def assert_misuse(self, name: str, rule: str) -> None:
        for run in self.run_with(name):
            self.assertIn(rule, run["reason"])

    def test_crash_while_creating(self) -> None:
        self.assert_reason("crashes-in-create", "creating", "signal 11")

    def test_crash_while_connecting(self) -> None:
        self.assert_reason("crashes-in-connect", "connecting", "signal 11")

    def test_crash_while_driving(self) -> None:
        [first, _] = self.run_with("crashes-in-drive")
        self.assertEqual(first["failure"]["phase"], "driving")
        self.assertIn("signal 11", first["failure"]["reason"])

    def test_exit_while_driving(self) -> None:
        [first, _] = self.run_with("exits-in-drive")
        self.assertIn("exit code", first["failure"]["reason"])

    def test_never_returning_from_connect(self) -> None:
        self.assert_reason("hangs-in-connect", "connecting")

    def test_what_it_cannot_do_is_refused_at_its_first_run(self) -> None:
        running = self.start("run", "short.toml", "--profile", "smoke", "--points", "pub", "--runs", "2",
                             "--clients", str(BAD_DRIVERS / "unsupported-in-connect"), "--output", "out")
        code, out, err = running.finish()
        self.assertEqual(code, 0, err)
        [run] = self.runs("unsupported-in-connect")  # neither tried again nor run a second time
        self.assertEqual(run["status"], "unsupported")
        self.assertIsNone(run["party"])
        self.assertIn("granted QoS 0 instead of 1", run["reason"])
        self.assertEqual(self.manifest()["refused"], [{
            "client": "unsupported-in-connect", "point": "pub",
            "missing": ["the broker granted QoS 0 instead of 1"], "at_run_time": True}])
        self.assertEqual(out.count("granted QoS 0 instead of 1"), 1, out)
        self.assert_results_are_as_documented()
        self.assertIn("unsupported-in-connect unsupported: ", out)

    def test_never_completing(self) -> None:
        for run in self.run_with("never-completes"):
            self.assertTrue(run["reason"])

    def test_completing_twice(self) -> None:
        self.assert_misuse("completes-twice", "done-twice")

    def test_other_major_version(self) -> None:
        self.assert_reason("other-major", "creating", "ABI 2")

    def test_no_driver_at_all(self) -> None:
        self.assert_reason("no-entry", "creating", "mqcore_driver_entry")


class AnEndFromOutside(MqcoreTest):
    def test_ctrl_c_keeps_finished_runs_and_ends_every_child(self) -> None:
        running = self.start_run("--runs", "3")
        deadline = time.monotonic() + 60
        while not (self.folder / "out" / "paho-c.json").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        running.worker_in_window()
        running.process.send_signal(signal.SIGINT)
        code, _, err = running.finish()
        self.assertEqual(code, 130)
        self.assertIn("mqcore show", err)
        self.assertEqual(self.runs()[0]["status"], "valid")
        self.assertEqual(self.manifest()["state"], "interrupted")
        self.assert_nobody_left(running)
        self.assert_results_are_as_documented()

    def test_killing_mqcore_leaves_no_orphan_and_no_broken_file(self) -> None:
        running = self.start_run("--runs", "3")
        deadline = time.monotonic() + 60
        while not (self.folder / "out" / "paho-c.json").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        running.worker_in_window()
        running.seen.update(children_of(running.process.pid))
        running.process.kill()
        running.finish()
        self.assert_nobody_left(running)
        self.assertEqual(self.runs()[0]["status"], "valid")
        self.assertEqual(self.manifest()["state"], "running")
        shown = self.start("show", "out").finish()
        self.assertEqual(shown[0], 0, shown[2])

    @unittest.skipUnless(os.geteuid() == 0, "needs root to mount a small file system")
    def test_a_full_disk_loses_nothing_that_was_finished(self) -> None:
        small = self.folder / "small"
        small.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(small)],
                                 capture_output=True, text=True)
        if mounted.returncode:
            self.skipTest(f"this machine allows no mount: {mounted.stderr.strip()}")
        try:
            running = self.start("run", "short.toml", "--profile", "smoke", "--clients", "paho-c",
                                 "--runs", "30", "--output", "small/out")
            deadline = time.monotonic() + 60
            results = small / "out" / "paho-c.json"
            while not results.exists():
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            # Leave no room for the next version of the file.
            with open(small / "filler", "wb", buffering=0) as filler:
                try:
                    while True:
                        filler.write(b"x" * 1024)
                except OSError:
                    pass
            code, _, err = running.finish()
            self.assertEqual(code, 3, err)
            self.assertIn("No space left", err)
            self.assertEqual(self.runs(folder="small/out")[0]["status"], "valid")
            self.assertEqual(self.manifest("small/out")["format"], "mqcore-results/1")
            self.assert_nobody_left(running)
        finally:
            subprocess.run(["umount", "-l", str(small)], check=True)


class WrongInput(MqcoreTest):
    def test_a_scenario_with_an_error_runs_nothing(self) -> None:
        (self.folder / "short.toml").write_text('[[point]]\nid = "a"\nkindd = "pub"\n')
        code, _, err = self.start_run().finish()
        self.assertEqual(code, 2)
        self.assertIn("short.toml:3:1: error: unknown key 'kindd'", err)
        self.assertFalse((self.folder / "out").exists())

    def test_an_unknown_client_gets_a_suggestion(self) -> None:
        code, _, err = self.start_run(clients="paho-d").finish()
        self.assertEqual(code, 2)
        self.assertIn("did you mean 'paho-c'", err)

    def test_an_unknown_option_is_wrong_input(self) -> None:
        code, _, err = self.start_run("--no-such-option").finish()
        self.assertEqual(code, 2)

    def test_a_null_client_is_refused_with_the_command_for_it(self) -> None:
        code, _, err = self.start_run(clients="null").finish()
        self.assertEqual(code, 2)
        self.assertIn("harness-cost", err)

    def test_no_mosquitto_is_one_line_and_the_doctor_says_the_same(self) -> None:
        # PATH keeps an interpreter for the clients' environments, and nothing else.
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "python3").symlink_to(sys.executable)
        without = {**os.environ, "PATH": str(tools), "MQCORE_SERVER_PATH": "/nowhere/sbin"}
        code, out, err = self.start_run("--quiet", env=without).finish()
        self.assertEqual(code, 3, err)
        missing = "the broker 'mosquitto' is not installed: it is neither in PATH nor in /nowhere/sbin"
        [line, way_out] = err.splitlines()
        self.assertEqual(line, f"mqcore: error: {missing}")
        self.assertIn("apt-get install mosquitto", way_out)
        self.assertEqual(out, "")
        self.assertFalse((self.folder / "out").exists())
        code, out, _ = self.start("doctor", "--json", env=without).finish()
        self.assertEqual(code, 3)
        [finding] = [each for each in json.loads(out) if each["id"] == "mosquitto"]
        self.assertEqual((finding["outcome"], finding["detail"]), ("fail", missing))

    def test_a_broker_that_is_not_there(self) -> None:
        code, _, err = self.start_run("--broker", "mqtt://127.0.0.1:1").finish()
        self.assertEqual(code, 3)
        self.assertIn("127.0.0.1", err)
        self.assertFalse((self.folder / "out" / "manifest.json").exists())


if __name__ == "__main__":
    unittest.main()
