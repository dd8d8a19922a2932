"""The folders are the architecture: who includes whom, who knows which driver, which header stands alone."""

from __future__ import annotations

import os
import re
import shlex
import json
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["MQCORE_TEST_BUILD"])

ROOMS = ["support", "measure", "driver", "scenario", "machine", "session", "verdict", "campaign",
         "conformance", "report", "cli"]
# What each place may include besides itself; a room sees what stands left of it.
ALLOWED = {f"core/{room}": set(ROOMS[:index]) for index, room in enumerate(ROOMS)}
ALLOWED["core/worker"] = {"support", "measure", "driver"}
ALLOWED["peer"] = {"support", "measure"}
INCLUDE = re.compile(r'^\s*#include "([^"/]+)/', re.MULTILINE)


def sources(place: str) -> list[Path]:
    return sorted(p for p in (SOURCE / place).rglob("*") if p.suffix in (".hpp", ".cpp", ".h", ".c"))


class Layers(unittest.TestCase):
    def test_a_room_includes_only_what_stands_left_of_it(self) -> None:
        self.assertEqual({p.name for p in (SOURCE / "core").iterdir() if p.is_dir()},
                         set(ROOMS) | {"worker"})
        for place, allowed in ALLOWED.items():
            own = Path(place).name
            for file in sources(place):
                for target in INCLUDE.findall(file.read_text()):
                    if target in {"mqcore", own}:
                        continue
                    self.assertIn(target, allowed, f"{file.relative_to(SOURCE)} includes {target}/")

    def test_a_driver_includes_nothing_of_the_core(self) -> None:
        for file in sources("plugins") + sources("plugin-api"):
            for target in INCLUDE.findall(file.read_text()):
                self.assertNotIn(target, set(ROOMS) | {"worker", "peer"}, file.relative_to(SOURCE))

    def test_the_core_names_no_driver(self) -> None:
        ids = [re.search(r'^id = "([^"]+)"', file.read_text(), re.MULTILINE)[1]
               for file in (SOURCE / "plugins").rglob("driver.toml")]
        self.assertGreater(len(ids), 4)
        for place in ALLOWED:
            for file in sources(place):
                for name in ids:
                    self.assertNotRegex(file.read_text(), f'"{name}"', file.relative_to(SOURCE))

    def test_libraries_stay_in_their_room(self) -> None:
        # Boost.JSON's value is the vocabulary type of support/json.hpp, see there.
        homes = {r"<toml\+\+/": {"core/support", "plugins"}, r"<boost/dll": {"core/driver"},
                 r"<hwloc": {"core/machine"}, r"<CLI/": {"core/cli"}, r"<asio": {"core/session", "peer"},
                 r"<spdlog": {"core/session", "core/campaign", "core/cli"}, r"<catch2": set()}
        for place in [*ALLOWED, "plugins"]:
            for file in sources(place):
                text = file.read_text()
                for include, allowed in homes.items():
                    if place not in allowed:
                        self.assertNotRegex(text, f"#include {include}", file.relative_to(SOURCE))


def headers() -> list[Path]:
    return [h for place in ALLOWED for h in sources(place) if h.suffix == ".hpp"]


class Headers(unittest.TestCase):
    # A header that its own source file includes first was compiled alone by the build.
    def test_a_source_file_includes_its_header_first(self) -> None:
        pairs = [h for h in headers() if h.with_suffix(".cpp").exists()]
        self.assertGreater(len(pairs), 40)
        for header in pairs:
            first = re.search(r'^#include ["<]([^">]+)', header.with_suffix(".cpp").read_text(), re.MULTILINE)
            self.assertTrue(str(header).endswith("/" + first[1]),
                            f"{header.with_suffix('.cpp').relative_to(SOURCE)} includes {first[1]} first")

    def test_every_other_header_compiles_alone(self) -> None:
        # With the flags of a source file beside it.
        database = json.loads((BUILD / "compile_commands.json").read_text())
        flags: dict[Path, list[str]] = {}
        for entry in database:
            words = shlex.split(entry["command"])
            flags.setdefault(Path(entry["file"]).parent, [
                w for i, w in enumerate(words)
                if w.startswith(("-I", "-D", "-std", "-W")) or words[i - 1] == "-isystem" or w == "-isystem"])

        def compile_alone(header: Path) -> str | None:
            command = [os.environ["MQCORE_COMPILER"], "-fsyntax-only", "-x", "c++", *flags[header.parent],
                       "-Wno-pragma-once-outside-header", "-include", str(header), "/dev/null"]
            done = subprocess.run(command, capture_output=True, text=True)
            return f"{header.relative_to(SOURCE)}:\n{done.stderr}" if done.returncode else None

        alone = [h for h in headers() if not h.with_suffix(".cpp").exists()]
        self.assertGreater(len(alone), 5)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            failures = [f for f in pool.map(compile_alone, alone) if f]
        self.assertEqual(failures, [])


if __name__ == "__main__":
    unittest.main()
