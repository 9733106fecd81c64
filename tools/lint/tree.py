# SPDX-License-Identifier: Apache-2.0
"""Shared by the lints: the files of the tree, C++ without comments and literals, and the report of problems."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CPP = {".cpp", ".hpp", ".c", ".h"}


def files(root: Path) -> list[Path]:
    """Every file that git tracks or would track, relative to the root; outside git every file."""
    done = subprocess.run(["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"],
                          capture_output=True, text=True, check=False) if (root / ".git").exists() else None
    if done is not None and done.returncode == 0:
        names = done.stdout.splitlines()
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*")]
    return sorted({Path(name) for name in names if (root / name).is_file()})


def cpp_files(root: Path) -> list[Path]:
    return [path for path in files(root) if path.suffix in CPP]


def is_test(path: Path) -> bool:
    """True for tests and for files that only tests include."""
    return path.parts[0] == "tests" or path.stem.endswith(("_test", "_bench", "_fuzz", "_fixture")) or path.stem.startswith(("test_", "fake_"))


_TOKEN = re.compile(r'''//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|[^/"'R]+|.''',
                    re.DOTALL)


def strip(text: str, keep_strings: bool = False) -> str:
    """C++ text with comments blanked, and string literals emptied unless they are kept; line numbers do not change."""
    def replace(match: re.Match) -> str:
        token = match.group()
        if token.startswith(("//", "/*")):
            return "\n" * token.count("\n")
        if len(token) > 1 and token[0] == "'" or token.startswith(('"', 'R"')) and len(token) > 1:
            return token if keep_strings else '""' + "\n" * token.count("\n")
        return token
    # Digit separators would be taken for character literals.
    return _TOKEN.sub(replace, re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "", text))


def read(root: Path, path: Path) -> str:
    return (root / path).read_text(encoding="utf-8", errors="replace")


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def report(problems: list[str]) -> int:
    for problem in problems:
        print(problem)
    name = Path(sys.argv[0]).stem
    print(f"{name}: {len(problems)} problems" if problems else f"{name}: ok")
    return 1 if problems else 0
