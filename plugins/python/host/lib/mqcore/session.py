"""The life of one client: what the functions of driver.h mean in Python. Called by the extension, on
the main thread. Every method returns its status; what a callback reported, the extension adds."""

from __future__ import annotations

import sys

import _mqcore
from mqcore import CONNECT_TIMEOUT_S, Failure, Run, loops

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any

    from _mqcore import Sink, Source

_STEPS = ("create", "connect", "drive", "disconnect", "destroy")  # the core names these itself
_current: Session | None = None


def fail(status: int, text: str) -> None:
    """From a callback of the library: the run ends."""
    if _current is None:
        _mqcore.fail(status, text)
    else:
        _current.fail(status, text)


def fail_by(error: BaseException, where: str) -> int:
    """One line for the run's reason, the traceback for its log."""
    if isinstance(error, Failure):
        status, text = error.status, str(error)
    else:
        # ssl.SSLError and ConnectionError are OSError; TimeoutError is too, from 3.11 on in asyncio.
        status = _mqcore.NETWORK if isinstance(error, OSError) else _mqcore.LIBRARY
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        sys.excepthook(type(error), error, error.__traceback__)
    if where in _STEPS:
        _mqcore.fail(status, text)
    else:
        fail(status, f"{where}: {text}")
    return status


def _with_status(method: Callable[..., None]) -> Callable[..., int]:
    def guarded(self: Session, *arguments: object) -> int:
        try:
            method(self, *arguments)
        except BaseException as error:  # SystemExit included: nothing may cross the ABI
            return fail_by(error, method.__name__)
        return _mqcore.OK

    return guarded


