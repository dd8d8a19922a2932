"""A client in mqcore beside a plain script that drives the same library without mqcore: QoS 1, 64
in flight, 256 B, MQTT 3.1.1. Rounds are interleaved; client and broker each have a core of their own,
as in a campaign. Prints figures and asserts none.

    MQCORE_BUILD_DIR=build/release python3 tests/bench/python_clients/compare.py [client ...]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "conformance/python"))

import broker  # noqa: E402
import support  # noqa: E402
import worker  # noqa: E402

WARMUP_S, WINDOW_S = 0.5, 2.0


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_in_window(pid: int) -> float:
    time.sleep(WARMUP_S)
    before = cpu_s(pid)
    time.sleep(WINDOW_S)
    return cpu_s(pid) - before


def run_script(client: str, port: int) -> tuple[int, float]:
    python = Path(support.environment(client)) / "bin/python3"
    command = [python, HERE / f"scripts/{client}_script.py", port, WARMUP_S, WINDOW_S]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "started\n"
        cpu = cpu_in_window(process.pid)
        answer = json.loads(process.stdout.readline())
    assert answer["failed"] == 0, answer
    return answer["completed"], cpu


def run_mqcore(client: str, port: int) -> tuple[int, float]:
    document = worker.spec(
        support.driver_folder(client),
        support.HOST_FILE,
        support.environment(client),
        port=port,
        send={"qos": 1, "window": 64, "payload_bytes": [256]},
    )
    with worker.Worker(support.worker_program(), document) as process:
        process.prepare()
        process.connect()
        process.start(WINDOW_S, warmup_s=WARMUP_S)
        cpu = cpu_in_window(process.pid)
        sent = process.hear()["report"]["send"]
        process.finish()
    assert sent["failed"] == sent["unfinished"] == 0, sent
    return sent["completed_window"], cpu


def compare(client: str, port: int, rounds: int) -> None:
    rates: dict[str, list[float]] = {"script": [], "mqcore": []}
    costs: dict[str, list[float]] = {"script": [], "mqcore": []}
    for _ in range(rounds):
        for way, run in (("script", run_script), ("mqcore", run_mqcore)):
            completed, cpu = run(client, port)
            rates[way].append(completed / WINDOW_S)
            costs[way].append(cpu / completed * 1e6)
    ratio = median(rates["mqcore"]) / median(rates["script"])
    print(
        f"{client:10}"
        + "".join(
            f"  {way}: {median(rates[way]):7.0f}/s {median(costs[way]):5.1f} us" for way in rates
        )
        + f"  rate {ratio:.3f} of the script's, pairs "
        + " ".join(f"{ours / its:.2f}" for its, ours in zip(rates["script"], rates["mqcore"])),
        flush=True,
    )


def main() -> None:
    known = sorted(each.stem.removesuffix("_script") for each in HERE.glob("scripts/*_script.py"))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "clients", nargs="*", default=known, metavar="client", help=", ".join(known)
    )
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    with broker.Broker() as server:
        os.sched_setaffinity(server.process.pid, {cores[-1]})
        os.sched_setaffinity(0, {cores[0]})  # inherited by script and worker
        for client in options.clients:
            compare(client, server.port, options.rounds)


if __name__ == "__main__":
    main()
