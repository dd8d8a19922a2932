"""A loop of plain Python: the same text runs in the worker and under the environment's own python3, which
tells whether an embedded interpreter is slower than a program's."""

import time

STEPS = 20_000


class Thing:
    def __init__(self):
        self.total = 0

    def add(self, value):
        self.total += value
        return self.total


def calibrate():
    """Best and median ns of a step, over short rounds."""
    rounds = []
    for _ in range(40):
        begin = time.perf_counter_ns()
        thing, table = Thing(), {}
        for step in range(STEPS):
            table[step & 255] = (thing.add(step), bytes(64))
        rounds.append((time.perf_counter_ns() - begin) / STEPS)
    rounds.sort()
    return rounds[0], rounds[len(rounds) // 2]


if __name__ == "__main__":
    print(*calibrate())
