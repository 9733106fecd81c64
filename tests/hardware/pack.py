#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs what a machine with a GPU needs, and nothing else does: build/autopilot-hardware.tar.gz, at most 60 MiB.

  make release && tests/hardware/pack.py
  there: tar xzf autopilot-hardware.tar.gz && sudo autopilot-hardware/run figures
  here:  tests/hardware/page.py figures
"""

import argparse
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = ["autopilot", "autopilot-gpu-probe"]
SIMULATED = ["autopilot-sim", "libcuda-sim.so", "libnvidia-ml-sim.so"]  # so that `run --simulate` works there
SCRIPTS = ["run", "references.py"]
MOST_BYTES = 60 << 20


def pack(programs: Path, path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, tarfile.open(path, "w:gz") as archive:
        for name in PROGRAMS + SIMULATED:
            stripped = Path(folder) / name
            subprocess.run(["strip", "-o", stripped, programs / name], check=True)
            archive.add(stripped, f"autopilot-hardware/bin/{name}")
        for name in SCRIPTS:
            archive.add(HERE / name, f"autopilot-hardware/{name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, default=ROOT / "build" / "bin", help="build/bin")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "autopilot-hardware.tar.gz")
    options = parser.parse_args()
    for name in PROGRAMS + SIMULATED:
        if not (options.programs / name).exists():
            parser.error(f"{options.programs / name} is not there: `make release` builds it")
    pack(options.programs, options.out)
    size = options.out.stat().st_size
    if size > MOST_BYTES:
        print(f"pack.py: {options.out} has {size} bytes, {MOST_BYTES} are allowed", file=sys.stderr)
        return 1
    print(f"{options.out}: {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
