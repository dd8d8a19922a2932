"""The environment tool of the Python host: one venv per interpreter build, client and lock.

    environment.py status --driver-folder DIR [--interpreter PROGRAM]
    environment.py sync   --driver-folder DIR [--interpreter PROGRAM] [--wheels DIR]
    environment.py list
    environment.py remove --driver-folder DIR

status and sync print {"ready", "path", "reason", "facts"}, list and remove {"environments": [...]}, as
one JSON object on stdout; stderr is for people. An environment is made in a folder beside its place and
renamed into it when it is complete, so that an install that breaks leaves what was there before.

Needs nothing but the standard library and runs under any Python 3.8 or later. The interpreter that it
chooses for a client needs 3.11 or later and a shared libpython.
"""

import argparse
import hashlib
import json
import os
import re
import sys

# subprocess and shutil are imported where they are used: status, which every run waits for, does not.

OLDEST = (3, 11)  # the limited API that mqcore's extension is compiled against
FACTS_FILE = "mqcore.json"  # in the venv; written last: its presence says the venv is complete


class Refusal(Exception):
    """One line for the person who asked."""


# ---- which interpreter ----


def chosen_interpreter(asked):
    """A suitable interpreter's path: the one asked for, $MQCORE_PYTHON, or the first on PATH."""
    asked = asked or os.environ.get("MQCORE_PYTHON")
    newer = [f"python3.{minor}" for minor in range(15, OLDEST[1] - 1, -1)]
    reasons = []
    for program in _named(asked) if asked else _on_path(["python3", *newer]):
        reason = refusal(probe(program))
        if reason is None:
            return program
        reasons.append(reason if asked else f"{os.path.basename(program)} {reason}")
    if asked and not reasons:
        raise Refusal(
            f"no interpreter '{asked}': give a path, a program on PATH or a version such as 3.12"
        )
    if asked:
        raise Refusal(f"'{asked}' {reasons[-1]}")
    raise Refusal("no suitable Python on PATH" + (f": {'; '.join(reasons)}" if reasons else ""))


def _named(asked):
    """A program, or a version such as 3.12: on PATH, then where pyenv and uv keep theirs."""
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?", asked):
        program = _which(asked)
        return [program] if program else []
    programs = _on_path(["python" + asked])
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    for name in sorted(_names(os.path.join(pyenv, "versions")), reverse=True):
        if name == asked or name.startswith(asked + "."):
            programs.append(os.path.join(pyenv, "versions", name, "bin", "python3"))
    if _which("uv"):
        found = _ask(["uv", "python", "find", asked])
        programs += [found.stdout.strip()] if found.returncode == 0 else []
    return programs


def _on_path(names):
    """Each name in each folder of PATH, each file once."""
    programs, seen = [], set()
    for name in names:
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
            program = os.path.join(folder, name)
            real = os.path.realpath(program)
            if real not in seen and os.access(program, os.X_OK) and os.path.isfile(program):
                seen.add(real)
                programs.append(program)
    return programs


# Runs in the interpreter that is looked at, which may be any Python.
_PROBE = """
import json, sys, sysconfig
v = sysconfig.get_config_var
arguments = v("CONFIG_ARGS") or ""
gil = getattr(sys, "_is_gil_enabled", lambda: True)
jit = getattr(sys, "_jit", None)
print(json.dumps({
    "implementation": sys.implementation.name,
    "version_info": list(sys.version_info[:3]),
    "build": sys.version,
    "executable": getattr(sys, "_base_executable", None) or sys.executable,
    "prefix": sys.base_prefix,
    "shared": bool(v("Py_ENABLE_SHARED")),
    "folders": [v("LIBDIR"), sys.base_prefix + "/lib", v("LIBPL")],
    "multiarch": v("MULTIARCH"),
    "library": v("INSTSONAME"),
    "debug": bool(v("Py_DEBUG")),
    "free_threaded": bool(v("Py_GIL_DISABLED")),
    "gil": bool(gil()),
    "jit": ("enabled" if jit.is_enabled() else "off") if jit and jit.is_available()
           else "built" if "experimental-jit" in arguments else "none",
    "optimised": "--enable-optimizations" in arguments,
    "lto": "--with-lto" in arguments,
    "executable_contains_interpreter": "libpython" not in open("/proc/self/maps").read(),
}))
"""
FLAGS = ("gil", "jit", "debug", "optimised", "lto", "executable_contains_interpreter")
_probed = {}


def probe(program):
    """What an interpreter says of itself; {"error": text} when it does not start."""
    if program not in _probed:
        try:
            answer = _ask([program, "-I", "-S", "-c", _PROBE])
            if answer.returncode == 0:
                found = json.loads(answer.stdout)
            else:
                found = {"error": _last_line(answer.stderr) or f"exit code {answer.returncode}"}
        except (OSError, ValueError) as error:
            found = {"error": str(error)}
        _probed[program] = found
    return _probed[program]


