"""The environment tool of the Python host: one venv per interpreter build, client and lock.

    environment.py status --driver-folder DIR [RELEASE] [--interpreter PROGRAM]
    environment.py sync   --driver-folder DIR [RELEASE] [--interpreter PROGRAM] [--wheels DIR]
    environment.py list
    environment.py remove --driver-folder DIR [RELEASE]
    environment.py lock   --driver-folder DIR [--interpreter PROGRAM] [--wheels DIR]
    environment.py new    --id ID --shape SHAPE --output DIR

RELEASE is --version VERSION or --checkout DIR: another release of the client's package than the locked
one, or a working copy, which is built. Its environment is not locked, so what was resolved is in its facts.

status and sync print {"ready", "path", "reason", "facts"}, list and remove {"environments": [...]}, lock
{"packages": n}, new {"files": [...]}, as one JSON object on stdout, or {"ready": false, "reason"}; stderr
is for people. An environment is made in a folder beside its place and renamed into it when it is complete,
so that an install that breaks leaves what was there before.

Needs nothing but the standard library and runs under any Python 3.8 or later. The interpreter that it
chooses for a client needs 3.11 or later and a shared libpython.
"""

import argparse
import hashlib
import json
import os
import re
import sys

# subprocess, shutil and tempfile are imported where they are used: status, which every run waits for, does not.

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
    """A driver folder and the release that is wanted, as far as their environment is concerned."""

    def __init__(self, folder, version=None, checkout=None):
        path = os.path.join(folder, "driver.toml")
        # Two keys only, and this tool may start under a Python that has no tomllib. [driver] is first.
        found = re.findall(r'^\s*(id|package)\s*=\s*"([^"]+)"', _text(path), re.MULTILINE)
        keys = dict(reversed(found))
        if not re.fullmatch(r"[a-z0-9-]+", keys.get("id", "")):
            raise Refusal(f"'{path}' has no id")
        self.id = self.name = keys["id"]
        self.package = keys.get("package")
        self.required = os.path.join(folder, "requirements.in")
        self.lock = os.path.join(folder, "requirements.lock")
        self.lock_fault = None
        self.version = version
        self.checkout = Checkout(checkout) if checkout else None
        if version or checkout:
            self.name = f"{self.id}@{version or self.checkout.name}"
            wanted = version or self.checkout.hash
            self.lock_hash = None
            self.digest = _sha256(f"{wanted}\n{_text(self.required, '')}".encode())
        else:
            locked = _text(self.lock, "")
            self.lock_hash = self.digest = _sha256(locked.encode())
            made_from = re.match(rf"{LOCK_HEADER}([0-9a-f]{{64}})", locked)
            required = _text(self.required, "")
            if required and not locked:
                self.lock_fault = "requirements.in has no requirements.lock yet"
            elif made_from and made_from.group(1) != _sha256(required.encode()):
                self.lock_fault = "requirements.in changed since requirements.lock was made"

    def path(self, key):
        return os.path.join(root(), key, f"{self.name}-{self.digest[:12]}")

    def choice(self):
        """For the facts: what is measured instead of the locked release."""
        if self.version:
            return {"version": self.version}
        return self.checkout and {"git": self.checkout.described(), "sha256": self.checkout.hash}

    def others(self):
        """Lines of requirements.in beside that of the package, and the extras of the package."""
        lines, extras = [], ""
        for line in _text(self.required, "").splitlines():
            name = re.match(r"\s*([A-Za-z0-9._-]+)\s*(\[[^]]*\])?", line)
            if name and _same_name(name.group(1), self.package):
                extras = name.group(2) or ""
            else:
                lines.append(line)
        return lines, extras


LOCK_HEADER = "# Made by `mqcore envs lock` from requirements.in sha256:"


