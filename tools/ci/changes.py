# SPDX-License-Identifier: Apache-2.0
"""Which C++ files changed, for the stages that cannot afford all of them."""

import subprocess
from pathlib import Path

from stage import ROOT

CPP = (".cpp", ".hpp", ".c", ".h")


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def all_files() -> list[Path]:
    return sorted(Path(name) for name in _git("ls-files") if name.endswith(CPP))


def base() -> tuple[str, str]:
    """Commit to compare with, and its name for people; ("", ...) where there is none."""
    head = _git("rev-parse", "HEAD")
    for branch in ("origin/main", "main"):
        merge_base = _git("merge-base", "HEAD", branch)
        if merge_base and merge_base != head:
            return merge_base[0], f"the merge base with {branch}"
    parent = _git("rev-parse", "--verify", "--quiet", "HEAD~1")
    if parent:
        return parent[0], "the last commit's parent"
    return "", "nothing: the first commit, so all files count"


def changed_files() -> tuple[list[Path], str]:
    """Tracked C++ files that differ from the base or are uncommitted, and what they were compared with."""
    commit, title = base()
    if not commit:
        return all_files(), title
    names = set(_git("diff", "--name-only", "--diff-filter=d", commit)) | set(_git("ls-files", "--others", "--exclude-standard"))
    return sorted(Path(name) for name in names if name.endswith(CPP) and (ROOT / name).exists()), title
