#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that programs and libraries start on systems with an old glibc, by the versions of the symbols that they need and by
the libraries that they are linked to.

  symbol_versions.py [--oldest 2.28] build/portable/bin/autopilot ...
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

OLDEST = "2.28"
# Libraries of glibc; programs may be linked to no others.
LIBRARIES = re.compile(r"lib(c|m)\.so\.6|lib(pthread)\.so\.0|lib(dl|resolv)\.so\.2|librt\.so\.1|ld-linux-x86-64\.so\.2|ld-linux-aarch64\.so\.1")
VERSION = re.compile(r"GLIBC_([0-9]+(?:\.[0-9]+)+)")


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def described(program: Path) -> str:
    return subprocess.run(["llvm-objdump-16", "-p", program], capture_output=True, text=True, check=True).stdout


def asked_for(text: str) -> tuple[list[str], list[str]]:
    """The libraries and symbol versions that a program needs, from the output of llvm-objdump -p."""
    libraries = re.findall(r"^\s+NEEDED\s+(\S+)$", text, re.MULTILINE)
    references = text.partition("Version References:")[2]
    return libraries, re.findall(r"^\s+0x[0-9a-f]+ 0x[0-9a-f]+ [0-9]+ (\S+)$", references, re.MULTILINE)


def problems(name: str, text: str, oldest: str) -> list[str]:
    libraries, versions = asked_for(text)
    if not libraries:
        return [f"{name}: is linked to nothing, not even to glibc"]
    found = [f"{name}: is linked to {library}, which is not glibc" for library in libraries if not LIBRARIES.fullmatch(library)]
    for version in versions:
        match = VERSION.fullmatch(version)
        if match is None:  # such as GLIBC_ABI_DT_RELR, of 2.36
            found.append(f"{name}: asks for {version}, which is no version of glibc's symbols")
        elif number(match.group(1)) > number(oldest):
            found.append(f"{name}: asks for {version}, and may ask for {oldest} at most")
    return found


def newest(text: str) -> str:
    versions = [match.group(1) for version in asked_for(text)[1] if (match := VERSION.fullmatch(version))]
    return max(versions, key=number, default="0")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oldest", default=OLDEST, help="the oldest glibc (%(default)s)")
    parser.add_argument("programs", type=Path, nargs="+")
    options = parser.parse_args()
    found = []
    for program in options.programs:
        text = described(program)
        found += problems(str(program), text, options.oldest)
        print(f"{program}: glibc {newest(text)}")
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
