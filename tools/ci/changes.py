# SPDX-License-Identifier: Apache-2.0
"""Finds the changed C++ files, for stages that cannot process all files."""

import hashlib
import json
import subprocess
from pathlib import Path

from stage import ROOT

CPP = (".cpp", ".hpp", ".c", ".h")


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def marks_of_tests(preset: str, labels: tuple[str, ...]) -> dict[str, str]:
    """For each ctest test with one of the labels: a key that changes with its program and with files that are not compiled."""
    done = subprocess.run(["ctest", "--test-dir", f"build/{preset}", "--show-only=json-v1"], cwd=ROOT, text=True,
                          capture_output=True, check=True)
    data = hashlib.sha256()
    for name in sorted(set(_git("ls-files")) | set(_git("ls-files", "--others", "--exclude-standard"))):
        if not name.endswith(CPP):
            data.update(_stat_of(ROOT / name))
    marks = {}
    for test in json.loads(done.stdout)["tests"]:
        of_test = next((entry["value"] for entry in test.get("properties", []) if entry["name"] == "LABELS"), [])
        if not set(labels) & set(of_test):
            continue
        mark = data.copy()
        # ctest lists no command for a program that is not built yet.
        mark.update(_stat_of(Path(test.get("command", ["no program"])[0])))
        marks[test["name"]] = mark.hexdigest()
    return marks


def _stat_of(path: Path) -> bytes:
    try:
        found = path.stat()
        return f"{path} {found.st_mtime_ns} {found.st_size}\n".encode()
    except OSError:
        return f"{path} is missing\n".encode()


# Folders whose tests have another name than the folder below src/.
TESTS_OF = {"probes/gpu": ["gpu_probe"], "probes/net": ["net_probe"], "simulator": ["simulator"], "tests/fleet": ["fleet_sim"],
            "catalog": ["catalog"]}


def _changed_names() -> set[str]:
    commit, _ = base()
    return set(_git("diff", "--name-only", commit)) | set(_git("ls-files", "--others", "--exclude-standard"))


def nearest_tests() -> list[str]:
    """The ctest tests that cover the changed files best, committed or not."""
    tests = set()
    for parts in (Path(name).parts for name in _changed_names()):
        own = [parts[1]] if parts[0] == "src" and len(parts) > 2 else []
        tests.update(TESTS_OF.get("/".join(parts[:2]), TESTS_OF.get(parts[0], own)))
    return sorted(tests)


def nearest_golden_cases() -> list[str]:
    """The folders of tests/golden/ that cover the changed checks best: gpu.xid for src/checks/gpu/xid.cpp."""
    found = set()
    for parts in (Path(name).parts for name in _changed_names()):
        if parts[:2] == ("src", "checks") and len(parts) == 4:
            found.add(f"{parts[2]}.{Path(parts[3]).stem}")
        elif parts[:2] == ("tests", "golden") and len(parts) > 3:
            found.add(parts[2])
    return sorted(name for name in found if (ROOT / "tests" / "golden" / name).is_dir())


def all_files() -> list[Path]:
    return sorted(Path(name) for name in _git("ls-files") if name.endswith(CPP))


def base() -> tuple[str, str]:
    """The commit to compare with, and its name for messages; ("", ...) if there is none."""
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
    """Tracked C++ files that differ from the base or are uncommitted, and the name of the base."""
    commit, title = base()
    if not commit:
        return all_files(), title
    names = set(_git("diff", "--name-only", "--diff-filter=d", commit)) | set(_git("ls-files", "--others", "--exclude-standard"))
    return sorted(Path(name) for name in names if name.endswith(CPP) and (ROOT / name).exists()), title