def refusal(found):
    """Why this interpreter cannot host clients; None when it can."""
    if "error" in found:
        return f"does not start ({found['error']})"
    version = ".".join(map(str, found["version_info"]))
    if found["implementation"] != "cpython":
        return f"is {found['implementation']}, not CPython"
    if tuple(found["version_info"][:2]) < OLDEST:
        return f"is {version}, older than {OLDEST[0]}.{OLDEST[1]}"
    if found["free_threaded"]:
        return f"is a free-threaded {version}: it has no stable ABI"
    if libpython_of(found) is None:
        return f"is {version} without a shared libpython"
    return None


def libpython_of(found):
    if not found["shared"] or not found["library"]:
        return None
    for folder in filter(None, found["folders"]):
        for inside in (folder, os.path.join(folder, found["multiarch"] or "")):
            path = os.path.join(inside, found["library"])
            if os.path.exists(path):
                return path
    return None


def build_key(build, prefix, version_info):
    """Names an interpreter build: two builds of one version are two interpreters."""
    identity = hashlib.sha256(f"{build}\n{prefix}".encode()).hexdigest()[:8]
    return f"cpython-{'.'.join(map(str, version_info))}-{identity}"


def own_build_key():
    return build_key(sys.version, sys.base_prefix, sys.version_info[:3])


# ---- which environment ----


class Client:
    """A driver folder, as far as its environment is concerned."""

    def __init__(self, folder):
        path = os.path.join(folder, "driver.toml")
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise Refusal(f"'{path}': {error.strerror}") from error
        # Two keys only, and this tool may start under a Python that has no tomllib.
        keys = dict(re.findall(r'^\s*(id|package)\s*=\s*"([^"]+)"', text, re.MULTILINE))
        if not re.fullmatch(r"[a-z0-9-]+", keys.get("id", "")):
            raise Refusal(f"'{path}' has no id")
        self.id = keys["id"]
        self.package = keys.get("package")
        self.lock = os.path.join(folder, "requirements.lock")
        try:
            with open(self.lock, "rb") as file:
                self.lock_hash = hashlib.sha256(file.read()).hexdigest()
        except FileNotFoundError:
            self.lock = None  # a client without packages
            self.lock_hash = hashlib.sha256(b"").hexdigest()

    def path(self, key):
        return os.path.join(root(), key, f"{self.id}-{self.lock_hash[:12]}")


def root():
    own = os.environ.get("MQCORE_ENVIRONMENTS")
    if own:
        return os.path.abspath(own)
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(data, "mqcore", "environments")


