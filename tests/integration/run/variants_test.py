"""Variants, releases and working copies of one library, side by side as clients of their own."""

from __future__ import annotations

import json
import subprocess
import unittest

from harness import SOURCE, MqcoreTest, needs_environment

OLDER = "2.0.0"  # a release of paho-mqtt before the locked one


class Variants(MqcoreTest):
    @classmethod
    def setUpClass(cls) -> None:
        needs_environment("paho")

    def mqcore(self, *arguments: str) -> tuple[int, str, str]:
        return self.start(*arguments).finish(300)

    def test_a_variant_and_an_older_release_are_clients_of_their_own(self) -> None:
        self.mqcore("envs", "remove", "--clients", f"paho@{OLDER}")  # run has to make it
        clients = ["paho", "paho:thread", f"paho@{OLDER}"]
        code, out, err = self.mqcore("run", "short.toml", "--profile", "smoke", "--points", "pub",
                                     "--clients", ",".join(clients), "--output", "out")
        if "cannot be made" in err:
            self.skipTest(f"no package registry here: {err.strip()}")
        self.assertEqual(code, 0, err)
        self.assertIn(f"making the environment of 'paho@{OLDER}'", err)
        self.assertNotIn("making the environment of 'paho:thread'", err)

        entries = {client["id"]: client for client in self.manifest()["clients"]}
        self.assertEqual(list(entries), clients)
        said = {key: [entries[id][key] for id in clients]
                for key in ("driver", "variant", "version", "checkout", "options")}
        self.assertEqual(said, {
            "driver": ["paho"] * 3, "variant": [None, "thread", None],
            "version": [None, None, OLDER], "checkout": [None] * 3,
            "options": [{}, {"loop": "thread"}, {}]})
        locked, thread, older = (entries[id]["environment"] for id in clients)
        self.assertEqual(thread, locked)
        self.assertRegex(locked["lock"], "^[0-9a-f]{64}$")
        self.assertNotEqual(locked["packages"]["paho-mqtt"], OLDER)
        self.assertIsNone(older["lock"])
        self.assertEqual(older["instead_of_lock"], {"version": OLDER})
        self.assertEqual(older["packages"]["paho-mqtt"], OLDER)
        self.assertEqual(set(locked["interpreter"]["flags"]) & {"gil", "jit"}, {"gil", "jit"})

        for id, file in zip(clients, ("paho", "paho_thread", f"paho@{OLDER}"), strict=True):
            self.assertEqual({run["client_name"] for run in self.runs(file)}, {id})
            self.assertEqual(self.runs(file)[-1]["status"], "valid")
            self.assertIn(f"  {id} ", out)
        self.assertEqual(self.runs(f"paho@{OLDER}")[0]["client"]["notes"]["library.version"], OLDER)
        checker = SOURCE / "tests/integration/results/results_schema.py"
        checked = subprocess.run(["python3", str(checker), str(self.folder / "out")],
                                 capture_output=True, text=True)
        if "No module named 'jsonschema'" not in checked.stderr:
            # The folder is a temporary one, which an external path in a text would show.
            self.assertEqual((checked.returncode, checked.stdout), (0, ""))
        code, shown, err = self.mqcore("show", "out")
        self.assertEqual(code, 0, err)
        self.assertIn(f"  paho@{OLDER} ", shown)

    def test_list_names_them_and_makes_nothing(self) -> None:
        self.mqcore("envs", "remove", "--clients", f"paho@{OLDER}")
        code, out, err = self.mqcore("list", "short.toml", "--json", "--clients",
                                     f"paho:thread,paho@{OLDER}")
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads(out)["clients"], ["paho:thread", f"paho@{OLDER}"])
        self.assertIn(f"makes the environment of 'paho@{OLDER}' first", err)
        self.assertNotIn(f"paho@{OLDER}", self.mqcore("envs", "list")[1])

    def test_the_declared_variants_are_told(self) -> None:
        code, out, err = self.mqcore("clients", "--json")
        self.assertEqual(code, 0, err)
        variants = {client["id"]: [v["id"] for v in client["variants"]] for client in json.loads(out)}
        self.assertEqual(variants["paho"], ["paho:thread"])

    def test_options_of_a_scenario_go_to_a_driver_and_its_variants(self) -> None:
        with open(self.folder / "short.toml", "a") as scenario:
            scenario.write('[driver.paho]\nloop = "external"\n')
        code, _, err = self.mqcore("run", "short.toml", "--profile", "smoke", "--points", "pub",
                                   "--clients", "paho,paho:thread", "--output", "out")
        self.assertEqual(code, 0, err)
        options = [client["options"] for client in self.manifest()["clients"]]
        self.assertEqual(options, [{"loop": "external"}, {"loop": "thread"}])

    def test_two_working_copies_of_one_name_need_another(self) -> None:
        copies = [self.folder / place / "copy" for place in ("one", "two")]
        for copy in copies:
            copy.mkdir(parents=True)
        code, _, err = self.mqcore("run", "short.toml", "--output", "out", "--clients",
                                   ",".join(f"paho@{copy}" for copy in copies))
        self.assertEqual(code, 2)
        self.assertIn("two clients would be called 'paho@copy' in the results", err)
        self.assertIn(f"paho@{copies[1]}=NAME", err)
        self.assertFalse((self.folder / "out").exists())

    def test_what_is_not_there_is_refused_before_anything_runs(self) -> None:
        for name, reason in {"paho:thraed": "did you mean 'paho:thread'?",
                             "paho-c@1.3": "the library of 'paho-c' cannot be chosen with '@'",
                             "paho@": "'' in 'paho@' is no version",
                             "paho@./nowhere": "there is no folder './nowhere'"}.items():
            code, _, err = self.mqcore("run", "short.toml", "--clients", name, "--output", "out")
            self.assertEqual((code, reason in err), (2, True), err)
        code, _, err = self.mqcore("run", "short.toml", "--clients", "paho", "--output", "out",
                                   "--python", "2.6")
        self.assertEqual(code, 3)
        self.assertIn("no interpreter '2.6'", err)
        self.assertNotIn("envs sync", err)  # which could not make it either
        code, _, err = self.mqcore("envs", "remove", "--clients", "paho:thread")
        self.assertEqual(code, 2)
        self.assertIn("'paho:thread' has no environment of its own", err)
        self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    unittest.main()
