#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses text that must not be in the tree: names of package registries (a mirror must work as well), absolute paths of a
workplace, merge marks, and words of unfinished work in code."""

import re
import sys
from pathlib import Path

import tree

# Written in two halves, so that this file passes its own check.
REGISTRIES = ["pypi" ".org", "python" "hosted.org", "npmjs" ".org", "npmjs" ".com", "proxy.golang" ".org", "crates" ".io",
              "deb.debian" ".org", "security.debian" ".org", "snapshot.debian" ".org", "nodesource" ".com"]
RULES = [
    (re.compile("|".join(re.escape(name) for name in REGISTRIES), re.IGNORECASE), "the name of a package registry"),
    (re.compile(r"(?<![\w.*}-])/(?:wor" r"k|far" r"m)(?:/|\b(?!\s*[a-z]))"), "a path of a workplace"),
    (re.compile(r"^(?:<{7}|>{7}|={7})(?: |$)", re.MULTILINE), "a merge mark"),
]
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b")
CODE = {".cpp", ".hpp", ".c", ".h", ".py", ".sh", ".cmake"}
BINARY = {".png", ".ico", ".gz", ".so", ".a", ".woff2"}


def check(path: Path, text: str) -> list[str]:
    rules = RULES + ([(UNFINISHED, "unfinished work")] if path.suffix in CODE else [])
    return [f"{path}:{tree.line_of(text, match.start())}: {match.group()!r}: {why}"
            for pattern, why in rules for match in pattern.finditer(text)]


def run(root: Path) -> list[str]:
    wanted = (path for path in tree.files(root) if path.suffix not in BINARY and "corpus" not in path.parts)
    return [problem for path in wanted for problem in check(path, tree.read(root, path))]


if __name__ == "__main__":
    sys.exit(tree.report(run(tree.ROOT)))