class Checkout:
    """A working copy of a library. Its content alone says which environment is its."""

    # Of a folder without git: what building, testing and installing leave there.
    PASSED_OVER = (".git", ".hg", ".tox", ".nox", ".venv", "venv", "build", "dist")

    def __init__(self, folder):
        self.folder = os.path.realpath(folder)
        self.name = re.sub(r"[^A-Za-z0-9._-]", "-", os.path.basename(self.folder))
        if not any(
            os.path.exists(os.path.join(self.folder, name)) for name in ("pyproject.toml", "setup.py")
        ):
            raise Refusal(f"'{folder}' is no Python project: no pyproject.toml and no setup.py in it")
        self.files = sorted(self._tracked() or self._found())
        content = hashlib.sha256()
        for file in self.files:
            path = os.path.join(self.folder, file)
            if os.path.islink(path):
                data = os.readlink(path).encode()
            else:
                with open(path, "rb") as opened:
                    data = opened.read()
            content.update(f"{file}\n{os.lstat(path).st_mode}\n{len(data)}\n".encode() + data)
        self.hash = content.hexdigest()

    def _git(self, *arguments):
        """Nothing: this is no work tree of git's, or git is not here."""
        if not _which("git"):
            return ""
        answer = _ask(["git", "-C", self.folder, *arguments])
        return answer.stdout if answer.returncode == 0 else ""

    def _tracked(self):
        # Something must be tracked: the folder may lie, ignored, in the work tree of something else.
        if not self._git("ls-files"):
            return []
        names = self._git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
        files = []
        for name in filter(None, names):
            path = os.path.join(self.folder, name)
            if os.path.isdir(path) and not os.path.islink(path):  # a submodule
                files += self._found(name)
            elif os.path.lexists(path):  # else deleted
                files.append(name)
        return files

    def _found(self, start=""):
        files = []
        for folder, below, names in os.walk(os.path.join(self.folder, start)):
            is_top = folder == self.folder
            below[:] = [
                name
                for name in below
                if name != "__pycache__" and not (is_top and name in self.PASSED_OVER)
            ]
            links = [name for name in below if os.path.islink(os.path.join(folder, name))]
            for name in names + links:
                if not name.endswith(".pyc"):
                    files.append(os.path.relpath(os.path.join(folder, name), self.folder))
        return files

    def described(self):
        return self.files and self._git("describe", "--always", "--dirty").strip() or None

    def copy_to(self, folder):
        """Building leaves files behind, and nobody's working copy is the place for them."""
        import shutil

        for file in self.files:
            copy = os.path.join(folder, file)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy2(os.path.join(self.folder, file), copy, follow_symlinks=False)
        history = os.path.join(self.folder, ".git")
        if os.path.isdir(history):  # some builds ask git for the version
            os.symlink(history, os.path.join(folder, ".git"))


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
    if client.lock_fault:
        return {
            "ready": False,
            "path": "",
            "reason": f"{client.lock_fault}: run 'mqcore envs lock --clients {client.id}'",
            "facts": {},
        }
    facts = facts_of(path)
    if facts is None:
        return {
            "ready": False,
            "path": path,
            "reason": f"no environment of '{client.name}' for {key}",
            "facts": {},
        }
    if not os.path.exists(os.path.join(path, "bin", "python3")):
        return {
            "ready": False,
            "path": path,
            "reason": f"the interpreter of {key} is gone",
            "facts": {},
        }
    # What git says of a checkout may have changed, while its content has not.
    return {
        "ready": True,
        "path": path,
        "reason": "",
        "facts": {**facts, "instead_of_lock": client.choice()},
    }


# ---- making one ----


def sync(client, found, wheels):
    key = build_key(found["build"], found["prefix"], found["version_info"])
    now = status(client, key)
    if now["ready"] or client.lock_fault:
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
    install = _installer(found, python) + _offline(wheels)
    if client.choice():
        _install_release(client, install, folder)
    elif os.path.exists(client.lock):
        _run([*install, "--require-hashes", "-r", client.lock])
    packages = _packages(python)
    version = ".".join(map(str, found["version_info"]))
    library = next(
        (packages[name] for name in packages if _same_name(name, client.package)), "none"
    )
    if client.choice() and library == "none":
        raise Refusal(f"'{client.name}' does not contain the package '{client.package}'")
    with open(os.path.join(folder, "pyvenv.cfg"), "a", encoding="utf-8") as file:
        # For python-host.so, which starts the interpreter without asking anybody.
        file.write(f"mqcore-libpython = {libpython_of(found)}\n")
        file.write(f"mqcore-version = {version}\nmqcore-library-version = {library}\n")
        if client.checkout:
            file.write(f"{CHECKOUT_KEY}{client.checkout.folder}\n")
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


