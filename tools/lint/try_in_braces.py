#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses TRY behind another member in the braces of an initialiser: when it returns the error, neither compiler destroys
the members before it, and what they own leaks."""

import re
import sys
from pathlib import Path

import tree

# clang-format puts no space between a type and the braces of its initialiser, and a space before a block.
BRACES = re.compile(r"[\w>=(,]\s?\{(?=\S)")
TRY = re.compile(r"\bTRY\s*\(")


def _members_before(text: str, begin: int) -> str:
    """Content of the braces opened at `begin`, up to their end or the end of a statement."""
    depth = 0
    for at in range(begin, len(text)):
        if text[at] == ";":
            return ""
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return text[begin + 1:at]
    return ""


def check(path: Path, source: str) -> list[str]:
    text = tree.strip(source)
    problems = set()
    for match in BRACES.finditer(text):
        begin = match.end() - 1
        held = _members_before(text, begin)
        for tried in TRY.finditer(held):
            if "," in _at_its_level(held[:tried.start()]):
                problems.add(begin + 1 + tried.start())
    return [f"{path}:{tree.line_of(text, at)}: TRY behind another member in braces: name its value on the line before"
            for at in sorted(problems)]


def _at_its_level(text: str) -> str:
    """`text` without the content of closed brackets."""
    while True:
        shorter = re.sub(r"[(\[{][^()\[\]{}]*[)\]}]", "", text)
        if shorter == text:
            return text
        text = shorter


def run(root: Path) -> list[str]:
    return [problem for path in tree.cpp_files(root) for problem in check(path, tree.read(root, path))]


if __name__ == "__main__":
    sys.exit(tree.report(run(tree.ROOT)))
