"""What the Python host costs a client: ns of each call beyond its clock read, against the budget and
against the same work in Python, and the worker's memory. Prints figures and asserts none.

    MQCORE_BUILD_DIR=build/release python3 tests/bench/python_host/python_host_cost.py [interpreter ...]
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "conformance/python"))

import support  # noqa: E402
import worker  # noqa: E402

BUDGET_NS = 75.0  # of one call, beside its clock read

# The clock as the core reads it, through the vDSO; best and median of the same kind of rounds.
CLOCK = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static long long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
static int less(const void* a, const void* b) { double d = *(double*)a - *(double*)b; return d < 0 ? -1 : d > 0; }
int main(void) {
    double rounds[60];
    for (int round = 0; round < 60; ++round) {
        long long begin = now();
        for (int call = 0; call < 10000; ++call) now();
        rounds[round] = (double)(now() - begin) / 10000;
    }
    qsort(rounds, 60, sizeof *rounds, less);
    printf("%.1f %.1f\\n", rounds[0], rounds[30]);
}
"""


def clock_read() -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "clock.c"
        source.write_text(CLOCK)
        subprocess.run(["cc", "-O2", "-o", f"{folder}/clock", source], check=True)
        best, median = subprocess.run(
            [f"{folder}/clock"], capture_output=True, text=True
        ).stdout.split()
    return float(best), float(median)


def measure(interpreter: str) -> dict[str, tuple[float, float]]:
    venv = support.environment("python-null", interpreter)
    document = worker.spec(
        HERE / "driver",
        support.HOST_FILE,
        venv,
        send={"window": 64},
        receive={},
    )
    with worker.Worker(support.worker_program(), document) as process:
        process.prepare()
        process.connect()
        process.start(window_s=120.0)
        deadline = time.monotonic() + 60
        while "figures are complete" not in (log := process.log):
            if time.monotonic() > deadline:
                raise SystemExit(f"no figures within a minute\n{log}")
            time.sleep(0.1)
    return {
        name: (float(best), float(median))
        for name, best, median in re.findall(r"figure (\S+) (\S+) (\S+)", log)
    }


def calibrate_program(interpreter: str) -> float:
    python = Path(support.environment("python-null", interpreter)) / "bin/python3"
    command = [python, "-I", HERE / "driver/calibration.py"]
    answers = [subprocess.run(command, capture_output=True, text=True).stdout for _ in range(3)]
    return min(float(answer.split()[0]) for answer in answers)


def peak_kib(driver: str, interpreter: str) -> int:
    document = worker.spec(
        support.driver_folder(driver),
        support.HOST_FILE,
        support.environment(driver, interpreter),
        send={"qos": 1},
    )
    with worker.Worker(support.worker_program(), document) as process:
        process.prepare()
        process.connect()
        process.start(window_s=1.0)
        process.hear()
        return process.peak_kib()


def main(interpreters: list[str]) -> None:
    for interpreter in interpreters or support.interpreters():
        clock_best, clock_median = clock_read()
        figures = measure(interpreter)
        print(f"\n{Path(support.environment('python-null', interpreter)).parent.name}")
        print(f"one clock read: best {clock_best:.0f} ns, median {clock_median:.0f} ns")
        print(
            f"{'call':10} {'best':>7} {'median':>7}   beyond the clock  budget   in Python  ratio"
        )
        for call in ("next", "done", "received"):
            best, median = figures[call]
            plain = figures[f"python.{call}"][0]
            print(
                f"{call:10} {best:7.0f} {median:7.0f}   {best - clock_best:16.0f}  {BUDGET_NS:6.0f}"
                f"   {plain:9.0f}  {best / plain:5.2f}"
            )
        whole = sum(figures[call][0] for call in ("next", "done", "received"))
        plain = sum(figures[f"python.{call}"][0] for call in ("next", "done", "received"))
        print(
            f"all three: {whole:.0f} ns against {plain:.0f} ns in Python, ratio {whole / plain:.2f}"
        )
        embedded, program = figures["calibration"][0], calibrate_program(interpreter)
        print(
            f"a loop of plain Python: {embedded:.0f} ns a step in the worker, {program:.0f} ns under"
            f" the environment's python3, ratio {embedded / program:.2f}"
        )
        for driver in ("python-null", "python-null-nowait", "python-null-awaited"):
            print(
                f"peak memory of a worker with {driver}: {peak_kib(driver, interpreter) / 1024:.1f} MiB"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
