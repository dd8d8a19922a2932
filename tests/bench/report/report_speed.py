"""How long `mqcore report` takes for a results folder of 10,000 runs, and how much memory.

    python3 tests/bench/report/report_speed.py --mqcore build/release/bin/mqcore [--shape runs|campaigns|clients]
        [--campaign DIR] [--runs 10000] [--keep SITE]

Repeats the runs of a real campaign until there are enough: as more runs of each pair (`runs`), as many
campaigns (`campaigns`), or as one campaign of many clients and points (`clients`). Prints seconds, peak
memory and the site's size; asserts nothing. --keep leaves the site there, for page_speed.mjs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


class Campaign:
    """Runs stay the text that mqcore wrote, so that files have their real size."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
        self.runs: dict[str, list[str]] = {}
        for client in self.manifest["clients"]:
            text = (folder / f"{client['id']}.json").read_text()
            begin, end = text.index('"runs": [\n') + len('"runs": [\n'), text.rindex("\n  ]")
            self.runs[client["id"]] = text[begin:end].split(",\n    {\n")
            self.runs[client["id"]][1:] = ["    {\n" + run for run in self.runs[client["id"]][1:]]

    def count(self) -> int:
        return sum(len(runs) for runs in self.runs.values())

    def write(self, results: Path, name: str) -> None:
        folder = results / name
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps({**self.manifest, "id": name}, indent=2))
        for client, runs in self.runs.items():
            head = f'{{\n  "format": "{self.manifest["format"]}",\n  "client": "{client}",\n  "runs": [\n'
            (folder / f"{client}.json").write_text(head + ",\n".join(runs) + "\n  ]\n}\n")

    def repeat_runs(self, times: int) -> None:
        most = self.manifest["profile"]["runs"]
        self.manifest["profile"]["runs"] *= times

        def later(run: str, n: int) -> str:
            return re.sub(r'"run": (\d+)', lambda number: f'"run": {int(number[1]) + n * most}', run, count=1)

        for client, runs in self.runs.items():
            self.runs[client] = [later(run, n) for n in range(times) for run in runs]

    def repeat_clients(self, times: int) -> None:
        clients, runs = self.manifest["clients"], self.runs
        self.manifest["clients"] = [{**client, "id": f"{client['id']}-{n}"} for n in range(times) for client in clients]
        self.runs = {
            f"{client}-{n}": [run.replace(f'"client_name": "{client}"', f'"client_name": "{client}-{n}"', 1) for run in own]
            for n in range(times) for client, own in runs.items()
        }

    def repeat_points(self, times: int) -> None:
        points = self.manifest["points"]
        self.manifest["points"] = [{**point, "id": f"{point['id']}-{n}"} for n in range(times) for point in points]

        def renamed(run: str, n: int) -> str:
            return re.sub(r'"(point|id)": "([^"]*)"', rf'"\1": "\2-{n}"', run, count=2)

        for client, runs in self.runs.items():
            self.runs[client] = [renamed(run, n) for n in range(times) for run in runs]


CLIENTS, POINTS = 16, 48  # of the shape `clients`: all that mqcore has, and then some


def fill(folder: Path, wanted: int, shape: str, results: Path) -> int:
    """Gives the number of runs."""
    campaign = Campaign(folder)
    if shape == "campaigns":
        times = -(-wanted // campaign.count())
        for n in range(times):
            campaign.write(results, f"{campaign.name}-{n:04}")
        return times * campaign.count()
    if shape == "clients":
        campaign.repeat_clients(-(-CLIENTS // len(campaign.runs)))
        campaign.repeat_points(-(-POINTS // len(campaign.manifest["points"])))
    campaign.repeat_runs(-(-wanted // campaign.count()))
    campaign.write(results, campaign.name)
    return campaign.count()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mqcore", type=Path, required=True)
    parser.add_argument("--campaign", type=Path, default=ROOT / "results/2026-11-30-core-resumed")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--shape", choices=["runs", "campaigns", "clients"], default="runs")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        results.mkdir()
        # In a process of its own: a child's peak begins with that of who started it.
        with ProcessPoolExecutor(max_workers=1) as elsewhere:
            runs = elsewhere.submit(fill, options.campaign.resolve(), options.runs, options.shape, results).result()
        size = sum(file.stat().st_size for file in results.rglob("*.json"))
        made = Path(folder) / "site"
        for _ in range(3):
            begin = time.monotonic()
            child = subprocess.Popen([options.mqcore, "report", results, "--output", made], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.monotonic() - begin
            if status:
                raise SystemExit(f"mqcore report ended with {os.waitstatus_to_exitcode(status)}")
            site = sum(file.stat().st_size for file in made.rglob("*") if file.is_file() and "raw" not in file.parts)
            print(f"{runs} runs in {len(list(results.iterdir()))} campaigns, {size / 1e6:.0f} MB: "
                  f"{seconds:.2f} s ({usage.ru_utime + usage.ru_stime:.2f} s of processor), peak memory {usage.ru_maxrss / 1024:.0f} MiB, site {site / 1e6:.1f} MB without the raw files")
        if options.keep:
            shutil.copytree(made, options.keep, ignore=shutil.ignore_patterns("raw"))


if __name__ == "__main__":
    main()
