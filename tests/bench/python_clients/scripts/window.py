"""What every script here needs: where to connect, what to send, completions within a window."""

import json
import sys
import time

PAYLOAD = bytes(256)
IN_FLIGHT = 64
PORT = int(sys.argv[1])


class Window:
    def __init__(self) -> None:
        self.begin = time.monotonic() + float(sys.argv[2])
        self.end = self.begin + float(sys.argv[3])
        self.completed = self.failed = 0
        print("started", flush=True)

    def count(self, is_ok: bool) -> bool:
        """False once the window is over."""
        now = time.monotonic()
        if not is_ok:
            self.failed += 1
        elif self.begin <= now < self.end:
            self.completed += 1
        return now < self.end

    def report(self) -> None:
        print(json.dumps({"completed": self.completed, "failed": self.failed}), flush=True)
