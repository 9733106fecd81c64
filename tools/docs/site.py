#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation site into build/site with mkdocs-material. A broken link fails.

  tools/docs/site.py          needs python3-venv, and a package index the first time
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
SOURCE = ROOT / "build" / "site-source"
FENCE = re.compile(r"^\s*```")
LINK = re.compile(r"\]\(([^()\s#]+)(#[^()\s]*)?\)")


def mkdocs() -> Path:
    """The program, in a virtual environment for these requirements."""
    key = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "autopilot"
    folder = cache / f"site-{key}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "--disable-pip-version-check", "--quiet", "install", "--requirement", REQUIREMENTS], check=True)
        (folder / "complete").touch()
    return folder / "bin" / "mkdocs"


def pages() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, text=True,
                            capture_output=True, check=True)
    return [Path(name) for name in listed.stdout.splitlines() if not name.startswith("tests/") and (ROOT / name).exists()]


def copy_page(page: Path, known: set[Path]) -> None:
    """Copies a page. A link to a folder leads to its README.md; a linked file that is not a page is copied beside it."""
    lines, is_code = [], False
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        is_code ^= bool(FENCE.match(line))
        lines.append(line if is_code else LINK.sub(lambda link: f"]({target(page, link[1], known)}{link[2] or ''})", line))
    path = SOURCE / page
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def target(page: Path, link: str, known: set[Path]) -> str:
    if ":" in link:
        return link
    other = Path(os.path.normpath(page.parent / link))
    if (ROOT / other).is_dir():
        if other / "README.md" in known:
            return f"{link.rstrip('/')}/README.md"
        return link
    if other not in known:
        # With this ending a browser shows the file.
        name = other if other.suffix in (".svg", ".png", ".json") else other.with_name(other.name + ".txt")
        (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / other, SOURCE / name)
        return f"{link}{'' if name == other else '.txt'}"
    return link


def main() -> int:
    shutil.rmtree(SOURCE, ignore_errors=True)
    known = set(pages())
    for page in known:
        copy_page(page, known)
    return subprocess.run([mkdocs(), "build", "--strict", "--quiet", "--config-file", ROOT / "mkdocs.yml"], cwd=ROOT, check=False,
                          env={**os.environ, "NO_MKDOCS_2_WARNING": "true"}).returncode


if __name__ == "__main__":
    sys.exit(main())
