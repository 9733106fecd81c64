# SPDX-License-Identifier: Apache-2.0
"""Records which translation units are clean in clang-tidy-16, as ccache keeps objects.

The key covers everything that the verdict depends on: the preprocessed text with its comments (NOLINT), the flags, the options
of clang-tidy, .clang-tidy and the version of the program. Only clean verdicts are kept, as empty files.
"""

import hashlib
import json
import os
import shlex
import subprocess
import time
from pathlib import Path

KEPT_DAYS = 30


def default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "autopilot" / "tidy"


def _flags(entry: dict) -> list[str]:
    words = shlex.split(entry["command"])
    if Path(words[0]).name == "ccache":
        words = words[1:]
    output = words.index("-o")
    return [word for word in words[:output] + words[output + 2:] if word != "-c"]


class TidyCache:
    def __init__(self, build: Path, root: Path, folder: Path):
        self._root = root.resolve()
        self._folder = folder
        self._entries = {Path(entry["file"]).resolve(): entry
                         for entry in json.loads((build / "compile_commands.json").read_text())}
        version = subprocess.run(["clang-tidy-16", "--version"], capture_output=True, check=True).stdout
        self._common = version + (root / ".clang-tidy").read_bytes()
        folder.mkdir(parents=True, exist_ok=True)
        self._forget_old()

    def _forget_old(self):
        oldest = time.time() - KEPT_DAYS * 86400
        for mark in self._folder.iterdir():
            if mark.stat().st_mtime < oldest:
                mark.unlink(missing_ok=True)

    def mark_of(self, source: Path, options: list[str]) -> Path | None:
        """Path of the clean verdict for the current text of this source; None if it cannot be preprocessed."""
        entry = self._entries.get(source.resolve())
        if entry is None:
            return None
        compiler, *flags = _flags(entry)
        done = subprocess.run([compiler, "-E", "-C", "-P", *flags], cwd=entry["directory"], capture_output=True, check=False)
        if done.returncode != 0:
            return None
        key = hashlib.sha256(self._common)
        for folder in list(source.resolve().relative_to(self._root).parents)[-2::-1]:
            nested = self._root / folder / ".clang-tidy"
            if nested.exists():
                key.update(nested.read_bytes())
        for part in (" ".join(flags).encode(), " ".join(options).encode(), done.stdout):
            key.update(part.replace(str(self._root).encode(), b".") + b"\0")
        return self._folder / key.hexdigest()
