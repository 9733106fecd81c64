#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The PTX files of the GPU kernels match their sources (tools/kernels/generate.py)."""

import sys
from pathlib import Path

import tree

sys.path.insert(0, str(tree.ROOT / "tools" / "kernels"))
import generate  # noqa: E402  (its folder is on the path only now)


def run(root: Path) -> list[str]:
    problems = []
    for compiler in generate.COMPILERS:
        if reason := generate.why_not(compiler):
            print(f"SKIP: {reason}")
            continue
        try:
            problems += generate.stale(compiler, root)
        except RuntimeError as problem:
            problems.append(str(problem))
    return problems


if __name__ == "__main__":
    sys.exit(tree.report(run(tree.ROOT)))
