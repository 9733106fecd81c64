# SPDX-License-Identifier: Apache-2.0
"""The programs of a cluster, built from their Go modules: once, and kept under a key of all that goes into them."""

import fcntl
import glob
import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

from kit.reason import CannotRun

MODULES = Path(__file__).resolve().parents[1] / "programs"
OLDEST_GO = (1, 23)
OWN = "autopilot.invalid/"  # what packages written here begin with

# Module folder -> package of each program.
PACKAGES = {
    "kubernetes": [f"k8s.io/kubernetes/cmd/{name}" for name in (
        "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl")],
    "etcd": ["go.etcd.io/etcd/server/v3"],
    "coredns": ["github.com/coredns/coredns"],
    "helm": ["helm.sh/helm/v3/cmd/helm"],
    "kwok": ["sigs.k8s.io/kwok/cmd/kwok"],
    "device_plugin": [f"{OWN}tests/cluster/device_plugin"],
    "cert_manager": [f"{OWN}tests/cluster/cert_manager"],
}
# Folders that are copied beside the programs of a folder, from a module that they are built from.
COPIED = {"cert_manager": ("github.com/cert-manager/cert-manager", "deploy/crds")}
# Programs whose name differs from Go's: Go's name and ours.
RENAMED = {"go.etcd.io/etcd/server/v3": ("server", "etcd")}
VERSION_FLAG = {"kubernetes": "k8s.io/component-base/version.gitVersion", "helm": "helm.sh/helm/v3/internal/version.version",
                "kwok": "sigs.k8s.io/kwok/pkg/consts.Version"}


def cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(root) / "autopilot" / "cluster"


def name_of(package: str) -> str:
    return RENAMED[package][1] if package in RENAMED else package.rsplit("/", 1)[-1]


def version_of(module: str) -> str:
    """The version of the module whose programs the folder `module` builds; "own" where they are written in the folder."""
    if PACKAGES[module][0].startswith(OWN):
        return "own"
    for line in (MODULES / module / "go.mod").read_text().splitlines():
        words = line.removeprefix("require ").split()
        if len(words) == 2 and words[1].startswith("v") and PACKAGES[module][0].startswith(words[0]):
            return words[1]
    raise AssertionError(f"{module}/go.mod requires nothing that its programs are part of")


def find_go() -> str:
    """A Go that can build them: the machine's, or that of Debian's backports."""
    found = []
    for go in (shutil.which("go"), *sorted(glob.glob("/usr/lib/go-1.*/bin/go"), reverse=True)):
        if go is None:
            continue
        said = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True,
                              env=dict(os.environ, GOTOOLCHAIN="local")).stdout.strip()
        version = tuple(int(part) for part in said.removeprefix("go").split(".")[:2])
        if version >= OLDEST_GO:
            return go
        found.append(f"{go} is {said}")
    wanted = ".".join(map(str, OLDEST_GO))
    raise CannotRun(f"Go {wanted} or newer is not here ({'; '.join(found) or 'there is none'}); tools/install-go.sh installs "
                    "that of bookworm-backports")


def key_of(module: str, go: str) -> str:
    version = subprocess.run([go, "version"], capture_output=True, text=True, check=True,
                             env=dict(os.environ, GOTOOLCHAIN="local")).stdout
    mark = hashlib.sha256(version.encode())
    for path in sorted((MODULES / module).iterdir()):
        mark.update(path.name.encode() + b"\0" + path.read_bytes())
    mark.update(repr((PACKAGES[module], VERSION_FLAG.get(module))).encode())
    mark.update(repr(COPIED[module]).encode() if module in COPIED else b"")
    return mark.hexdigest()[:16]


def _folder_of(module: str, go: str) -> Path:
    return cache() / f"{module}-{version_of(module)}-{key_of(module, go)}"


def build(modules, say) -> dict[str, Path]:
    """The programs of the folders `modules` by their names; builds programs that are not in the cache, and reports this to `say`. Several
    processes can call it at once."""
    go = find_go()
    programs = {}
    for module in modules:
        folder = _folder_of(module, go)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{folder}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                _build_into(folder, module, go, say, lock)
        programs |= {name_of(package): folder / name_of(package) for package in PACKAGES[module]}
    return programs


def check_built(modules) -> None:
    """Raises CannotRun where the programs of one of the folders are not in the cache."""
    go = find_go()
    missing = [module for module in modules if not _folder_of(module, go).is_dir()]
    if missing:
        raise CannotRun(f"{', '.join(missing)}: not built yet; make cluster-programs builds them once, in about 25 minutes of a processor")


def _build_into(folder: Path, module: str, go: str, say, lock) -> None:
    version = version_of(module)
    fresh = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    environment = dict(os.environ, GOTOOLCHAIN="local", GOWORK="off", CGO_ENABLED="0", GOFLAGS="-mod=readonly -modcacherw")
    # The compiler collects its garbage less often: a sixth of its time, for memory that builders have.
    environment.setdefault("GOGC", "400")
    flags = "-s -w" + (f" -X {VERSION_FLAG[module]}={version}" if module in VERSION_FLAG else "")
    begin = time.monotonic()
    say(f"building {module} {version} (once; kept in {folder})")
    # A killed test leaves a running Go behind, which keeps the lock.
    run = {"cwd": MODULES / module, "env": environment, "pass_fds": [lock.fileno()]}
    fetched, words = _run_long([go, "mod", "download"], run, f"fetching the modules of {module}", say)
    if not fetched:
        reason = (words.strip().splitlines() or ["no reason given"])[-1]
        raise CannotRun(f"the modules of {module} {version} cannot be had: {reason}")
    built, words = _run_long([go, "build", "-trimpath", "-ldflags", flags, "-o", f"{fresh}/", *PACKAGES[module]], run,
                             f"building {module}", say)
    if not built:
        raise RuntimeError(f"{module} does not build:\n{words}")
    for package in PACKAGES[module]:
        if package in RENAMED:
            (fresh / RENAMED[package][0]).rename(fresh / name_of(package))
    if module in COPIED:
        source, part = COPIED[module]
        where = subprocess.run([go, "list", "-m", "-f", "{{.Dir}}", source], cwd=MODULES / module, env=environment, capture_output=True,
                               text=True, check=True).stdout.strip()
        shutil.copytree(Path(where) / part, fresh / part)
    say(f"  {module} is built: {time.monotonic() - begin:.0f} s, "
        f"{sum(program.stat().st_size for program in fresh.iterdir()) / 1e6:.0f} MB")
    fresh.rename(folder)


def _run_long(command: list[str], run: dict, what: str, say) -> tuple[bool, str]:
    """Success, and the output; prints progress now and then, because it can take many minutes."""
    begin = time.monotonic()
    with subprocess.Popen(command, **run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        while True:
            try:
                words, _ = child.communicate(timeout=30)
                return child.returncode == 0, words
            except subprocess.TimeoutExpired:
                say(f"  still {what}, {time.monotonic() - begin:.0f} s")
