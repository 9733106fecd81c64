#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The PTX texts of the GPU kernels are what their sources make (tools/kernels/generate.py)."""

import sys
from pathlib import Path

import tree

sys.path.insert(0, str(tree.ROOT / "tools" / "kernels"))
import generate  # noqa: E402  (its folder is known only now)


def run(root: Path) -> list[str]:
    if reason := generate.why_not():
        print(f"SKIP: {reason}")
        return []
    try:
        return generate.stale(root)
    except RuntimeError as problem:
        return [str(problem)]


if __name__ == "__main__":
    sys.exit(tree.report(run(tree.ROOT)))