def facts_of(path):
    """None: not there, or not complete."""
    try:
        with open(os.path.join(path, FACTS_FILE), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def status(client, key):
    path = client.path(key)
    facts = facts_of(path)
    if facts is None:
        return {
            "ready": False,
            "path": path,
            "reason": f"no environment of '{client.id}' for {key}",
            "facts": {},
        }
    if not os.path.exists(os.path.join(path, "bin", "python3")):
        return {
            "ready": False,
            "path": path,
            "reason": f"the interpreter of {key} is gone",
            "facts": {},
        }
    return {"ready": True, "path": path, "reason": "", "facts": facts}


# ---- making one ----


def sync(client, found, wheels):
    key = build_key(found["build"], found["prefix"], found["version_info"])
    now = status(client, key)
    if now["ready"]:
        return now
    path = client.path(key)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fresh = f"{path}.new-{os.getpid()}"
    try:
        build(client, found, fresh, wheels)
        _replace(path, fresh)
    finally:
        _delete(fresh)
    return status(client, key)


def build(client, found, folder, wheels):
    _run([found["executable"], "-I", "-m", "venv", "--without-pip", folder])
    python = os.path.join(folder, "bin", "python3")
    if client.lock:
        offline = ["--no-index", "--find-links", os.path.abspath(wheels)] if wheels else []
        _run(_installer(found, python) + offline + ["--require-hashes", "-r", client.lock])
    packages = _packages(python)
    version = ".".join(map(str, found["version_info"]))
    library = next(
        (packages[name] for name in packages if _same_name(name, client.package)), "none"
    )
    with open(os.path.join(folder, "pyvenv.cfg"), "a", encoding="utf-8") as file:
        # For python-host.so, which starts the interpreter without asking anybody.
        file.write(f"mqcore-libpython = {libpython_of(found)}\n")
        file.write(f"mqcore-version = {version}\nmqcore-library-version = {library}\n")
    facts = {
        "interpreter": {
            "implementation": "CPython",
            "version": version,
            "build": found["build"].partition("[")[0].strip(),
            "compiler": found["build"].partition("[")[2].rstrip("]"),
            "flags": {name: found[name] for name in FLAGS},
        },
        "packages": packages,
        "lock": client.lock_hash,
    }
    with open(os.path.join(folder, FACTS_FILE), "w", encoding="utf-8") as file:
        json.dump(facts, file, indent=1)


def _installer(found, python):
    """uv when it is there; else the interpreter's own pip, else the one that ensurepip carries."""
    uv = _which("uv")
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", python, "--compile-bytecode"]
    options = [
        "--python",
        python,
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
    ]
    base = found["executable"]
    if _ask([base, "-I", "-m", "pip", "--version"]).returncode == 0:
        return [base, "-I", "-m", "pip", *options]
    wheel = _ask([base, "-I", "-c", _BUNDLED_PIP]).stdout.strip()
    if not os.path.exists(wheel):
        raise Refusal("nothing can install packages: install uv, or pip for the chosen Python")
    return [base, "-I", os.path.join(wheel, "pip"), *options]


_BUNDLED_PIP = """
import ensurepip, glob, sysconfig
folders = [ensurepip.__path__[0] + "/_bundled", sysconfig.get_config_var("WHEEL_PKG_DIR") or ""]
print(*sorted(w for folder in folders if folder for w in glob.glob(folder + "/pip-*.whl"))[-1:])
"""


def _packages(python):
    listing = (
        "import importlib.metadata as m, json;"
        "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))"
    )
    answer = _ask([python, "-I", "-c", listing])
    if answer.returncode != 0:
        raise Refusal(f"the new environment does not start: {_last_line(answer.stderr)}")
    return dict(sorted(json.loads(answer.stdout).items()))


def _same_name(one, other):
    """Of packages, which are spelt with any of - _ . and in any case."""
    return other and re.sub(r"[-_.]+", "-", one).lower() == re.sub(r"[-_.]+", "-", other).lower()


def _run(command):
    answer = _ask(command)
    sys.stderr.write(answer.stdout)
    sys.stderr.write(answer.stderr)
    if answer.returncode != 0:
        step = "making the venv" if "venv" in command else "installing the locked packages"
        raise Refusal(
            f"{step} failed: {_last_line(answer.stderr) or f'exit code {answer.returncode}'}"
        )


def _replace(path, fresh):
    """Another sync may have been faster; whoever comes second drops its own."""
    try:
        os.rename(fresh, path)
    except OSError:
        if facts_of(path) is not None and os.path.exists(os.path.join(path, "bin", "python3")):
            return
        broken = f"{path}.old-{os.getpid()}"
        os.rename(path, broken)
        os.rename(fresh, path)
        _delete(broken)


def _ask(command):
    """A finished process with its output as text."""
    import subprocess

    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def _which(program):
    import shutil

    return shutil.which(program)


def _delete(folder):
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


# ---- all of them ----


def environments():
    found = []
    for key in sorted(_names(root())):
        for name in sorted(_names(os.path.join(root(), key))):
            path = os.path.join(root(), key, name)
            client, _, lock = name.rpartition("-")
            if re.fullmatch(r"[0-9a-f]{12}", lock):
                facts = facts_of(path)
                found.append(
                    {
                        "client": client,
                        "build": key,
                        "path": path,
                        "ready": facts is not None,
                        "facts": facts or {},
                    }
                )
    return found


def _names(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


def remove(client):
    gone = [each for each in environments() if each["client"] == client.id]
    for each in gone:
        _delete(each["path"])
    return gone


# ---- command line ----


def parse(arguments):
    parser = argparse.ArgumentParser(
        description="Makes what a Python client needs besides its folder."
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("status", "sync", "list", "remove"):
        options = verbs.add_parser(verb)
        if verb != "list":
            options.add_argument("--driver-folder", required=True, metavar="DIR")
        if verb in ("status", "sync"):
            options.add_argument("--interpreter", metavar="PROGRAM")
        if verb == "sync":
            options.add_argument(
                "--wheels", metavar="DIR", help="install offline, from these wheels only"
            )
    return parser.parse_args(arguments)


def answer(options):
    if options.verb == "list":
        return {"environments": environments()}
    client = Client(options.driver_folder)
    if options.verb == "remove":
        return {"environments": remove(client)}
    asked = options.interpreter or os.environ.get("MQCORE_PYTHON")
    if options.verb == "status" and not asked:
        # The interpreter that PATH names runs this: no other process is needed to look.
        here = status(client, own_build_key())
        if here["ready"]:
            return here
    program = chosen_interpreter(asked)
    found = probe(program)
    if options.verb == "sync":
        return sync(client, found, options.wheels)
    return status(client, build_key(found["build"], found["prefix"], found["version_info"]))


def main(arguments):
    options = parse(arguments)
    try:
        document = answer(options)
    except Refusal as reason:
        print(f"environment.py: {reason}", file=sys.stderr)
        document = {"ready": False, "path": "", "reason": str(reason), "facts": {}}
    print(json.dumps(document))
    return 0 if document.get("ready", True) or options.verb == "status" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
