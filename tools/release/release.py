#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the prebuilt release: an archive, a .deb and an .rpm of the programs of the preset portable, in dist/.

  release.py [--arch aarch64 --programs build/portable-arm64/bin]

The same programs give the same files. nfpm builds the packages; Go builds nfpm from its module (nfpm/go.mod).
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tools" / "release"
sys.path.insert(0, str(ROOT / "tools" / "image"))

import build as image  # noqa: E402
import sbom  # noqa: E402
import symbol_versions  # noqa: E402

PROGRAMS = ("autopilot", "autopilot-gpu-probe", "autopilot-net-probe", "autopilot-sim")
# Library of simulated machines; the programs search for it in their own folder.
LIBRARIES = ("libcuda-sim.so", "libnccl-sim.so", "libnvidia-ml-sim.so")
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}  # nfpm translates them for rpm
SHELLS = {"bash": "autopilot.bash", "zsh": "_autopilot", "fish": "autopilot.fish"}


def commit_time() -> int:
    """Time stamp of all files, so that they depend only on their content."""
    told = os.environ.get("SOURCE_DATE_EPOCH")
    if told:
        return int(told)
    done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else 0


def said(program: Path, *arguments: str) -> str:
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def add_man_pages(folder: Path, here: Path) -> None:
    """Those that the program makes of its own verbs, compressed, with the time of the commit as their date."""
    environment = dict(os.environ, SOURCE_DATE_EPOCH=str(commit_time()))
    subprocess.run([here, "man", folder], env=environment, stdout=subprocess.DEVNULL, check=True)
    for page in sorted(folder.glob("man?/*")):
        write(page.with_name(page.name + ".gz"), gzip.compress(page.read_bytes(), mtime=0))
        page.unlink()


def write(path: Path, content: bytes | str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)


def lay_out(folder: Path, programs: Path, here: Path) -> None:
    """Fills the folder of the archive. here: autopilot for this machine."""
    version = said(here, "version").split()[1]
    contents = {name: image.stripped(programs / name) for name in (*PROGRAMS, *LIBRARIES)}
    for name, content in contents.items():
        write(folder / "bin" / name, content, 0o755)
    (folder / "bin" / "kubectl-autopilot").symlink_to("autopilot")
    for unit in sorted((ROOT / "deploy" / "systemd").glob("*.service")):
        write(folder / "systemd" / unit.name, unit.read_bytes())
    for shell, name in SHELLS.items():
        write(folder / "completions" / name, said(here, "completion", shell))
    add_man_pages(folder / "man", here)
    for name in ("README.md", "config.yaml"):
        write(folder / name, (HERE / name).read_text(encoding="utf-8").replace("GLIBC", symbol_versions.OLDEST))
    write(folder / "LICENSE", (ROOT / "LICENSE").read_bytes())
    for package in sbom.LINKED:
        write(folder / "licences" / package, sbom.copyright_of(package).read_bytes())
    parts = sbom.document(folder.name, version, contents, [], [])
    write(folder / "sbom.spdx.json", json.dumps(parts, indent=2) + "\n")
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(folder)}\n"
            for file in sorted(folder.rglob("*")) if file.is_file() and not file.is_symlink()]
    write(folder / "SHA256SUMS", "".join(sums))


def pack(folder: Path, path: Path, time: int) -> None:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for file in [folder, *sorted(folder.rglob("*"))]:
            entry = archive.gettarinfo(file, str(file.relative_to(folder.parent)))
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            entry.mtime = time
            entry.mode = 0o755 if file.is_dir() else entry.mode
            if entry.isreg():
                with file.open("rb") as content:
                    archive.addfile(entry, content)
            else:
                archive.addfile(entry)
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=time) as packed:
        packed.write(tar.getvalue())


def nfpm() -> Path:
    """Builds nfpm once; a Go that is too old reports this and loads no other."""
    folder = ROOT / "build" / "go"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "autopilot" / "go"
    environment = dict(os.environ, GOTOOLCHAIN="local", GOPATH=str(cache), GOMODCACHE=str(cache / "modules"), GOCACHE=str(cache / "cache"),
                       GOFLAGS="-mod=readonly -modcacherw", GOWORK="off", CGO_ENABLED="0")
    subprocess.run(["go", "build", "-trimpath", "-o", folder / "nfpm", "github.com/goreleaser/nfpm/v2/cmd/nfpm"], cwd=HERE / "nfpm",
                   env=environment, check=True)
    return folder / "nfpm"


def package(kind: str, program: Path, folder: Path, arch: str, version: str, out: Path, time: int) -> Path:
    path = out / f"{folder.name}.{kind}"
    environment = dict(os.environ, SOURCE_DATE_EPOCH=str(time), ARCH=DEBIAN[arch], VERSION=version, GLIBC=symbol_versions.OLDEST)
    done = subprocess.run([program, "package", "--config", HERE / "package.yaml", "--packager", kind, "--target", path], cwd=folder, env=environment,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"nfpm could not make {path}:\n{done.stdout}{done.stderr}")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", choices=sorted(DEBIAN), default=os.uname().machine, help="for which the programs are (%(default)s)")
    parser.add_argument("--programs", type=Path, default=ROOT / "build" / "portable" / "bin", help="build/portable/bin")
    parser.add_argument("--here", type=Path, help="autopilot for this machine, where the programs are for another one")
    parser.add_argument("--version", help="that of the program where it is left out; a package is upgraded by a greater one")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="dist")
    options = parser.parse_args()
    here = options.here or options.programs / "autopilot"
    for needed in (here, *(options.programs / name for name in (*PROGRAMS, *LIBRARIES))):
        if not needed.exists():
            parser.error(f"{needed} is not there: `make release-binaries` builds it")
    found = [problem for name in (*PROGRAMS, *LIBRARIES)
             for problem in symbol_versions.problems(name, symbol_versions.described(options.programs / name), symbol_versions.OLDEST)]
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    version = options.version or said(here, "version").split()[1]
    time = commit_time()
    laid_out = ROOT / "build" / "release-files"
    folder = laid_out / f"autopilot-{version}-linux-{options.arch}"
    shutil.rmtree(folder, ignore_errors=True)
    lay_out(folder, options.programs, here)
    options.out.mkdir(parents=True, exist_ok=True)
    archive = options.out / f"{folder.name}.tar.gz"
    pack(folder, archive, time)
    packager = nfpm()
    made = [archive, *(package(kind, packager, folder, options.arch, version, options.out, time) for kind in ("deb", "rpm"))]
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in made]
    write(options.out / f"{folder.name}.sha256", "".join(sums))
    for file in made:
        print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
