#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The machine is a parameter: outside src/host there is no path of the kernel, no clock, no sleep and no environment. Only
cli and apps, where programs begin, also read the environment. The child process of a diagnostic may sleep. Tests and the
simulator are exempt."""

import re
import sys
from pathlib import Path

import tree

# The pattern, the folders besides src/host that may contain it, and the reason for the rule.
RULES = [
    # A data source can be named by its path ("/dev/kmsg"); only host reads it.
    (re.compile(r'"/sys(?:/|")|\(\s*"/(?:proc|dev)(?:/|")'), set(), "a path of the kernel; ask a door of host"),
    (re.compile(r"\b\w*clock::now\s*\(|\bclock_gettime\s*\(|\bgettimeofday\s*\(|\bstd::time\s*\(|[^\w.:>]time\s*\(\s*(?:nullptr|NULL|0)\s*\)"),
     set(), "a clock; take the time as a parameter or from a Clock"),
    (re.compile(r"\bsleep_(?:for|until)\b|\b(?:u|nano)?sleep\s*\("), {"diagnostics/child"}, "a sleep; wait for what you wait for"),
    (re.compile(r"\b(?:secure_)?getenv\s*\(|\bsetenv\s*\(|\benviron\b"), {"cli"}, "the environment; only cli reads it"),
    (re.compile(r"\bstd::system\s*\(|\bpopen\s*\(|\bfork\s*\(\s*\)|\bexecv\w*\s*\(|\bposix_spawnp?\s*\("), set(),
     "a program is started; only host/process does that"),
    (re.compile(r"\bcatch\s*\(\s*\.\.\.\s*\)"), {"cli", "runtime", "net"}, "catches what it does not know; name the library's exception"),
]


def check(path: Path, source: str) -> list[str]:
    if path.parts[0] != "src" or path.parts[1] == "host" or tree.is_test(path):
        return []
    text = tree.strip(source, keep_strings=True)
    bare = tree.strip(source)
    problems = []
    for pattern, homes, why in RULES:
        if {path.parts[1], "/".join(path.parts[1:3])} & homes:
            continue
        searched = text if pattern.pattern.startswith('"/sys') else bare
        problems += [f"{path}:{tree.line_of(searched, match.start())}: {match.group().strip()}: {why}"
                     for match in pattern.finditer(searched)]
    return problems


def run(root: Path) -> list[str]:
    return [problem for path in tree.cpp_files(root) for problem in check(path, tree.read(root, path))]


if __name__ == "__main__":
    sys.exit(tree.report(run(tree.ROOT)))