class Session:
    def __init__(self, driver_folder: str, shape: str) -> None:
        self._folder = driver_folder
        self._shape = shape
        self._module: Any = None
        self._client: Any = None
        self._has_loop = shape != "sync"
        self._loop: asyncio.AbstractEventLoop
        self._interrupted: asyncio.Future[None]  # resolved to end connect() or the drive early
        self._receivers: list[asyncio.Task[None]] = []
        self._phase = ""
        self._early_failure: Failure | None = None

    @_with_status
    def create(self) -> None:
        global _current
        _current = self
        sys.unraisablehook = self._on_unraisable
        if self._has_loop:
            import asyncio

            self._loop = asyncio.new_event_loop()
            self._loop.set_exception_handler(self._on_loop_error)
            self._interrupted = self._loop.create_future()
        self._module = _load(f"{self._folder}/driver.py")
        threading: Any = sys.modules.get("threading")
        if threading is not None:  # the library did not import it: then it starts no such thread
            threading.excepthook = self._on_thread_error
        flush()

    @_with_status
    def connect(self, fields: dict[str, Any], source: Source, sink: Sink) -> None:
        self._phase, self._early_failure = "connecting", None
        run = Run(fields)
        run.options = complete_options(getattr(self._module, "OPTIONS", {}), run.options)
        self._source, self._sink = source, sink
        if self._has_loop:
            self._loop.run_until_complete(self._connect(run))
        else:
            self._client = self._module.Client(run, source, sink)
            self._client.connect()
        if self._early_failure is not None:
            raise self._early_failure
        self._phase = "connected"

    async def _connect(self, run: Run) -> None:
        from asyncio import FIRST_COMPLETED, wait

        # Made while the loop runs: some libraries take the running loop in their constructor.
        self._client = client = self._module.Client(run, self._source, self._sink)
        self._interrupted = self._loop.create_future()
        task = self._loop.create_task(client.connect())
        await wait(
            (task, self._interrupted), timeout=CONNECT_TIMEOUT_S, return_when=FIRST_COMPLETED
        )
        if not task.done() and self._interrupted.done():
            await wait((task,), timeout=0.1)  # its own reason, if it has one, says more
        if not task.done():
            task.cancel()
            await wait((task,), timeout=1.0)
            raise self._early_failure or Failure(
                _mqcore.NETWORK, f"not connected and subscribed within {CONNECT_TIMEOUT_S:.0f} s"
            )
        task.result()
        if hasattr(client, "receivers"):
            for coroutine in client.receivers():
                receiver = self._loop.create_task(coroutine)
                receiver.add_done_callback(self._on_receiver_end)
                self._receivers.append(receiver)

    @_with_status
    def drive(self) -> None:
        self._phase = "driving"
        client, source = self._client, self._source
        if self._shape == "sync":
            wait = getattr(client, "wait", source.wait)
            loops.sync(source, client.publish, wait, getattr(client, "turn", _nothing))
        elif self._shape == "nowait":
            self._run(loops.nowait(self._loop, source, client.publish, self._interrupted))
        else:
            self._run(
                loops.awaited(self._loop, source, self._sink, client.publish, self._interrupted)
            )

    def _run(self, coroutine: Any) -> None:
        self._loop.run_until_complete(coroutine)
        self._interrupted = self._loop.create_future()

    @_with_status
    def disconnect(self) -> None:
        self._phase = "leaving"
        client, self._client = self._client, None
        try:
            if client is None:
                pass
            elif self._has_loop:
                self._loop.run_until_complete(self._close(client))
            else:
                client.close()
        finally:
            flush()

    async def _close(self, client: Any) -> None:
        from asyncio import timeout

        for task in self._receivers:
            task.remove_done_callback(self._on_receiver_end)
            task.cancel()
        self._receivers.clear()
        async with timeout(CONNECT_TIMEOUT_S):
            await client.close()

    @_with_status
    def destroy(self) -> None:
        global _current
        if _current is self:
            _current = None
        if self._has_loop:
            self._loop.close()
        flush()

    def fail(self, status: int, text: str) -> None:
        """From any thread. What breaks while leaving was not measured, so it is only logged. What breaks
        while connecting waits for the reason that connect() itself may still give."""
        if self._phase == "leaving":
            _mqcore.log(_mqcore.LOG_WARNING, f"while leaving: {text}")
            return
        if self._phase == "connecting":
            self._early_failure = self._early_failure or Failure(status, text)
        else:
            _mqcore.fail(status, text)
        if self._has_loop:
            self._loop.call_soon_threadsafe(_resolve, self._interrupted)

    # What a library or an adapter lets fall on the floor is a failure of the run, not a log line.

    def _on_receiver_end(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        if error := task.exception():
            fail_by(error, "receive")
        else:
            fail(_mqcore.LIBRARY, "receive: a receiver ended before the connection did")

    def _on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None:
            fail_by(error, "event loop")
        else:
            fail(_mqcore.LIBRARY, f"event loop: {context.get('message')}")

    def _on_thread_error(self, arguments: Any) -> None:
        fail_by(arguments.exc_value, f"thread {arguments.thread.name if arguments.thread else '?'}")

    def _on_unraisable(self, unraisable: Any) -> None:
        if unraisable.exc_value is not None:
            fail_by(unraisable.exc_value, unraisable.err_msg or "callback")


def complete_options(known: dict[str, tuple[str, ...]], given: dict[str, str]) -> dict[str, str]:
    """Every option of the client with a value; refuses what the client does not know."""
    for key, value in given.items():
        if key not in known:
            names = ", ".join(f"'{name}'" for name in known) or "none"
            raise Failure(_mqcore.CONFIG, f"unknown option '{key}' (options: {names})")
        if value not in known[key]:
            values = ", ".join(f"'{name}'" for name in known[key])
            raise Failure(_mqcore.CONFIG, f"option '{key}' is '{value}', not one of {values}")
    return {key: given.get(key, values[0]) for key, values in known.items()}


def flush() -> None:
    """The process ends without finalising, so nothing else does it."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _load(path: str) -> Any:
    module = type(sys)("mqcore_driver")  # without importlib.util, which would cost half a megabyte
    module.__file__ = path
    sys.modules[module.__name__] = module
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
    return module


def _nothing() -> None:
    pass


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
