"""How long `mqcore report` takes for a results folder of 10,000 runs, and how much memory.

    python3 tests/bench/report/report_speed.py --mqcore build/release/bin/mqcore [--campaign DIR] [--runs 10000] [--many]

Repeats the runs of a real campaign until there are enough: as one campaign with many runs of each pair or,
with --many, as many campaigns. Prints seconds, peak memory and the site's size; asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def repeat(campaign: Path, wanted: int, is_many: bool, results: Path) -> int:
    """Fills `results`; gives the number of runs."""
    manifest = json.loads((campaign / "manifest.json").read_text())
    clients = {file: json.loads(file.read_text()) for file in sorted(campaign.glob("*.json")) if file.name != "manifest.json"}
    once = sum(len(client["runs"]) for client in clients.values())
    times = -(-wanted // once)
    if is_many:
        for n in range(times):
            shutil.copytree(campaign, results / f"{campaign.name}-{n:04}", ignore=shutil.ignore_patterns("logs"))
        return once * times
    one = results / campaign.name
    one.mkdir()
    manifest["profile"]["runs"] = times
    (one / "manifest.json").write_text(json.dumps(manifest, indent=2))
    for file, client in clients.items():
        client["runs"] = [{**run, "run": n + 1} for n in range(times) for run in client["runs"]]
        (one / file.name).write_text(json.dumps(client))
    return once * times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mqcore", type=Path, required=True)
    parser.add_argument("--campaign", type=Path, default=ROOT / "results/2026-11-30-core-smoke")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--many", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        results.mkdir()
        runs = repeat(options.campaign.resolve(), options.runs, options.many, results)
        size = sum(file.stat().st_size for file in results.rglob("*.json"))
        for attempt in range(3):
            begin = time.monotonic()
            child = subprocess.Popen([options.mqcore, "report", results, "--output", Path(folder) / "site"], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.monotonic() - begin
            if status:
                raise SystemExit(f"mqcore report ended with {os.waitstatus_to_exitcode(status)}")
            site = sum(file.stat().st_size for file in (Path(folder) / "site").rglob("*") if file.is_file() and "raw" not in file.parts)
            print(f"{runs} runs in {len(list(results.iterdir()))} campaigns, {size / 1e6:.0f} MB: "
                  f"{seconds:.2f} s ({usage.ru_utime + usage.ru_stime:.2f} s of processor), peak memory {usage.ru_maxrss / 1024:.0f} MiB, site {site / 1e6:.1f} MB without the raw files")


if __name__ == "__main__":
    main()
