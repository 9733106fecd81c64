# SPDX-License-Identifier: Apache-2.0
"""Records which stages of a plan passed for the files of a commit, so that a plan of hours resumes after an interruption.

One file per stage in ~/.cache/autopilot/passed/<tree of the commit>/; it survives `make clean` and serves another clone.
While a file differs from the commit, nothing is recorded or read.
"""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from stage import ROOT, Outcome

KEPT_DAYS = 30


def default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "autopilot" / "passed"


def committed_tree(root: Path = ROOT) -> str:
    """The tree of HEAD; empty if files differ from it."""
    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True).stdout.strip()
    try:
        return "" if git("status", "--porcelain") else git("rev-parse", "HEAD^{tree}")
    except (OSError, subprocess.CalledProcessError):
        return ""


class Passed:
    def __init__(self, plan: str, tree: str, folder: Path):
        self._folder = folder / tree / plan if tree else None
        if folder.is_dir():
            self._forget_old(folder)

    @staticmethod
    def _forget_old(folder: Path) -> None:
        oldest = time.time() - KEPT_DAYS * 86400
        for tree in folder.iterdir():
            if tree.stat().st_mtime < oldest:
                shutil.rmtree(tree, ignore_errors=True)

    def find(self, stage: str) -> Outcome | None:
        """The recorded outcome of a stage that passed for these files."""
        if self._folder is None:
            return None
        try:
            kept = json.loads((self._folder / stage).read_text())
            return Outcome(passed=kept["passed"], skipped=kept["skipped"], notes=[f"passed before for these files, on {kept['date']}"])
        except (OSError, ValueError, KeyError):
            return None

    def keep(self, stage: str, outcome: Outcome) -> None:
        if self._folder is None or outcome.failed or not outcome.passed:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        fresh = self._folder / f".{stage}"
        fresh.write_text(json.dumps({"passed": outcome.passed, "skipped": outcome.skipped, "date": time.strftime("%Y-%m-%d %H:%M")}))
        fresh.rename(self._folder / stage)
