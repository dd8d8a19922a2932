"""docs/abi.md is made from driver.h and from the committed layout. Accept a change with MQCORE_UPDATE_GOLDEN=1."""

from __future__ import annotations

import os
import re
import unittest
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
HEADER = SOURCE / "plugin-api" / "include" / "mqcore" / "driver.h"
LAYOUT = SOURCE / "tests" / "abi" / "layout.txt"
PAGE = SOURCE / "docs" / "abi.md"

INTRODUCTION = """# The driver ABI

For people who write a driver in C, or an SDK for another language. This page is made from
the header `mqcore/driver.h`, the contract itself; a test keeps it current. Offsets and sizes are those of 64-bit
Linux, in bytes. To begin with, [first-plugin.md](first-plugin.md) is the better page.
"""


@dataclass
class Part:
    """A declaration and the comments that belong to it."""
    code: str
    comment: str = ""
    parts: list[Part] = field(default_factory=list)


def text_of(comment: str) -> str:
    """A C comment's text, its lines as they are."""
    first, *more = comment.removeprefix("/*").removesuffix("*/").split("\n")
    lines = [first.strip(), *(re.sub(r"^\s*\* ?", "", line).rstrip() for line in more)]
    return "\n".join(lines).strip("\n")


def parts_of(body: str, end: str) -> list[Part]:
    """The declarations of a body, each up to `end`. A comment behind one on its line is its own."""
    parts: list[Part] = []
    leading, at_line_end = "", False
    for token in re.finditer(rf"/\*.*?\*/|\n|[^\s/{end}][^/{end}]*{end}?", body, re.DOTALL):
        word = token[0]
        if word == "\n":
            at_line_end = False
        elif word.startswith("/*"):
            if at_line_end:
                parts[-1].comment += text_of(word)
            else:
                leading = text_of(word)
        else:
            code = " ".join(word.rstrip(end).split())
            if code:
                parts.append(Part(code, leading))
                leading, at_line_end = "", True
    return parts


def sections_of(header: str) -> list[Part]:
    """Macros, enums, structs and functions of the header, in its order."""
    sections: list[Part] = []
    pattern = re.compile(
        r"(?P<comment>/\*(?:(?!\*/).)*\*/)\s*\n(?:typedef struct \w+ \w+;\n)?"
        r"(?:enum \{(?P<enum>.*?)\n?\};"
        r"|(?:typedef )?struct (?P<struct>\w+) \{(?P<fields>.*?)\n\}[^;]*;"
        r"|(?P<function>MQCORE_EXPORT [^;]+);"
        r"|#define (?P<macro>\w+\([^)]*\) (?:[^\n]*\\\n)*[^\n]*))", re.DOTALL)
    for found in pattern.finditer(header):
        comment = text_of(found["comment"])
        if found["enum"] is not None:
            sections.append(Part("enum", comment, parts_of(found["enum"], ",")))
        elif found["struct"]:
            sections.append(Part(found["struct"], comment, parts_of(found["fields"], ";")))
        elif found["function"]:
            sections.append(Part(" ".join(found["function"].split()) + ";", comment))
        else:
            sections.append(Part(found["macro"], comment))
    return sections


def prose(comment: str) -> str:
    """Paragraphs as Markdown; what is indented in the comment keeps its form."""
    blocks: list[str] = []
    for paragraph in re.split(r"\n\s*\n", comment):
        for is_form, lines in groupby(paragraph.split("\n"), lambda line: line.startswith("  ")):
            blocks.append("```text\n" + "\n".join(line[2:] for line in lines) + "\n```" if is_form
                          else " ".join(lines).strip())
    return "\n\n".join(blocks)


def cell(text: str) -> str:
    """The same in a cell of a table."""
    words, was_form = [], False
    for line in text.split("\n"):
        is_form = bool(re.match(r"\s{2}(?=[A-Z]\w+ )", line))
        words += ["<br>"] * (is_form or was_form) + line.split()
        was_form = is_form
    return " ".join(words).replace("|", "\\|").replace("*", "\\*")


def layout() -> dict[str, dict[str, tuple[str, str]]]:
    """struct -> {"": its size} and field -> (offset, bytes)."""
    structs: dict[str, dict[str, tuple[str, str]]] = {}
    for line in LAYOUT.read_text().splitlines():
        words = line.split()
        if len(words) == 2:
            current = structs[words[0]] = {"": ("", words[1])}
        else:
            current[words[2]] = (words[0], words[1])
    return structs


def page() -> str:
    header = HEADER.read_text()
    opening, _, rest = header.partition("*/")
    blocks = [INTRODUCTION, "## The contract\n", prose(text_of(opening)) + "\n",
              "## Constants\n", "| name | value | meaning |\n|---|---|---|"]
    for name, value, comment in re.findall(
            r"#define (MQCORE_\w+) (?:\\\n|\s)*(\w+)\s*(/\*.*?\*/)", rest, re.DOTALL):
        blocks.append(f"| `{name}` | `{value}` | {cell(text_of(comment))} |")
    blocks.append("")
    structs = layout()
    for section in sections_of(rest):
        if section.code == "enum":
            title = re.split(r"[.:;](?:\s|$)", section.comment)[0].replace("\n", " ")
            blocks.append(f"## {title}\n")
            if title + "." != section.comment:
                blocks.append(prose(section.comment) + "\n")
            blocks.append("| name | value | meaning |\n|---|---|---|")
            for part in section.parts:
                name, _, value = part.code.partition(" = ")
                blocks.append(f"| `{name}` | `{value.strip()}` | {cell(part.comment)} |")
        elif section.code in structs:
            fields = structs[section.code]
            blocks += [f"## `{section.code}`\n", prose(section.comment) + f" {fields[''][1]} bytes.\n",
                       "| field | type | at | bytes | meaning |\n|---|---|---|---|---|"]
            for part in section.parts:
                call = re.fullmatch(r"(.+?) ?\(\*(\w+)\)\((.*)\)", part.code)
                kind, name = (f"{call[1]} ({call[3]})", f"{call[2]}()") if call else part.code.rsplit(" ", 1)
                at, size = fields[name.removesuffix("()")]
                blocks.append(f"| `{name}` | `{kind}` | {at} | {size} | {cell(part.comment)} |")
        else:
            name = re.search(r"(\w+)\(", section.code)[1]
            code = re.sub(r"\s*\\\n\s*", " ", section.code)
            blocks += [f"## `{name}()`\n", prose(section.comment) + f"\n\n```c\n{code}\n```"]
        blocks.append("")
    return "\n".join(blocks).rstrip() + "\n"


class Reference(unittest.TestCase):
    def test_the_page_is_current(self) -> None:
        if os.environ.get("MQCORE_UPDATE_GOLDEN"):
            PAGE.write_text(page())
        self.assertEqual(PAGE.read_text(), page(), "docs/abi.md is out of date")

    def test_nothing_of_the_header_is_left_out(self) -> None:
        text = page()
        header = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
        names = set(re.findall(r"\bMQCORE_\w+", header)) - {"MQCORE_DRIVER_H", "MQCORE_EXPORT"}
        self.assertGreater(len(names), 30)
        for name in names:
            self.assertIn(f"`{name}", text)
        for struct, fields in layout().items():
            section = text.partition(f"## `{struct}`")[2].partition("\n## ")[0]
            for name in filter(None, fields):
                self.assertRegex(section, rf"\n\| `{name}(\(\))?` \|", f"{struct}.{name}")


if __name__ == "__main__":
    unittest.main()
