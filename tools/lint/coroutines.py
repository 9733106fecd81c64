#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Allows coroutines only in src/net, and there no braces and no capturing lambda in a statement with co_await: g++ 12
destroys such temporaries twice (docs/adr/0004). The lint checks whole statements, across lines."""

import re
import sys
from pathlib import Path

import tree

HOME = ("src", "net")
KEYWORD = re.compile(r"\bco_(?:await|return|yield)\b")
AWAIT = re.compile(r"\bco_await\b")
OPEN, CLOSE = "([{", ")]}"


def _is_block(text: str, brace: int) -> bool:
    """True if the { at `brace` begins a block, not an initialiser."""
    before = text[:brace].rstrip()
    if not before or before[-1] in ";{}):":
        return True
    return bool(re.search(r"(\b(else|do|try|const|noexcept|mutable|override|final)|->\s*[\w:<>,&*\s]+)$", before[-200:]))


def _opening(text: str, closing: int) -> int:
    """The opening bracket for the bracket at `closing`."""
    depth = 0
    for position in range(closing, -1, -1):
        depth += (text[position] in CLOSE) - (text[position] in OPEN)
        if depth == 0:
            return position
    return 0


def _begin(text: str, at: int) -> int:
    """Start of the statement around `at`."""
    depth = 0
    while at > 0:
        at -= 1
        if text[at] in CLOSE:
            opening = _opening(text, at)
            if text[at] == "}" and _is_block(text, opening):
                return at + 1
            at = opening
        elif text[at] == "{" and _is_block(text, at):
            return at + 1
        elif text[at] in OPEN:
            depth += 1
        elif text[at] == ";" and (depth == 0 or not _in_condition(text, at)):
            return at + 1
    return 0


def _in_condition(text: str, at: int) -> bool:
    """True if the ; at `at` is inside the parentheses of an if, for, while or switch."""
    depth = 0
    for position in range(at - 1, -1, -1):
        depth += (text[position] in CLOSE) - (text[position] in OPEN)
        if depth < 0:
            return text[position] == "("
    return False


def _end(text: str, at: int, begin: int) -> int:
    """End of the statement: its semicolon, or the start of the block of its if or loop."""
    depth = 0
    for position in range(begin, len(text)):
        c = text[position]
        if c == "{" and depth == 0 and position > at and _is_block(text, position):
            return position
        if c in OPEN:
            depth += 1
        elif c in CLOSE:
            depth -= 1
        if (c == ";" and depth <= 0 and position > at) or depth < 0:
            return position
    return len(text)


LAMBDA = re.compile(r"(?:(?:^|[(,=?:]|\breturn\b|\bco_return\b)\s*)\[([^\[\]]*)\]")
CAPTURELESS = re.compile(r"\[\s*\]\s*(\([^()]*\))?[^{};]*\{")


def _fault(statement: str) -> str:
    if any(match.group(1).strip() for match in LAMBDA.finditer(statement)):
        return "a capturing lambda"
    return "braces" if "{" in CAPTURELESS.sub("", statement) else ""


def check(path: Path, source: str) -> list[str]:
    text = tree.strip(source)
    if path.parts[:2] != HOME:
        return [f"{path}:{tree.line_of(text, match.start())}: {match.group()} outside src/net" for match in KEYWORD.finditer(text)]
    problems = []
    seen = set()
    for match in AWAIT.finditer(text):
        begin = _begin(text, match.start())
        if begin in seen:
            continue
        seen.add(begin)
        statement = text[begin:_end(text, match.start(), begin)]
        if fault := _fault(statement):
            problems.append(f"{path}:{tree.line_of(text, match.start())}: {fault} in a statement with co_await; "
                            "name it on the line before")
    return problems


def run(root: Path) -> list[str]:
    return [problem for path in tree.cpp_files(root) for problem in check(path, tree.read(root, path))]


if __name__ == "__main__":
    sys.exit(tree.report(run(tree.ROOT)))