def _install_release(client, install, folder):
    """The chosen release, and what else the client requires as it resolves today."""
    lines, extras = client.others()
    others = os.path.join(folder, "requirements.txt")
    with open(others, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    if client.version:
        _run([*install, "-r", others, f"{client.package}{extras}=={client.version}"])
        return
    copy = os.path.join(folder, "checkout", client.checkout.name)
    client.checkout.copy_to(copy)
    _run([*install, "-r", others, f"{copy}{extras}"])
    _delete(os.path.dirname(copy))


CHECKOUT_KEY = "mqcore-checkout = "  # in pyvenv.cfg, which no result repeats


def _offline(wheels):
    return ["--no-index", "--find-links", os.path.abspath(wheels)] if wheels else []


def _installer(found, python):
    """uv when it is there; else pip."""
    uv = _which("uv")
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", python, "--compile-bytecode"]
    return [*_pip(found, "--python", python), "install", "--quiet", "--no-input"]


def _pip(found, *options):
    """The interpreter's own, else the one that ensurepip carries."""
    base = found["executable"]
    options = [*options, "--disable-pip-version-check"]
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
    step = "making the venv" if "venv" in command else "installing the packages"
    answer = _checked(step, command)
    sys.stderr.write(answer.stdout)
    sys.stderr.write(answer.stderr)


def _checked(step, command):
    answer = _ask(command)
    if answer.returncode != 0:
        sys.stderr.write(answer.stdout)
        sys.stderr.write(answer.stderr)
        reason = _last_error(answer.stderr) or f"exit code {answer.returncode}"
        raise Refusal(f"{step} failed: {reason}")
    return answer


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


def _last_error(text):
    """pip ends with hints and notes, its reason stands before them; uv ends with the first cause."""
    errors = re.findall(r"^\s*(?:ERROR|cause): (.*\S)", text, re.MULTILINE)
    return errors[-1] if errors else _last_line(text)


def _text(path, fallback=None):
    """Of a file; without a fallback it must be there."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        if fallback is not None and isinstance(error, FileNotFoundError):
            return fallback
        raise Refusal(f"'{path}': {error.strerror}") from error


def _sha256(data):
    return hashlib.sha256(data).hexdigest()


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
    gone = [each for each in environments() if _is_of(each, client)]
    for each in gone:
        _delete(each["path"])
    return gone


def _is_of(each, client):
    """Of a checkout, also what was made from it before it was edited."""
    if client.checkout:
        config = _text(os.path.join(each["path"], "pyvenv.cfg"), "")
        return f"{CHECKOUT_KEY}{client.checkout.folder}\n" in config
    if client.version:
        return each["client"] == client.name
    return each["client"].partition("@")[0] == client.id


# ---- a driver folder ----


def lock(client, found, wheels):
    """Every package that requirements.in leads to, with version and hashes."""
    required = _text(client.required, "")
    if not required:
        raise Refusal(f"'{client.id}' has no requirements.in, which says what to lock")
    body = (_locked_by_uv if _which("uv") else _locked_by_pip)(client, found, wheels)
    fresh = f"{client.lock}.new-{os.getpid()}"
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(f"{LOCK_HEADER}{_sha256(required.encode())}\n{body}")
    os.replace(fresh, client.lock)
    return len(re.findall(r"^[A-Za-z0-9]", body, re.MULTILINE))


def _locked_by_uv(client, found, wheels):
    """For every platform and interpreter: uv asks the registry for all hashes of a release."""
    command = ["uv", "pip", "compile", "--quiet", "--universal", "--no-header", "--no-annotate"]
    command += ["--generate-hashes", "--only-binary", ":all:", "--emit-build-options"]
    command += ["--python", found["executable"], "--python-version", ".".join(map(str, OLDEST))]
    return _checked("locking", [*command, *_offline(wheels), client.required]).stdout


def _locked_by_pip(client, found, wheels):
    """For this machine and interpreter only: pip tells the hash of the file that it would install."""
    import tempfile

    with tempfile.TemporaryDirectory() as nowhere:
        command = [*_pip(found), "install", "--quiet", "--no-input", "--dry-run", "--report", "-"]
        command += ["--ignore-installed", "--target", nowhere, "--only-binary", ":all:"]
        report = _checked("locking", [*command, *_offline(wheels), "-r", client.required]).stdout
    lines = ["--only-binary :all:"]
    for each in sorted(json.loads(report)["install"], key=lambda each: each["metadata"]["name"]):
        name, version = each["metadata"]["name"], each["metadata"]["version"]
        digest = each["download_info"]["archive_info"]["hash"].partition("=")[2]
        lines.append(f"{name}=={version} \\\n    --hash=sha256:{digest}")
    return "\n".join(lines) + "\n"


# ---- command line ----


def parse(arguments):
    parser = argparse.ArgumentParser(
        description="Makes what a Python client needs besides its folder."
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    options = {
        verb: verbs.add_parser(verb)
        for verb in ("status", "sync", "list", "remove", "lock")
    }
    for verb in ("status", "sync", "remove", "lock"):
        options[verb].add_argument("--driver-folder", required=True, metavar="DIR")
    for verb in ("status", "sync", "remove"):
        release = options[verb].add_mutually_exclusive_group()
        release.add_argument("--version", help="instead of the locked release")
        release.add_argument("--checkout", metavar="DIR", help="a working copy, likewise")
    for verb in ("status", "sync", "lock"):
        options[verb].add_argument("--interpreter", metavar="PROGRAM")
    for verb in ("sync", "lock"):
        options[verb].add_argument("--wheels", metavar="DIR", help="these packages only, offline")
    return parser.parse_args(arguments)


def answer(options):
    if options.verb == "list":
        return {"environments": environments()}
    release = (options.version, options.checkout) if options.verb != "lock" else ()
    client = Client(options.driver_folder, *release)
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
    if options.verb == "lock":
        return {"packages": lock(client, found, options.wheels)}
    if options.verb == "sync":
        return sync(client, found, options.wheels)
    return status(client, build_key(found["build"], found["prefix"], found["version_info"]))


def main(arguments):
    options = parse(arguments)
    try:
        document = answer(options)
    except Refusal as reason:
        document = {"ready": False, "path": "", "reason": str(reason), "facts": {}}
    print(json.dumps(document))
    return 0 if document.get("ready", True) or options.verb == "status" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
