"""An installation that was moved and cannot be written to: it measures, explains itself, and drivers build
against it and against the build tree alike."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["MQCORE_TEST_BUILD"])
CMAKE = os.environ["MQCORE_CMAKE"]
NOBODY = 65534


def contents(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.lstat().st_mtime_ns for p in folder.rglob("*")}


class InstallTest(unittest.TestCase):
    """One installation for all tests, in a folder that it was not installed to."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.scratch = Path(tempfile.mkdtemp(prefix="mqcore-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.scratch.chmod(0o755)
        installed = cls.scratch / "installed"
        done = subprocess.run([CMAKE, "--install", BUILD, "--prefix", installed, "--strip"],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        cls.prefix = cls.scratch / "else where" / "mqcore"  # a space, as in some homes
        cls.prefix.parent.mkdir()
        installed.rename(cls.prefix)
        cls.program = cls.prefix / "bin" / "mqcore"
        cls.home = cls.scratch / "home"
        cls.home.mkdir()
        if os.getuid() == 0:
            os.chown(cls.home, NOBODY, NOBODY)

    def as_user(self, *words: str, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        """The installed mqcore, called by somebody who may not write into the installation."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), **variables}
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        return subprocess.run([self.program, *words], cwd=self.home, env=environment, input=stdin,
                              capture_output=True, text=True, timeout=300, **user)

    def good(self, *words: str, **options: str) -> str:
        done = self.as_user(*words, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


class Measuring(InstallTest):
    def test_a_point_is_measured_and_nothing_is_written_into_the_installation(self) -> None:
        clients = json.loads(self.good("clients", "--json"))
        native = [c["id"] for c in clients if c["ready"] and not c["floor"] and c["version"]]
        self.assertNotEqual(native, [])
        before = contents(self.prefix)
        done = self.as_user("run", "core.toml", "--profile", "smoke", "--points", "pub_qos1_fixed",
                            "--clients", native[0], "--output", "campaign")
        self.assertIn(done.returncode, (0, 1), done.stderr)  # 1: a starved machine spoilt the run
        runs = json.loads((self.home / "campaign" / f"{native[0]}.json").read_text())["runs"]
        self.assertEqual(len(runs), 1)
        self.assertIsNone(runs[0]["failure"])
        self.assertGreater(runs[0]["client"]["report"]["send"]["completed"], 0)
        self.assertGreater(runs[0]["peer"]["report"]["receive"]["total"], 0)
        self.assertEqual(contents(self.prefix), before)

    def test_what_comes_with_it_is_found(self) -> None:
        for name in ("core.toml", "scenarios/v5.toml"):
            self.assertIn("no errors", self.good("validate", name))
        wrong = self.as_user("validate", "nowhere.toml")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("nowhere.toml", wrong.stderr)
        languages = json.loads(self.good("envs", "list"))
        self.assertEqual(languages["environments"], [])
        if (BUILD / "share" / "mqcore" / "report" / "index.html").exists():
            self.good("report", str(SOURCE / "results" / "2026-11-30-core-smoke"), "--output", "site")
            self.assertTrue((self.home / "site" / "index.html").exists())
        for schema in ("results", "scenario"):
            file = self.prefix / "share" / "mqcore" / "schema" / f"{schema}.schema.json"
            self.assertIn("$schema", json.loads(file.read_text()))


class Papers(InstallTest):
    """What an installation says of itself comes from the commands that it has."""

    def commands(self) -> list[str]:
        words = self.good("completions", "--words").splitlines()
        return [word.split("\t")[0] for word in words]

    def offered(self, line: str) -> list[str]:
        lines = self.good("completions", "--words", stdin=line.replace(" ", "\n") + "\n").splitlines()
        return [word.split("\t")[0] for word in lines]

    def test_every_option_that_has_words_offers_them(self) -> None:
        campaign = SOURCE / "results" / "2026-11-30-core-smoke"
        free = {"N", "PERCENT", "REASON", "URL"}  # numbers and texts that nobody could guess
        page, asked = self.good("manual").replace(r"\-", "-"), 0
        for section in page.split('.SS "')[1:]:
            command = section.split('"')[0].removeprefix("mqcore ")
            # What follows may depend on the positionals before it.
            begun = {"show": f"show {campaign}", "compare": f"compare {campaign}",
                     "run": "run core.toml", "list": "list core.toml"}.get(command, command)
            for option, kind in re.findall(r"^\\fB(--[a-z-]+)\\fR \\fI(.*)\\fR$", section, re.MULTILINE):
                asked += 1
                words = [word for word in self.offered(f"{begun} {option} ") if word != ":list"]
                (self.assertEqual if kind in free else self.assertNotEqual)(words, [], f"{command} {option}")
        self.assertGreater(asked, 40)

    def test_every_command_has_its_place(self) -> None:
        helped = re.findall(r"^  ([a-z-]+)  ", self.good("--help").split("Subcommands:")[1], re.MULTILINE)
        self.assertGreater(len(helped), 12)
        self.assertEqual(self.commands(), helped)
        page = self.good("manual")
        documented = (SOURCE / "docs" / "commands.md").read_text()
        for command in helped:
            self.assertIn(rf'.SS "mqcore {command}'.replace("-", r"\-"), page)
            self.assertRegex(documented, rf"\| `{command}[ `]")
        options = re.findall(r"--([a-z0-9-]+)", self.good("run", "--help"))
        for option in set(options) - {"help"}:
            self.assertIn(rf"\fB\-\-{option}".replace(f"-{option}", "-" + option.replace("-", r"\-")), page)

    def test_codes_and_variables_are_those_of_the_documentation(self) -> None:
        documented = (SOURCE / "docs" / "commands.md").read_text()
        page = self.good("manual").replace(r"\-", "-")
        codes = documented.split("## Exit codes")[1].split("\n## ")[0]
        self.assertEqual(re.findall(r"^\.TP\n\\fB(\d+)\\fR$", page, re.MULTILINE),
                         re.findall(r"^\| (\d+) \|", codes, re.MULTILINE))
        variables = documented.split("## Environment variables")[1]
        self.assertEqual(set(re.findall(r"^\.TP\n\\fB([A-Z_]+)\\fR$", page, re.MULTILINE)),
                         set(re.findall(r"^\| `([A-Z_]+)`", variables, re.MULTILINE)) - {"MQCORE_OFFLINE"})

    def test_the_installed_files_are_what_the_program_says(self) -> None:
        share = self.prefix / "share"
        for file, words in {"man/man1/mqcore.1": ["manual"],
                            "bash-completion/completions/mqcore": ["completions", "bash"],
                            "zsh/vendor-completions/_mqcore": ["completions", "zsh"],
                            "fish/vendor_completions.d/mqcore.fish": ["completions", "fish"]}.items():
            self.assertEqual((share / file).read_text(), self.good(*words))
        self.assertEqual(self.as_user("completions").returncode, 2)
        self.assertEqual(self.as_user("completions", "tcsh").returncode, 2)

    def test_the_manual_page_is_sound(self) -> None:
        page = self.prefix / "share" / "man" / "man1" / "mqcore.1"
        checks = {"man": ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(page)],
                  "mandoc": ["mandoc", "-Tlint", "-Wwarning", str(page)]}
        found = {tool: words for tool, words in checks.items() if shutil.which(tool)}
        for tool, words in found.items():
            done = subprocess.run(words, capture_output=True, text=True)
            said = done.stderr if tool == "man" else done.stdout + done.stderr
            # One page without a date is the same page tomorrow.
            said = "".join(line for line in said.splitlines(True) if "missing date" not in line)
            self.assertEqual(said, "", tool)
        if not found:
            self.skipTest("neither man nor mandoc is here")

    def test_the_program_says_what_can_follow(self) -> None:
        offered = self.offered
        self.assertEqual(offered("ver"), ["verify"])
        self.assertEqual(offered("envs s"), ["sync"])
        self.assertEqual(offered("run --run"), ["--runs", "--runs-max"])
        self.assertEqual(offered("run --profile s"), ["smoke", "standard"])
        self.assertEqual(offered("run --profile=sm"), ["--profile=smoke"])
        self.assertEqual(offered("run core"), ["core.toml", ":files"])
        self.assertEqual(offered("run core.toml --points pub_qos1_m"), ["pub_qos1_max", ":list"])
        self.assertEqual(offered("check-driver nul"), ["null", ":files"])
        self.assertEqual(offered("run --clients null,python-null-n"), ["null,python-null-nowait", ":list"])
        self.assertEqual(offered("run --clients null,nul"), [":list"])  # it is there already
        self.assertEqual(offered("show --format csv"), ["csv", "csv-runs", "csv-series"])
        self.assertEqual(offered("explain broker_b"), ["broker_bound"])
        self.assertEqual(offered("run --quiet --out"), ["--output"])
        self.assertEqual(offered("run --output "), [":folders"])
        self.assertEqual(offered("nonsense "), [])
        self.assertIn("pub_qos1_max", offered("profile paho-c pub_qos1_m"))
        campaign = SOURCE / "results" / "2026-11-30-core-smoke"
        self.assertIn("pub_qos1_max", offered(f"show {campaign} --point pub_qos1_m"))

    def test_bash_completes(self) -> None:
        def completed(line: str) -> str:
            script = r"""
                source "$1"; PATH=$2:$PATH; compopt() { :; }
                COMP_LINE=$3 COMP_POINT=${#3}; _mqcore mqcore; echo "${COMPREPLY[*]}" """
            done = subprocess.run(
                ["bash", "--norc", "-c", script, "bash",
                 self.prefix / "share" / "bash-completion" / "completions" / "mqcore",
                 self.program.parent, line], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr, "")
            return done.stdout.strip()

        self.assertEqual(completed("mqcore ver"), "verify")
        self.assertEqual(completed("mqcore run --profile "), "smoke standard")
        self.assertEqual(completed(r"mqcore run my\ own.toml --profile sm"), "smoke")
        # Bash keeps what stands before '=' or ':'.
        self.assertEqual(completed("mqcore show --format=csv-r"), "csv-runs")
        self.assertEqual(completed("mqcore check-driver paho:t"), "thread")
        self.assertEqual(completed("mqcore new-driver mine --lang r"), "rust")

    def test_zsh_and_fish_take_their_scripts(self) -> None:
        share = self.prefix / "share"
        found = [[shell, *flags, str(share / file)] for shell, flags, file in
                 (("zsh", ["-f", "-n"], "zsh/vendor-completions/_mqcore"),
                  ("fish", ["--no-config", "-n"], "fish/vendor_completions.d/mqcore.fish"))
                 if shutil.which(shell)]
        for words in found:
            done = subprocess.run(words, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        if shutil.which("fish"):
            done = subprocess.run(
                ["fish", "--no-config", "-c", 'set -p PATH $argv[1]; source $argv[2]; complete -C "mqcore ver"',
                 self.program.parent, share / "fish" / "vendor_completions.d" / "mqcore.fish"],
                capture_output=True, text=True, timeout=60)
            self.assertEqual(done.stdout.split("\t")[0], "verify", done.stderr)
        if not found:
            self.skipTest("neither zsh nor fish is here")

    def test_the_links_of_the_pages_hold(self) -> None:
        pages = sorted((self.prefix / "share" / "doc" / "mqcore").rglob("*.md"))
        self.assertGreater(len(pages), 10)
        for page in pages:
            for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
                if "://" not in link:
                    self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")


class OutsideDrivers(InstallTest):
    """A driver that knows nothing of mqcore's tree but where it was installed or built."""

    def setUp(self) -> None:
        self.project = Path(tempfile.mkdtemp(prefix="outside-", dir=self.scratch))
        self.project.chmod(0o755)
        for name, target in {"null.c": "outside.c", "driver.toml": "driver.toml"}.items():
            text = (SOURCE / "plugins" / "null" / name).read_text()
            text = text.replace('"null"', '"outside"').replace("null.so", "outside.so")
            (self.project / target).write_text(text)
        # A library inside the driver: none of its symbols may be seen from outside.
        (self.project / "library.c").write_text("int library_call(void) { return 1; }\n")

    def configure(self, lines: str, prefix: Path, *options: str) -> subprocess.CompletedProcess[str]:
        (self.project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.17)\nproject(outside LANGUAGES C)\n"
            f"find_package(mqcore 1.0 CONFIG REQUIRED)\n{lines}\n")
        return subprocess.run([CMAKE, "-S", self.project, "-B", self.project / "build", "--fresh",
                               f"-DCMAKE_PREFIX_PATH={prefix}", *options],
                              capture_output=True, text=True)

    def build(self, *words: object) -> None:
        done = subprocess.run([CMAKE, *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def assert_driver(self, folder: Path) -> None:
        symbols = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", folder / "outside.so"],
                                 capture_output=True, text=True, check=True).stdout.split("\n")
        self.assertEqual([line.split()[0] for line in symbols if line], ["mqcore_driver_entry"])
        self.assertIn("'outside' keeps the contract", self.good("check-driver", str(folder)))

    def test_a_driver_builds_with_the_cmake_package(self) -> None:
        lines = ("add_library(library STATIC library.c)\n"
                 "set_target_properties(library PROPERTIES POSITION_INDEPENDENT_CODE ON)\n"
                 "mqcore_add_driver(outside SOURCES outside.c LINK_LIBRARIES library)")
        for prefix in (self.prefix, BUILD):
            with self.subTest(prefix=prefix):
                done = self.configure(lines, prefix)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.build("--build", self.project / "build")
                self.assert_driver(self.project / "build" / "outside")
        found = json.loads(self.good("clients", "--json", MQCORE_PLUGIN_PATH=str(self.project / "build")))
        self.assertIn("outside", [client["id"] for client in found])
        self.build("--install", self.project / "build", "--prefix", self.project / "root")
        self.assert_driver(self.project / "root" / "lib" / "mqcore" / "plugins" / "outside")

    def test_a_new_project_builds_against_it(self) -> None:
        self.good("new-driver", "brand-new", "--lang", "c")
        path = f"{self.prefix / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run([self.home / "brand-new" / "build.sh"], env={**os.environ, "PATH": path},
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("'brand-new' keeps the contract", self.good("check-driver", "brand-new/build/brand-new"))

    def test_what_is_wrong_is_said_when_it_is_configured(self) -> None:
        for lines, says in {
            "mqcore_add_driver(outside)": "SOURCES is missing",
            "mqcore_add_driver(Out_side SOURCES outside.c)": "an id has letters a-z, digits and '-'",
            "mqcore_add_driver(outside LINK library SOURCES outside.c)": "unknown argument: LINK",
            "mqcore_add_driver(outside SOURCES outside.c DESCRIPTOR nowhere.toml)": "nowhere.toml",
        }.items():
            with self.subTest(lines=lines):
                done = self.configure(lines, self.prefix)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(says, " ".join(done.stderr.split()))

    def test_a_driver_of_another_abi_finds_no_package(self) -> None:
        (self.project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.17)\nproject(outside NONE)\n"
            "find_package(mqcore 9.0 CONFIG)\nmessage(STATUS \"found: ${mqcore_FOUND}\")\n")
        done = subprocess.run([CMAKE, "-S", self.project, "-B", self.project / "build",
                               f"-DCMAKE_PREFIX_PATH={self.prefix}"], capture_output=True, text=True)
        self.assertIn("found: 0", done.stdout)

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not here")
    def test_a_driver_builds_with_pkg_config(self) -> None:
        for prefix in (self.prefix, BUILD):
            with self.subTest(prefix=prefix):
                environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "share" / "pkgconfig")}
                done = subprocess.run(
                    ["sh", "-ec", """
                        mkdir -p outside && cp driver.toml outside/
                        eval "cc -shared -fPIC outside.c library.c -o outside/outside.so \\
                            $(pkg-config --cflags mqcore-driver) \\
                            -Wl,--version-script=$(pkg-config --variable=exportmap mqcore-driver)" """],
                    cwd=self.project, env=environment, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_driver(self.project / "outside")


@unittest.skipUnless(all(map(shutil.which, ("dpkg-deb", "dpkg-shlibdeps", "file"))),
                     "no tools for a Debian package: dpkg-dev and file")
class Package(unittest.TestCase):
    """The Debian package, as dpkg sees it. MQCORE_TEST_DPKG=1 lets root install and purge it, too."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.scratch = Path(tempfile.mkdtemp(prefix="mqcore-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        environment = {**os.environ, "DEBFULLNAME": "A Builder", "DEBEMAIL": "builder@packages.invalid",
                       "SOURCE_DATE_EPOCH": "1700000000"}
        done = subprocess.run(
            [Path(CMAKE).parent / "cpack", "-G", "DEB", "-B", cls.scratch, "-D",
             "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", "--config", BUILD / "CPackConfig.cmake"],
            cwd=cls.scratch, env=environment, capture_output=True, text=True, umask=0o077)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        [cls.package] = cls.scratch.glob("*.deb")

    def dpkg_deb(self, *words: str) -> str:
        return subprocess.run(["dpkg-deb", *words], capture_output=True, text=True, check=True).stdout

    def test_it_asks_for_what_it_needs(self) -> None:
        fields = dict(re.findall(r"^([A-Z][A-Za-z-]+): (.*)$", self.dpkg_deb("-f", str(self.package)),
                                 re.MULTILINE))
        self.assertEqual(fields["Package"], "mqcore")
        self.assertEqual(fields["Architecture"],
                         subprocess.run(["dpkg", "--print-architecture"], capture_output=True,
                                        text=True, check=True).stdout.strip())
        needed = {word.split()[0] for word in fields["Depends"].split(", ")}
        self.assertIn("mosquitto", needed)
        self.assertIn("libc6", needed)
        # By what the libraries of the drivers are linked with, whichever were built.
        for driver, library in {"libmosquitto": "libmosquitto1", "paho-c": "libpaho-mqtt1.3"}.items():
            if (BUILD / "lib" / "mqcore" / "plugins" / driver / f"{driver}.so").exists():
                self.assertTrue(any(name.startswith(library) for name in needed), needed)
        self.assertIn("python3-venv", fields["Recommends"])

    def test_it_holds_the_tree_and_what_policy_asks_for(self) -> None:
        rows = [row.split(None, 5) for row in self.dpkg_deb("-c", str(self.package)).splitlines()]
        modes = {row[5].split(" -> ")[0].removeprefix("./"): row[0] for row in rows}
        self.assertEqual({row[1] for row in rows}, {"root/root"})
        for file, mode in {"usr/bin/mqcore": "-rwxr-xr-x", "usr/bin/mqpeer": "-rwxr-xr-x",
                           "usr/lib/mqcore/plugins/null/null.so": "-rw-r--r--",
                           "usr/share/mqcore/scenarios/core.toml": "-rw-r--r--",
                           "usr/share/man/man1/mqcore.1.gz": "-rw-r--r--",
                           "usr/share/man/man1/mqworker.1.gz": "-rw-r--r--",
                           "usr/share/doc/mqcore/copyright": "-rw-r--r--",
                           "usr/share/doc/mqcore/changelog.gz": "-rw-r--r--",
                           "usr/share/lintian/overrides/mqcore": "-rw-r--r--",
                           "usr/share/bash-completion/completions/mqcore": "-rw-r--r--"}.items():
            self.assertEqual(modes.get(file), mode, file)
        folders = {mode for file, mode in modes.items() if file.endswith("/")}
        self.assertEqual(folders, {"drwxr-xr-x"})  # the builder's umask was 077
        self.assertEqual([file for file in modes if not file.startswith("usr/")], [])
        copyright = (SOURCE / "cmake" / "debian" / "copyright").read_text()
        licence = (SOURCE / "LICENSE").read_text().split("\n\n", 2)[2]
        self.assertIn(" ".join(licence.split()), " ".join(re.sub(r"^ \.$", "", copyright, flags=re.M).split()))

    @unittest.skipUnless(shutil.which("lintian"), "lintian is not here")
    def test_lintian_finds_no_error(self) -> None:
        root = ["--allow-root"] if os.getuid() == 0 else []
        done = subprocess.run(["lintian", "--fail-on", "error", *root, self.package],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipUnless(os.environ.get("MQCORE_TEST_DPKG") and os.getuid() == 0, "changes the machine")
    def test_it_installs_runs_and_leaves_nothing(self) -> None:
        home = self.scratch / "home"
        self.scratch.chmod(0o755)
        home.mkdir()
        os.chown(home, NOBODY, NOBODY)
        subprocess.run(["dpkg", "-i", self.package], check=True, capture_output=True)
        try:
            done = subprocess.run(
                ["/usr/bin/mqcore", "run", "core.toml", "--clients", "paho-c", "--profile", "smoke",
                 "--points", "pub_qos1_fixed"], cwd=home, env={"PATH": "/usr/bin:/bin", "HOME": str(home)},
                user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True, timeout=300)
        finally:
            subprocess.run(["dpkg", "-P", "mqcore"], check=True, capture_output=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertIn("results: results/", done.stdout)
        for place in ("bin/mqcore", "lib/mqcore", "share/mqcore", "share/doc/mqcore", "include/mqcore",
                      "share/cmake/mqcore"):
            self.assertFalse((Path("/usr") / place).exists(), place)


if __name__ == "__main__":
    unittest.main()
