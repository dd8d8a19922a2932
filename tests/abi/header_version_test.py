"""What header_version.py lets pass and what it refuses, and that driver.h itself passes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import header_version

HERE = Path(__file__).resolve().parent
HEADER = HERE.parents[1] / "plugin-api" / "include" / "mqcore" / "driver.h"
SNAPSHOTS = HERE / "snapshots"
RELEASED = SNAPSHOTS / "1.0" / "mqcore" / "driver.h"

MINOR = ("#define MQCORE_ABI_MINOR 0u", "#define MQCORE_ABI_MINOR 1u")
MAJOR = ("#define MQCORE_ABI_MAJOR 1u", "#define MQCORE_ABI_MAJOR 2u")
LAST_OF_INFO = "} mqcore_info;"
APPENDED = (LAST_OF_INFO, "    uint32_t later;\n" + LAST_OF_INFO)


class HeaderVersion(unittest.TestCase):
    """The tried headers are the released 1.0 with one edit, against the snapshot of 1.0 alone."""

    def lines_of(self, *edits: tuple[str, str]) -> list[str]:
        text = RELEASED.read_text()
        for old, new in edits:
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        with tempfile.TemporaryDirectory() as folder:
            snapshot = Path(folder, "snapshots", "1.0", "mqcore")
            snapshot.mkdir(parents=True)
            (snapshot / "driver.h").write_text(RELEASED.read_text())
            header = Path(folder, "driver.h")
            header.write_text(text)
            return [line.replace(f"{header}:", "driver.h:")
                    for line in header_version.check(header, snapshot.parents[1])]

    def passes(self, *edits: tuple[str, str]) -> None:
        self.assertEqual(self.lines_of(*edits), [])

    def refuses(self, *edits: tuple[str, str], says: str) -> None:
        text = "\n".join(self.lines_of(*edits))
        self.assertRegex(text, r"^driver\.h:\d+: ")
        self.assertIn(says, text)

    def test_driver_h_is_what_its_version_says(self) -> None:
        done = subprocess.run([sys.executable, HERE / "header_version.py", HEADER, SNAPSHOTS],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "driver.h is what its version says\n", ""))

    def test_comments_and_white_space_may_change(self) -> None:
        self.passes()
        self.passes(("/* Frees the instance. [main-thread]", "/* Frees it.  [main-thread]"),
                    ("    uint32_t max_window; ", "    uint32_t    max_window;\n"))

    def test_a_released_version_is_frozen(self) -> None:
        self.refuses(APPENDED, says="'mqcore_info' has the new member 'uint32_t later'")
        self.refuses(APPENDED, says="raise MQCORE_ABI_MINOR")
        self.refuses(("enum { MQCORE_V311", "enum { MQCORE_V6 = 4, MQCORE_V311"),
                     says="the enumerator 'MQCORE_V6' is new")
        self.refuses(("#define MQCORE_NONE", "#define MQCORE_MORE 1\n#define MQCORE_NONE"),
                     says="the macro 'MQCORE_MORE' is new")
        self.refuses(("typedef struct mqcore_sink mqcore_sink;",
                      "typedef struct mqcore_sink mqcore_sink;\ntypedef struct mqcore_more { int it; } mqcore_more;"),
                     says="the struct 'mqcore_more' is new")

    def test_a_refusal_names_the_line(self) -> None:
        line = RELEASED.read_text().split(LAST_OF_INFO)[0].count("\n") + 1
        self.assertEqual(self.lines_of(APPENDED)[0],
                         f"driver.h:{line}: 'mqcore_info' has the new member 'uint32_t later'")

    def test_a_minor_version_appends(self) -> None:
        self.passes(MINOR)
        self.passes(MINOR, APPENDED, ("enum { MQCORE_V311", "enum { MQCORE_V6 = 1u << 2, MQCORE_V311"),
                    ("    uint32_t reserved;    /* 0                                                                  */"
                     "\n} mqcore_message;",
                     "    uint32_t reserved;\n    uint64_t later;\n} mqcore_message;"))

    def test_a_minor_version_neither_moves_nor_changes(self) -> None:
        self.refuses(MINOR, ("    uint32_t protocols;     ", "    uint32_t earlier;\n    uint32_t protocols;     "),
                     says="member 5 of 'mqcore_info' is 'uint32_t earlier', it was 'uint32_t protocols'")
        self.refuses(MINOR, ("    uint32_t port;", "    uint16_t port;"), says="it was 'uint32_t port'")
        self.refuses(MINOR, ("    void (*destroy)(void* self);", "    void (*destroy)(void* self, int32_t how);"),
                     says="members are appended, never moved or changed")
        self.refuses(MINOR, ("MQCORE_STOP = 3", "MQCORE_STOP = 4"), says="'MQCORE_STOP' is '4', it was '3'")
        self.refuses(MINOR, ("0x3142514Du", "0x3142514Eu"), says="the macro 'MQCORE_MAGIC' is")
        self.refuses(MINOR, ("    uint32_t topic_alias_max;", ""), says="has lost its member 'uint32_t topic_alias_max'")
        self.refuses(MINOR, ("mqcore_driver_entry(const char* driver_folder);", "mqcore_driver_entry(void);"),
                     says="is gone")

    def test_a_frozen_struct_never_grows(self) -> None:
        self.refuses(MINOR, ("} mqcore_option;", "    uint32_t kind;\n} mqcore_option;"),
                     says="'mqcore_option' is frozen")

    def test_another_major_version_is_another_abi(self) -> None:
        self.passes(MAJOR, ("    uint32_t port;", "    uint16_t port;"))

    def test_a_version_does_not_go_back(self) -> None:
        self.refuses(("#define MQCORE_ABI_MAJOR 1u", "#define MQCORE_ABI_MAJOR 0u"), says="and 1.0 is released")


if __name__ == "__main__":
    unittest.main()
