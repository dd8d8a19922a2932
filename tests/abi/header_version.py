"""Refuses a driver.h that changed without its version: compares it with the frozen copies in snapshots/.

    header_version.py HEADER SNAPSHOTS

A snapshot is the header of one released version, snapshots/MAJOR.MINOR/mqcore/driver.h. Comments and white space may
change at any time. The header of a version that has a snapshot declares exactly what the snapshot declares. The header
of a later minor version keeps all that every snapshot of its major declares: a struct grows at its end alone, and only
one whose reader can tell how long it is.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

# It has no size of its own: the core makes every record and hands out pointers, never an array.
GROWS_WITHOUT_SIZE = {"mqcore_message"}
# Its own fields tell a reader how long a struct is.
TELLS_ITS_SIZE = re.compile(r"^uint32_t (size|magic)$")


@dataclass(frozen=True)
class Declaration:
    text: str  # white space made even
    line: int


@dataclass
class Header:
    path: Path
    macros: dict[str, Declaration] = field(default_factory=dict)
    enumerators: dict[str, Declaration] = field(default_factory=dict)
    structs: dict[str, list[Declaration]] = field(default_factory=dict)  # members in order
    others: dict[str, Declaration] = field(default_factory=dict)  # typedefs and functions, by their text

    @property
    def version(self) -> tuple[int, int]:
        return (self._number("MQCORE_ABI_MAJOR"), self._number("MQCORE_ABI_MINOR"))

    def _number(self, name: str) -> int:
        if name not in self.macros:
            raise SystemExit(f"{self.path}: it does not define {name}")
        return int(self.macros[name].text.rstrip("uU"))


def even(text: str) -> str:
    return re.sub(r"\s*([*,;:(){}=<|])\s*", r"\1", " ".join(text.split())).replace("*", "* ").strip()


def read(path: Path) -> Header:
    header = Header(path)
    text = path.read_text()
    # Comments, continued lines and what only a C++ compiler sees leave their line ends behind, so that
    # positions stay true.
    text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda it: " " + "\n" * it[0].count("\n"), text, flags=re.DOTALL)
    text = re.sub(r"\\\n([^\n]*)", r" \1\n", text)
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif", lambda it: "\n" * it[0].count("\n"), text, flags=re.DOTALL)
    code = []
    for number, line in enumerate(text.split("\n"), 1):
        if directive := re.match(r"\s*#\s*define\s+(\w+)(\(.*?\))?(.*)", line):
            name, parameters, value = directive.groups()
            # The other platform's form of the same macro is a second declaration of it.
            known = header.macros.get(name)
            header.macros[name] = Declaration(
                (known.text + " | " if known else "") + even((parameters or "") + value), number)
        code.append("" if line.lstrip().startswith("#") else line)

    text = "\n".join(code)

    def declared(start: int, piece: str, value: str | None = None) -> Declaration:
        first = start + len(piece) - len(piece.lstrip())
        return Declaration(even(piece if value is None else value), text[:first].count("\n") + 1)

    for start, declaration in pieces(text, ";"):
        head, brace, rest = declaration.partition("{")
        if not brace:
            header.others[even(declaration)] = declared(start, declaration)
            continue
        body, _, tail = rest.rpartition("}")
        inside = start + len(head) + 1
        if re.match(r"\s*(typedef\s+)?enum\b", head):
            for offset, item in pieces(body, ","):
                name, _, value = item.partition("=")
                header.enumerators[name.strip()] = declared(inside + offset, item, value)
        else:
            header.structs[tail.strip() or head.split()[-1]] = [
                declared(inside + offset, item) for offset, item in pieces(body, ";")]
    return header


def pieces(text: str, separator: str) -> list[tuple[int, str]]:
    """What the separator ends outside of brackets, with where it starts."""
    found, start, depth = [], 0, 0
    for index, character in enumerate(text):
        if character in "({":
            depth += 1
        elif character in ")}":
            depth -= 1
        elif character == separator and depth == 0:
            found.append((start, text[start:index]))
            start = index + 1
    found.append((start, text[start:]))
    return [(at, piece) for at, piece in found if piece.strip()]


def changes(header: Header, old: Header, is_same_version: bool) -> list[str]:
    """One line a declaration that is not as the snapshot has it."""
    found = []

    def say(line: int, what: str) -> None:
        found.append(f"{header.path}:{line}: {what}")

    for kind, mine, theirs in [("macro", header.macros, old.macros),
                               ("enumerator", header.enumerators, old.enumerators),
                               ("declaration", header.others, old.others)]:
        for name, was in theirs.items():
            if name == "MQCORE_ABI_MINOR" and not is_same_version:
                continue
            if name not in mine:
                say(1, f"the {kind} '{name}' is gone")
            elif mine[name].text != was.text:
                say(mine[name].line, f"the {kind} '{name}' is '{mine[name].text}', it was '{was.text}'")
        if is_same_version:
            for name in mine.keys() - theirs.keys():
                say(mine[name].line, f"the {kind} '{name}' is new")

    for name, was in old.structs.items():
        now = header.structs.get(name)
        if now is None:
            say(1, f"the struct '{name}' is gone")
            continue
        for index, member in enumerate(was):
            if index >= len(now):
                say(now[-1].line, f"'{name}' has lost its member '{member.text}'")
                break
            if now[index].text != member.text:
                say(now[index].line, f"member {index + 1} of '{name}' is '{now[index].text}', it was "
                                     f"'{member.text}': members are appended, never moved or changed")
                break
        else:
            if len(now) > len(was):
                added = now[len(was)]
                if is_same_version:
                    say(added.line, f"'{name}' has the new member '{added.text}'")
                elif not TELLS_ITS_SIZE.match(was[0].text) and name not in GROWS_WITHOUT_SIZE:
                    say(added.line, f"'{name}' is frozen: without a size, nobody can tell whether it has "
                                    f"'{added.text}'")
    if is_same_version:
        for name in header.structs.keys() - old.structs.keys():
            say(header.structs[name][0].line, f"the struct '{name}' is new")
    return found


def check(header_path: Path, snapshots: Path) -> list[str]:
    header = read(header_path)
    olds: dict[tuple[int, int], Header] = {}
    for folder in sorted(snapshots.iterdir()):
        old = read(folder / "mqcore" / "driver.h")
        if folder.name != "{}.{}".format(*old.version):
            return [f"{old.path}:1: it says that it is version {'{}.{}'.format(*old.version)}"]
        olds[old.version] = old
    if not olds:
        return [f"{snapshots}: there is no snapshot"]
    mine = header.version
    newest = max(olds)
    if mine < newest:
        return [f"{header_path}:{header.macros['MQCORE_ABI_MINOR'].line}: its version is {mine[0]}.{mine[1]}, and "
                f"{newest[0]}.{newest[1]} is released"]
    problems = []
    for version, old in olds.items():
        if version == mine:
            found = changes(header, old, is_same_version=True)
            if found:
                found.append(f"version {mine[0]}.{mine[1]} is released and frozen: raise MQCORE_ABI_MINOR for what is "
                             "appended; anything else needs another MQCORE_ABI_MAJOR")
            problems += found
        elif version[0] == mine[0]:
            found = changes(header, old, is_same_version=False)
            if found:
                found.append(f"a driver built for {version[0]}.{version[1]} would not run: append, or raise "
                             "MQCORE_ABI_MAJOR")
            problems += found
    return problems


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    lines = check(Path(sys.argv[1]), Path(sys.argv[2]))
    print("\n".join(lines) if lines else "driver.h is what its version says")
    raise SystemExit(1 if lines else 0)
