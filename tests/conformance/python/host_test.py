"""The host itself, by drivers that need no network: counts, endings, refusals, on every interpreter."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import support

SYNC = """
    import mqcore
    class Client:
        def __init__(self, run, source, sink):
            self.run, self.source, self.sink = run, source, sink
        def connect(self): ...
        def publish(self, message):
            self.sink.done(message.slot)
        def close(self): ...
"""
AWAITED = """
    import asyncio
    import mqcore
    class Client:
        def __init__(self, run, source, sink):
            self.run, self.source, self.sink = run, source, sink
        async def connect(self): ...
        async def publish(self, message): ...
        async def close(self): ...
"""


def with_publish(template: str, body: str) -> str:
    """The template with another publish()."""
    head, separator, tail = template.partition("message):")
    first_line, _, rest = tail.partition("\n")
    if first_line.strip() != "...":
        rest = rest.partition("\n")[2]
    lines = "\n".join(" " * 12 + line for line in body.splitlines())
    return f"{head}{separator}\n{lines}\n{rest}"


class EveryInterpreter(support.Case):
    def test_each_shape_completes_what_it_sends(self) -> None:
        for interpreter in support.interpreters():
            for driver in ("python-null", "python-null-nowait", "python-null-awaited"):
                with self.subTest(interpreter=interpreter, driver=driver):
                    venv = support.environment(driver, interpreter)
                    report = self.run_driver(
                        support.driver_folder(driver), venv, send={"limit": 10_000, "qos": 1}
                    )
                    sent = report["send"]
                    self.assertEqual((sent["sent"], sent["completed"]), (10_000, 10_000))
                    self.assertEqual((sent["failed"], sent["unfinished"]), (0, 0))
                    self.assertEqual(report["log"], "")
                    self.assertGreater(float(report["notes"]["floor.bare_ns"]), 0)

    def test_each_shape_hands_back_payloads_intact(self) -> None:
        for interpreter in support.interpreters():
            for driver in ("python-null", "python-null-nowait", "python-null-awaited"):
                with self.subTest(interpreter=interpreter, driver=driver):
                    venv = support.environment(driver, interpreter)
                    report = self.run_driver(
                        support.driver_folder(driver),
                        venv,
                        window_s=0.8,
                        send={"limit": 600, "payload_bytes": [20, 256, 70_000]},
                        receive={"payload_bytes": [20, 256, 70_000]},
                    )["receive"]
                    self.assertEqual((report["total"], report["damaged"]), (600, 0))
                    self.assertEqual((report["ledger"]["distinct"], report["stray"]), (600, 0))

    def test_the_interpreter_is_the_environments(self) -> None:
        code = SYNC.replace(
            "def connect(self): ...",
            "def connect(self):\n"
            "            import sys\n"
            "            mqcore.note('prefix', sys.prefix)\n"
            "            mqcore.note('path', repr(sys.path))\n"
            "            mqcore.note('encoding', f'{sys.stdout.encoding} {sys.getfilesystemencoding()}')\n"
            "            mqcore.note('user site', str(not sys.flags.no_user_site))",
        )
        for interpreter in support.interpreters():
            with self.subTest(interpreter=interpreter):
                venv = support.environment("python-null", interpreter)
                notes = self.run_driver(self.make_driver("sync", code), venv, send={"limit": 1})[
                    "notes"
                ]
                self.assertEqual(notes["prefix"], venv)
                self.assertIn(f"{venv}/lib/python", notes["path"])
                self.assertNotIn("''", notes["path"])
                self.assertEqual((notes["encoding"], notes["user site"]), ("utf-8 utf-8", "False"))
                self.assertIn(f"cpython-{notes['python.version']}-", venv)


class WithoutAWorker(support.Case):
    def test_a_driver_may_connect_and_be_created_again(self) -> None:
        for driver in ("python-null", "python-null-nowait", "python-null-awaited"):
            with self.subTest(driver=driver):
                command = [
                    support.BUILD / "bin/python-host-life",
                    support.HOST_FILE,
                    support.driver_folder(driver),
                    support.environment(driver),
                    "10000",
                ]
                answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
                self.assertEqual((answer.returncode, answer.stdout), (0, "10000 10000 10000\n" * 4))
                self.assertIn("already hosts", answer.stderr)


class Driving(support.Case):
    def setUp(self) -> None:
        self.venv = support.environment("python-null")

    def test_awaited_publishes_that_suspend_fill_the_window(self) -> None:
        code = with_publish(AWAITED, "await asyncio.sleep(0.002)")
        sent = self.run_driver(
            self.make_driver("awaited", code),
            self.venv,
            send={"limit": 640, "window": 64},
            window_s=1.0,
        )["send"]
        # Ten windows of 2 ms each; one coroutine alone would need 640 of them.
        self.assertEqual((sent["sent"], sent["completed"]), (640, 640))

    def test_an_awaited_tick_wakes_one_coroutine_not_the_window(self) -> None:
        code = AWAITED.replace(
            "async def close(self): ...",
            "async def close(self):\n            mqcore.log(1, f'steps {self.steps}')",
        ).replace(
            "self.run, self.source, self.sink = run, source, sink",
            "self.steps = 0\n"
            "            loops = __import__('mqcore.loops').loops\n"
            "            inner = source\n"
            "            class Counting:\n"
            "                window = source.window\n"
            "                def __getattr__(self, name): return getattr(inner, name)\n"
            "                def next(counting):\n"
            "                    self.steps += 1\n"
            "                    return inner.next()\n"
            "            original = loops.awaited\n"
            "            loops.awaited = lambda loop, source, *rest: original(loop, Counting(), *rest)",
        )
        report = self.run_driver(
            self.make_driver("awaited", code),
            self.venv,
            send={"rate": 500, "window": 64, "qos": 1},
            window_s=1.0,
        )
        steps = int(report["log"].split("steps ")[1].split()[0])
        self.assertGreater(report["send"]["completed"], 450)
        # A message costs its own next(), the WAIT after it and one turn passed in vain; 65 park at the
        # start. If all slept until wake_ns, 500 ticks would be 32,500 steps.
        self.assertLess(steps, 2_200)

    def test_awaited_publishes_that_never_end_do_not_hold_the_stop(self) -> None:
        code = with_publish(AWAITED, "await asyncio.Event().wait()")
        report = self.run_driver(self.make_driver("awaited", code), self.venv, send={"window": 8})
        self.assertEqual((report["send"]["sent"], report["send"]["unfinished"]), (8, 8))

    def test_a_nowait_completion_ends_a_full_window(self) -> None:
        code = AWAITED.replace("async def publish", "def publish")
        code = with_publish(
            code, "asyncio.get_running_loop().call_later(.001, self.sink.done, message.slot)"
        )
        sent = self.run_driver(
            self.make_driver("nowait", code),
            self.venv,
            send={"limit": 400, "window": 4},
            window_s=2.0,
        )["send"]
        self.assertEqual((sent["sent"], sent["completed"], sent["unfinished"]), (400, 400, 0))

    def test_a_message_that_is_put_back_is_handed_out_again(self) -> None:
        code = AWAITED.replace("async def publish", "def publish")
        body = (
            "self.tries = getattr(self, 'tries', 0) + 1\n"
            "if self.tries % 3: self.source.put_back(message)\n"
            "else: self.sink.done(message.slot)"
        )
        report = self.run_driver(
            self.make_driver("nowait", with_publish(code, body)), self.venv, send={"limit": 300}
        )
        self.assertEqual((report["send"]["sent"], report["send"]["completed"]), (300, 300))

    def test_a_library_that_stays_full_does_not_outlive_the_run(self) -> None:
        code = AWAITED.replace("async def publish", "def publish")
        sent = self.run_driver(
            self.make_driver("nowait", with_publish(code, "self.source.put_back(message)")),
            self.venv,
            send={"window": 8},
        )["send"]
        self.assertEqual((sent["sent"], sent["completed"], sent["unfinished"]), (8, 0, 8))

    def test_messages_that_wait_for_a_full_library_keep_their_order(self) -> None:
        code = AWAITED.replace("async def publish", "def publish")
        body = (  # full for 50 ms: long enough to be handed several messages meanwhile
            "import time\n"
            "self.full_until = getattr(self, 'full_until', time.monotonic() + .05)\n"
            "self.seen = getattr(self, 'seen', [])\n"
            "if time.monotonic() < self.full_until: self.source.put_back(message)\n"
            "else:\n"
            "    self.seen.append(int.from_bytes(message.payload[8:16], 'little'))\n"
            "    self.sink.done(message.slot)\n"
            "    if len(self.seen) == 100: print(self.seen == list(range(100)))"
        )
        report = self.run_driver(
            self.make_driver("nowait", with_publish(code, body)), self.venv, send={"limit": 100}
        )
        self.assertEqual(report["send"]["completed"], 100)
        self.assertEqual(report["log"], "True\n")

    def test_completions_may_come_from_another_thread(self) -> None:
        code = (
            SYNC.replace("import mqcore", "import mqcore, threading, queue")
            .replace(
                "def connect(self): ...",
                "def connect(self):\n"
                "            self.queue = queue.SimpleQueue()\n"
                "            def complete():\n"
                "                while (slot := self.queue.get()) is not None: self.sink.done(slot)\n"
                "            threading.Thread(target=complete).start()",
            )
            .replace("def close(self): ...", "def close(self):\n            self.queue.put(None)")
        )
        sent = self.run_driver(
            self.make_driver("sync", with_publish(code, "self.queue.put(message.slot)")),
            self.venv,
            send={"limit": 20_000, "qos": 1},
            window_s=2.0,
        )["send"]
        self.assertEqual((sent["sent"], sent["completed"]), (20_000, 20_000))

    def test_the_event_loop_gets_a_turn_after_64_messages(self) -> None:
        count_turns = (
            "async def connect(self):\n"
            "            self.turns = 0\n"
            "            loop = asyncio.get_running_loop()\n"
            "            def turn():\n"
            "                self.turns += 1\n"
            "                loop.call_soon(turn)\n"
            "            turn()\n"
        )
        close = "async def close(self):\n            mqcore.log(1, f'turns {self.turns}')"
        code = AWAITED.replace("async def connect(self): ...", count_turns)
        code = code.replace("async def close(self): ...", close)
        nowait = with_publish(
            code.replace("async def publish", "def publish"), "self.sink.done(message.slot)"
        )
        for shape, driver in (("awaited", code), ("nowait", nowait)):
            with self.subTest(shape=shape):
                # At capacity until the end: the loop turns only where it is given a turn.
                report = self.run_driver(
                    self.make_driver(shape, driver), self.venv, send={"window": 64}, drain_s=0.0
                )
                turns = int(report["log"].split("turns ")[1].split()[0])
                self.assertGreater(report["send"]["sent"], 10_000)
                self.assertLess(report["send"]["sent"] / turns, 70)

    def test_a_sync_library_gets_a_turn_after_64_messages(self) -> None:
        code = SYNC.replace(
            "def close(self): ...",
            "def turn(self):\n"
            "            self.turns = getattr(self, 'turns', 0) + 1\n"
            "        def close(self):\n"
            "            mqcore.log(1, f'turns {self.turns}')",
        )
        report = self.run_driver(self.make_driver("sync", code), self.venv, send={"limit": 6_400})
        self.assertIn("turns 100", report["log"])


class Endings(support.Case):
    def setUp(self) -> None:
        self.venv = support.environment("python-null")

    def fails(self, shape: str, code: str, phase: str, status: str, reason: str, **spec) -> str:
        folder = self.make_driver(shape, code)
        spec.setdefault("send", {"qos": 1})
        spec.setdefault("window_s", 5.0)
        return self.assert_fails(
            lambda: self.run_driver(folder, self.venv, **spec), phase, status, reason
        )

    def test_an_exception_ends_the_run_with_its_type_and_text(self) -> None:
        bodies = {
            "sync": SYNC,
            "nowait": AWAITED.replace("async def publish", "def publish"),
            "awaited": AWAITED,
        }
        for shape, template in bodies.items():
            with self.subTest(shape=shape):
                code = with_publish(template, "raise ValueError('no such topic')")
                log = self.fails(shape, code, "driving", "library", "ValueError: no such topic")
                self.assertIn("Traceback", log)
                code = with_publish(template, "raise ConnectionResetError('by peer')")
                self.fails(shape, code, "driving", "network", "ConnectionResetError: by peer")
                code = with_publish(
                    template, "raise mqcore.Failure(mqcore.UNSUPPORTED, 'not here')"
                )
                self.fails(shape, code, "driving", "unsupported", "not here")

    def test_a_lost_connection_ends_a_sleeping_loop(self) -> None:
        lose = "asyncio.get_running_loop().call_later(.05, mqcore.fail, mqcore.NETWORK, 'connection lost')"
        for shape, template in (
            ("nowait", AWAITED.replace("async def publish", "def publish")),
            ("awaited", AWAITED),
        ):
            with self.subTest(shape=shape):
                code = with_publish(template, lose)
                self.fails(shape, code, "driving", "network", "connection lost", send={"limit": 1})

    def test_a_failure_told_by_a_thread_wakes_a_client_that_sleeps_in_the_core(self) -> None:
        lose = (
            "import threading\n"
            "self.sink.done(message.slot)\n"
            "threading.Timer(.05, mqcore.fail, (mqcore.NETWORK, 'connection lost')).start()"
        )
        code = with_publish(SYNC, lose)
        # Nothing else would end the wait within the hour.
        self.fails(
            "sync", code, "driving", "network", "connection lost", send={"limit": 1}, window_s=3600
        )

    def test_what_a_library_drops_is_a_failure(self) -> None:
        thread = "import threading; threading.Thread(target=lambda: 1/0).start()"
        code = SYNC.replace("import mqcore", "import mqcore, threading")
        log = self.fails(
            "sync", with_publish(code, thread), "driving", "library", "ZeroDivisionError"
        )
        self.assertIn("Traceback", log)
        code = with_publish(
            AWAITED, "asyncio.get_running_loop().call_soon(lambda: 1/0)\nawait asyncio.sleep(.1)"
        )
        self.fails("awaited", code, "driving", "library", "ZeroDivisionError")
        receiver = "\n        def receivers(self):\n            async def end(): ...\n            return [end()]\n"
        self.fails("awaited", AWAITED + receiver, "driving", "library", "a receiver ended")

    def test_connecting_fails_by_its_own_reason(self) -> None:
        hang = AWAITED.replace(
            "async def connect(self): ...",
            "async def connect(self):\n"
            "            asyncio.get_running_loop().call_later(.05, mqcore.fail, mqcore.NETWORK, 'closed')\n"
            "            await asyncio.sleep(9)",
        )
        self.fails("awaited", hang, "connecting", "network", "closed")
        better = hang.replace(
            "await asyncio.sleep(9)", "await asyncio.sleep(.06); raise OSError('refused')"
        )
        self.fails("awaited", better, "connecting", "network", "OSError: refused")

    def test_leaving_after_the_drive_cannot_fail_the_run(self) -> None:
        code = AWAITED.replace(
            "async def close(self): ...",
            "async def close(self):\n            mqcore.fail(mqcore.NETWORK, 'gone')",
        )
        report = self.run_driver(self.make_driver("awaited", code), self.venv, send={"limit": 1})
        self.assertIn("while leaving: gone", report["log"])

    def test_a_missing_library_is_named(self) -> None:
        code = "import no_such_library\n"
        self.fails(
            "sync",
            code,
            "creating",
            "library",
            "ModuleNotFoundError: No module named 'no_such_library'",
        )

    def test_options_are_checked(self) -> None:
        code = 'OPTIONS = {"loop": ("external", "thread")}\n' + SYNC.replace("\n    ", "\n").strip()
        code = code.replace(
            "def connect(self): ...",
            "def connect(self): mqcore.note('loop', self.run.options['loop'])",
        )
        folder = self.make_driver("sync", code)
        for options, loop in (([], "external"), ([("loop", "thread")], "thread")):
            report = self.run_driver(folder, self.venv, send={"limit": 1}, options=options)
            self.assertEqual(report["notes"]["loop"], loop)
        for options, reason in (
            ([("lop", "thread")], "unknown option 'lop' (options: 'loop')"),
            ([("loop", "poll")], "option 'loop' is 'poll', not one of 'external', 'thread'"),
        ):
            self.fails("sync", code, "connecting", "config", reason, options=options)


class Refusals(support.Case):
    """One clear line each, before any Python ran."""

    def refused(self, venv: str, reason: str) -> None:
        folder = support.driver_folder("python-null")
        self.assert_fails(
            lambda: self.run_driver(folder, venv, send={}), "creating", "config", reason
        )

    def altered(self, key: str, value: str) -> str:
        original = Path(support.environment("python-null"))
        copy = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="mqcore-venv-"))) / "venv"
        shutil.copytree(original, copy, symlinks=True)
        lines = (copy / "pyvenv.cfg").read_text().splitlines()
        lines = [f"{key} = {value}" if line.startswith(key + " =") else line for line in lines]
        (copy / "pyvenv.cfg").write_text("\n".join(lines) + "\n")
        return str(copy)

    def test_no_environment(self) -> None:
        self.refused("", "needs its environment: run 'mqcore envs sync'")

    def test_a_venv_of_somebody_else(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.refused(folder, "was not made by mqcore: run 'mqcore envs sync'")

    def test_another_version_than_recorded(self) -> None:
        self.refused(
            self.altered("mqcore-version", "3.99.0"), "the environment was made for 3.99.0"
        )

    def test_a_libpython_that_is_gone(self) -> None:
        venv = self.altered("mqcore-libpython", "/nowhere/libpython3.so")
        self.refused(venv, "cannot open the environment's libpython: /nowhere/libpython3.so")


if __name__ == "__main__":
    unittest.main()
