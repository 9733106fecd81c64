#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The first line of every source (the second after #!) names the licence."""

import sys
from pathlib import Path

import tree

LINE = "SPDX-License-Identifier: Apache-2.0"
SUFFIXES = {".cpp": "//", ".hpp": "//", ".c": "//", ".h": "//", ".in": "//", ".py": "#", ".sh": "#", ".service": "#"}
NAMES = {"Makefile": "#", ".clang-tidy": "#"}


def mark_of(path: Path) -> str | None:
    if path.parts[0] == "catalog" and path.suffix == ".yaml":
        return "#"
    return NAMES.get(path.name) or SUFFIXES.get(path.suffix)


def check(path: Path, text: str) -> list[str]:
    mark = mark_of(path)
    if mark is None:
        return []
    lines = text.splitlines()[:2]
    first = lines[1:] if lines and lines[0].startswith("#!") else lines
    return [] if first and first[0] == f"{mark} {LINE}" else [f"{path}:1: the first line is not '{mark} {LINE}'"]


def run(root: Path) -> list[str]:
    return [problem for path in tree.files(root) for problem in check(path, tree.read(root, path))]


if __name__ == "__main__":
    sys.exit(tree.report(run(tree.ROOT)))
