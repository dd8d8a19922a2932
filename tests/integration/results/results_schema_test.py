"""The schema accepts what mqcore writes and refuses what it must never write."""

import copy
import json
import os
import pathlib
import shutil
import tempfile
import unittest

import jsonschema

import results_schema

FIXTURE = results_schema.ROOT / "tests" / "golden" / "report" / "results"


def delete(path):
    def change(document):
        for step in path[:-1]:
            document = document[step]
        del document[path[-1]]
    return change


def put(path, value):
    def change(document):
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = value
    return change


RUN = ("runs", 0)

# File, what is wrong, the change, and a part of the problem's line.
REFUSED = [
    ("manifest.json", "another format", put(("format",), "mqcore-results/2"), "mqcore-results/1"),
    ("manifest.json", "an unknown state", put(("state",), "done"), "state"),
    ("manifest.json", "no machine", delete(("machine",)), "machine"),
    ("manifest.json", "a floor without its budget",
     delete(("harness_floor", "rows", 0, "publish_budget_ns")), "publish_budget_ns"),
    ("manifest.json", "a hash that is none", put(("scenarios", 0, "sha256"), "abc"), "sha256"),
    ("manifest.json", "a refused pair without a reason", put(("refused", 0, "missing"), []),
     "missing"),
    ("manifest.json", "a personal path", put(("clients", 0, "options", "key"), "/home/me/x"),
     "a path of one machine"),
    ("paho-c.json", "an unknown status", put(RUN + ("status",), "ok"), "status"),
    ("paho-c.json", "valid, with a reason", put(RUN + ("reason",), "but"), "reason"),
    ("paho-c.json", "invalid, without a reason", put(RUN + ("status",), "invalid"), "reason"),
    ("paho-c.json", "unsupported, without the failure that says so",
     put(RUN + ("status",), "unsupported"), "failure"),
    ("paho-c.json", "a negative count",
     put(RUN + ("client", "report", "send", "sent"), -1), "sent"),
    ("paho-c.json", "a metric as text", put(RUN + ("metrics", "rate"), "fast"), "rate"),
    ("paho-c.json", "an unknown metric without a reason", put(RUN + ("metrics", "rate"), None),
     "metrics without a value"),
    ("paho-c.json", "a histogram that was changed",
     put(RUN + ("peer", "report", "receive", "transit", "count"), 1), "the buckets hold"),
    ("paho-c.json", "a bucket outside the range",
     put(RUN + ("peer", "report", "receive", "transit", "buckets"), [[9999, 1]]), "buckets"),
    ("paho-c.json", "a series that does not add up",
     put(RUN + ("peer", "report", "receive", "series", "arrived", 3), 1),
     "'arrived' by interval does not add up"),
    ("paho-c.json", "more intervals than the schedule has",
     put(RUN + ("client", "report", "send", "series", "sent"), [1] * 20), "has 20 intervals"),
    ("paho-c.json", "an interval that is no count",
     put(RUN + ("resources", "series", "client_cpu_us", 3), -5), "client_cpu_us"),
    ("paho-c.json", "another client's run", put(RUN + ("client_name",), "paho"), "of 'paho'"),
    ("paho-c.json", "a point that is not the manifest's", put(RUN + ("spec", "qos"), 1),
     "is not the manifest's"),
    ("paho-c.json", "a run twice", put(("runs", 1, "run"), 1), "is there twice"),
]


class ResultsSchema(unittest.TestCase):
    def test_the_schema_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(results_schema.SCHEMA)

    def test_the_results_of_the_tests_are_accepted(self):
        self.assertEqual(results_schema.problems_of(FIXTURE), [])

    def test_committed_results_are_accepted(self):
        for manifest in sorted((results_schema.ROOT / "results").glob("*/manifest.json")):
            with self.subTest(manifest.parent.name):
                self.assertEqual(results_schema.problems_of(manifest.parent), [])

    def test_the_folder_in_the_environment_is_accepted(self):
        folder = os.environ.get("MQCORE_RESULTS")
        if not folder:
            self.skipTest("MQCORE_RESULTS names no results folder")
        self.assertEqual(results_schema.problems_of(folder), [])

    def test_what_must_never_be_written_is_refused(self):
        for name, what, change, expected in REFUSED:
            with self.subTest(what), tempfile.TemporaryDirectory() as temporary:
                folder = pathlib.Path(temporary) / "results"
                folder.mkdir()
                for file in {"manifest.json", name}:
                    shutil.copy(FIXTURE / file, folder)
                document = json.loads((folder / name).read_text(encoding="utf-8"))
                changed = copy.deepcopy(document)
                change(changed)
                self.assertNotEqual(document, changed)
                (folder / name).write_text(json.dumps(changed), encoding="utf-8")
                problems = results_schema.problems_of(folder)
                self.assertTrue(any(expected in problem for problem in problems), problems)

    def test_a_mark_is_accepted_and_one_without_a_reason_refused(self):
        mark = {"format": "mqcore-results/1", "standing": "retracted", "reason": "why",
                "at": "2025-01-01T00:00:00Z"}
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary) / "results"
            shutil.copytree(FIXTURE, folder)
            (folder / "standing.json").write_text(json.dumps(mark), encoding="utf-8")
            self.assertEqual(results_schema.problems_of(folder), [])
            (folder / "standing.json").write_text(json.dumps(mark | {"reason": ""}), encoding="utf-8")
            self.assertTrue(any("reason" in p for p in results_schema.problems_of(folder)))

    def test_half_a_file_is_refused(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary) / "results"
            shutil.copytree(FIXTURE, folder)
            text = (folder / "paho.json").read_text(encoding="utf-8")
            (folder / "paho.json").write_text(text[: len(text) // 2], encoding="utf-8")
            self.assertTrue(any("paho.json" in p for p in results_schema.problems_of(folder)))


if __name__ == "__main__":
    unittest.main()
