#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every relative link of a Markdown file leads to a file, and its anchor to a heading."""

import re
import sys
from pathlib import Path

import tree

FENCE = re.compile(r"^\s*(```|~~~)")
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$")
ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"')


def prose(text: str) -> list[tuple[int, str]]:
    """Lines outside of code blocks, with their numbers."""
    kept, is_code = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            kept.append((number, line))
    return kept


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text: str) -> set[str]:
    found: set[str] = set()
    for _, line in prose(text):
        found.update(ANCHOR.findall(line))
        if heading := HEADING.match(line):
            name = slug(heading[1])
            found.add(name if name not in found else f"{name}-{sum(one == name or one.startswith(name + '-') for one in found)}")
    return found


def links(text: str) -> list[tuple[int, str]]:
    return [(number, target) for number, line in prose(text) for target in LINK.findall(CODE.sub("", line))]


def check(path: Path, text: str, root: Path) -> list[str]:
    problems = []
    for number, target in links(text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        other = root / path.parent / name if name else root / path
        if not other.exists():
            problems.append(f"{path}:{number}: {name} does not exist")
        elif anchor and other.suffix == ".md" and anchor not in anchors(other.read_text(encoding="utf-8")):
            problems.append(f"{path}:{number}: {name or path.name} has no heading #{anchor}")
    return problems


def run(root: Path) -> list[str]:
    return [problem for path in tree.files(root) if path.suffix == ".md" for problem in check(path, tree.read(root, path), root)]


if __name__ == "__main__":
    sys.exit(tree.report(run(tree.ROOT)))
