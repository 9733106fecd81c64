#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Generates probes/gpu/kernels/ptx/sm_*.ptx from kernels.cu with Debian's clang, which does not need NVIDIA's toolkit.

  generate.py            writes the texts
  generate.py --check    exits with 1 if a file is out of date

tools/lint/ptx.py runs the same check with the other lints."""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path("probes/gpu/kernels/kernels.cu")
TEXTS = Path("probes/gpu/kernels/ptx")
# Compiler of each level. sm_90a needs PTX 8.0, the highest version allowed, which clang 19 writes for it.
LEVELS = {"sm_70": "clang++-16", "sm_80": "clang++-16", "sm_90": "clang++-16", "sm_90a": "clang++-19"}
COMPILERS = sorted(set(LEVELS.values()))
HEAD = """// SPDX-License-Identifier: Apache-2.0
// Made from kernels.cu by tools/kernels/generate.py; `make kernels` makes it again.
"""


def why_not(compiler: str) -> str | None:
    """Why it cannot generate files here; None if it can."""
    try:
        known = subprocess.run([compiler, "--print-targets"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as problem:
        return f"{compiler} cannot be run: {problem}"
    return None if "nvptx64" in known else f"{compiler} was built without the target nvptx64"


def text_of(level: str, root: Path = ROOT) -> str:
    # Loops over the parts of a tile must be unrolled completely, so that the indexed values stay in registers.
    done = subprocess.run(
        [LEVELS[level], "-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={level}", "-nocudainc", "-nocudalib",
         "-ffreestanding", "-std=c++20", "-O3", "-mllvm", "-unroll-threshold=4000", "-Wall", "-Wextra", "-Werror", "-I.",
         "-S", str(SOURCE), "-o", "-"], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{SOURCE} for {level}: {done.stderr.strip()}")
    return HEAD + done.stdout.lstrip()


def stale(compiler: str, root: Path = ROOT) -> list[str]:
    """One line for each file of this compiler that is out of date."""
    problems = []
    for level in (level for level, own in LEVELS.items() if own == compiler):
        path = TEXTS / f"{level}.ptx"
        old = (root / path).read_text(encoding="utf-8") if (root / path).exists() else None
        if old != text_of(level, root):
            problems.append(f"{path}: not what {SOURCE} makes; `make kernels` makes it again")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if reasons := [reason for compiler in COMPILERS if (reason := why_not(compiler))]:
        print("\n".join(f"generate.py: {reason}" for reason in reasons), file=sys.stderr)
        return 1
    try:
        if options.check:
            problems = [problem for compiler in COMPILERS for problem in stale(compiler)]
            print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
            return 1 if problems else 0
        for level in LEVELS:
            (ROOT / TEXTS / f"{level}.ptx").write_text(text_of(level), encoding="utf-8")
    except RuntimeError as problem:
        print(f"generate.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
