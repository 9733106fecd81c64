#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every include against the layer table of ARCHITECTURE.md.

Columns of the table: folder, allowed includes, allowed libraries. A name is a folder of src/; a name with a slash is one header
and its includes; "everything" allows all. A folder may use a library in its sources and in headers that only it includes: a
header that another folder includes must not reach a library's header. The named subfolders of one folder of src/ include each other
in one direction only; files in the folder itself are left out of this rule for now."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import tree

TABLE = "ARCHITECTURE.md"
LIBRARIES = {
    "boost/": "boost", "yaml-cpp/": "yaml-cpp", "sqlite3.h": "sqlite", "netlink/": "libnl", "CLI/": "cli11",
    "spdlog/": "spdlog", "fmt/": "fmt", "re2/": "re2", "openssl/": "openssl", "tl/": "expected",
    "nghttp2/": "nghttp2", "iperf_api.h": "iperf", "curl/": "curl",
}
# tl::expected is the Result of every folder.
EVERYWHERE = {"expected"}
# Pairs of subfolders that include each other for now, each with the reason. An entry without its cycle is refused.
KNOWN_CYCLES = {
    ("src/diagnostics/cluster", "src/diagnostics/operations"):
        "pass_book.cpp needs gpus_in, which deep_test_words.hpp declares beside the deep test; gpus_in needs a header of its own",
}
NAMES_OF_TYPES = re.compile(r"\b(boost|YAML|CLI|spdlog|fmt|re2)::|\bsqlite3_?\w*\b|\b(SSL|X509|nl_sock|rtnl_\w+)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


@dataclass
class Layer:
    may_include: set[str]
    libraries: set[str]

    def everything(self) -> bool:
        return "everything" in self.may_include


def parse_table(markdown: str) -> dict[str, Layer]:
    rows: dict[str, Layer] = {}
    inside = False
    for line in markdown.splitlines():
        cells = [cell.strip().replace("`", "") for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[:2] == ["folder", "may include"]:
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not set(cells[0]) <= set("-: "):
            names = {name for name in re.split(r"[,\s]+", cells[1]) if name and name != "-"}
            libraries = {name for name in re.split(r"[,\s]+", cells[2] if len(cells) > 2 else "") if name and name != "-"}
            for folder in re.split(r"[,\s]+", cells[0]):
                rows[folder] = Layer(names, libraries)
    return rows


def folder_of(path: Path) -> str:
    """The row of a file: its folder below src/, else the first folder."""
    return path.parts[1] if path.parts[0] == "src" else path.parts[0]


def library_of(header: str) -> str | None:
    return next((name for prefix, name in LIBRARIES.items() if header.startswith(prefix)), None)


class Tree:
    def __init__(self, root: Path):
        self.root = root
        self.files = [path for path in tree.cpp_files(root) if path.parts[0] != "build"]
        self.text = {path: tree.strip(tree.read(root, path), keep_strings=True) for path in self.files}
        self.known = set(self.files)
        self._reach: dict[Path, set[Path]] = {}

    def includes(self, path: Path) -> list[tuple[int, bool, str]]:
        """Line number, True for an include with quotes, header."""
        text = self.text[path]
        return [(tree.line_of(text, match.start(2)), match.group(1) == '"', match.group(2)) for match in INCLUDE.finditer(text)]

    def resolve(self, path: Path, header: str) -> Path | None:
        for base in (Path("src"), Path("."), Path("simulator"), Path("tools"), Path("tests"), path.parent):
            if (found := Path(base / header)) in self.known:
                return found
        return None

    def reach(self, path: Path) -> set[Path]:
        """The file and all our files that it includes."""
        if path not in self._reach:
            self._reach[path] = {path}
            for _, own, header in self.includes(path):
                if own and (found := self.resolve(path, header)):
                    self._reach[path] |= self.reach(found)
        return self._reach[path]


def check_direction(ours: Tree, table: dict[str, Layer]) -> list[str]:
    problems = []
    doors = {name: ours.reach(Path("src") / name) for layer in table.values() for name in layer.may_include
             if "/" in name and Path("src") / name in ours.known}
    for name in sorted({name for layer in table.values() for name in layer.may_include if "/" in name} - set(doors)):
        problems.append(f"{TABLE}: the table names {name}, which does not exist")
    for path in ours.files:
        layer = table.get(folder_of(path))
        if layer is None:
            problems.append(f"{path}: the folder {folder_of(path)} is not in the layer table of {TABLE}")
            continue
        if layer.everything() or tree.is_test(path):
            continue
        allowed_headers = set().union(*(doors.get(name, set()) for name in layer.may_include))
        for line, own, header in ours.includes(path):
            found = ours.resolve(path, header) if own else None
            if found is None or folder_of(found) == folder_of(path) or found in allowed_headers:
                continue
            if folder_of(found) not in layer.may_include:
                problems.append(f"{path}:{line}: {folder_of(path)} may not include {header} "
                                f"(it may include: {' '.join(sorted(layer.may_include)) or 'nothing'})")
    return problems


def check_unresolved(ours: Tree) -> list[str]:
    return [f'{path}:{line}: "{header}" is no file of ours; libraries are included with <>'
            for path in ours.files for line, own, header in ours.includes(path)
            if own and ours.resolve(path, header) is None]


def check_libraries(ours: Tree, table: dict[str, Layer]) -> list[str]:
    problems = []
    for path in ours.files:
        layer = table.get(folder_of(path))
        if layer is None or layer.everything() or tree.is_test(path):
            continue
        for line, _, header in ours.includes(path):
            library = library_of(header)
            if library and library not in EVERYWHERE | layer.libraries:
                problems.append(f"{path}:{line}: {folder_of(path)} may not use {library} "
                                f"(libraries: {' '.join(sorted(layer.libraries)) or 'none'})")
    return problems


def check_headers_seen_elsewhere(ours: Tree) -> list[str]:
    """A header that another folder includes does not include a library. Headers that only tests include may."""
    seen_from: dict[Path, Path] = {}
    for path in ours.files:
        if tree.is_test(path):
            continue
        for _, own, header in ours.includes(path):
            found = ours.resolve(path, header) if own else None
            if found is not None and folder_of(found) != folder_of(path) and found.suffix == ".hpp":
                seen_from.setdefault(found, path)
    problems = set()
    for header, user in seen_from.items():
        for reached in ours.reach(header):
            for line, _, name in ours.includes(reached):
                library = library_of(name)
                if library and library not in EVERYWHERE:
                    problems.add(f"{reached}:{line}: {name} is seen outside {folder_of(reached)}: {user} includes {header}")
            if match := NAMES_OF_TYPES.search(re.sub(r'"[^"\n]*"', '""', ours.text[reached])):
                problems.add(f"{reached}:{tree.line_of(ours.text[reached], match.start())}: {match.group()} is a library's "
                             f"type and is seen outside {folder_of(reached)}: {user} includes {header}")
    return sorted(problems)


def subfolder_includes(ours: Tree) -> dict[str, dict[str, str]]:
    """For each named subfolder of a folder of src/: the others of the same folder that it includes, and one include of each."""
    edges: dict[str, dict[str, str]] = {}
    for path in ours.files:
        if path.parts[0] != "src" or len(path.parts) < 4 or tree.is_test(path):
            continue
        for line, own, header in ours.includes(path):
            found = ours.resolve(path, header) if own else None
            if (found is not None and len(found.parts) > 3 and found.parts[:2] == path.parts[:2] and found.parent != path.parent
                    and not tree.is_test(found)):
                edges.setdefault(str(path.parent), {}).setdefault(str(found.parent), f"{path}:{line} includes {header}")
    return edges


def chain_of_includes(edges: dict[str, dict[str, str]], start: str, end: str) -> list[str] | None:
    """The folders of the shortest chain of includes from `start` to `end`, both included; None without a chain."""
    chains = [[start]]
    seen = {start}
    for chain in chains:
        if chain[-1] == end:
            return chain
        for following in sorted(set(edges.get(chain[-1], {})) - seen):
            seen.add(following)
            chains.append([*chain, following])
    return None


def check_cycles_of_subfolders(ours: Tree, known: dict[tuple[str, str], str]) -> list[str]:
    edges = subfolder_includes(ours)
    cycles: dict[tuple[str, ...], list[str]] = {}
    for first, second in sorted((first, second) for first, seconds in edges.items() for second in seconds):
        if chain := chain_of_includes(edges, second, first):
            cycles.setdefault(tuple(sorted(chain)), [first, *chain])
    problems = [f"{' -> '.join(chain)}: a cycle of subfolders: "
                + "; ".join(edges[one][following] for one, following in zip(chain, chain[1:]))
                for folders, chain in cycles.items() if folders not in known]
    return problems + [f"{' and '.join(folders)}: no cycle; remove the entry from KNOWN_CYCLES of tools/lint/layers.py"
                       for folders in known if folders not in cycles]


def run(root: Path, known_cycles: dict[tuple[str, str], str] = KNOWN_CYCLES) -> list[str]:
    table = parse_table(tree.read(root, Path(TABLE)))
    if not table:
        return [f"{TABLE}: no table with the columns 'folder' and 'may include'"]
    ours = Tree(root)
    return (check_direction(ours, table) + check_unresolved(ours) + check_libraries(ours, table)
            + check_headers_seen_elsewhere(ours) + check_cycles_of_subfolders(ours, known_cycles))


if __name__ == "__main__":
    sys.exit(tree.report(run(tree.ROOT)))
