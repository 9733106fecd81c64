# SPDX-License-Identifier: Apache-2.0
"""Systems of other versions to start what ships in: folders with a Debian of another release, made of its packages and kept in
build/roots, and programs that run with such a folder as their root."""

import fcntl
import os
import shutil
import subprocess
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "roots"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def need(*programs: str) -> None:
    if os.geteuid() != 0:
        raise unittest.SkipTest("only root can make and enter another system")
    for program in programs:
        if shutil.which(program) is None:
            raise unittest.SkipTest(f"{program} is not installed (tools/install-deps.sh release)")


def archive() -> str:
    """Debian mirror of this machine."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages"], capture_output=True,
                          text=True, check=False)
    places = sorted({line.split()[1] for line in done.stdout.splitlines() if line.startswith("bookworm ")})
    if not places:
        raise unittest.SkipTest("apt knows no source of Debian 12 here")
    return places[0]


def debian(suite: str, *packages: str) -> Path:
    """A read-only folder; a skip if the packages are not available. Several processes can call it at once."""
    need("mmdebstrap", "apt-get", "unshare", "chroot")
    KEPT.mkdir(parents=True, exist_ok=True)
    folder = KEPT / "-".join((suite, *packages))
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder
        unfinished = KEPT / f"{folder.name}.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        further = [f"--include={','.join(packages)}"] if packages else []
        done = subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=apt", *further, suite, unfinished,
                               f"deb [signed-by={KEYS}] {archive()} {suite} main"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(unfinished, ignore_errors=True)
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise unittest.SkipTest(f"packages of {suite} cannot be had: {reason}")
        unfinished.rename(folder)
    return folder


def copy(folder: Path, to: Path) -> Path:
    subprocess.run(["cp", "-a", "--reflink=auto", folder, to], check=True)
    return to


def inside(root: Path, *command: str) -> list[str]:
    """The words that run a command there, with processes, devices and mounts of its own; its end is the end of all it started."""
    script = 'mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" && exec chroot "$0" "$@"'
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={root}/proc", "sh", "-c", script, str(root), *command]


def run(root: Path, *command: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **(environment or {})}
    return subprocess.run(inside(root, *command), capture_output=True, text=True, env=variables, timeout=300, check=False)


def glibc_of(root: Path) -> str:
    """"2.31"."""
    said = run(root, "ldd", "--version").stdout
    return said.split("\n", 1)[0].rsplit(" ", 1)[-1]


# File systems and devices that systemd expects at boot, without any folder of the outer machine.
_BOOT = """
mount --make-rprivate / && mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount -t sysfs -o ro sysfs "$0/sys" &&
mount -t cgroup2 cgroup2 "$0/sys/fs/cgroup" && mount -t tmpfs -o mode=755 tmpfs "$0/dev" || exit
for name in null zero full random urandom tty kmsg; do
  touch "$0/dev/$name" && mount --bind "/dev/$name" "$0/dev/$name" || exit
done
mkdir "$0/dev/pts" "$0/dev/shm" && mount -t tmpfs tmpfs "$0/run" && cd "$0" && pivot_root . mnt && umount -l /mnt &&
exec env -i container=unshare PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system
"""


class Booted:
    """A system with its own systemd as the first process, with processes, network and control groups of its own. A skip where this machine
    does not let it begin."""

    def __init__(self, root: Path):
        need("unshare", "nsenter", "pivot_root")
        self._outer = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--cgroup", "--ipc", "--uts", "--net", "sh", "-c",
                                        _BOOT, str(root)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        end = time.monotonic() + 60
        while (state := self.run("systemctl", "is-system-running").stdout.strip()) not in ("running", "degraded"):
            if self._outer.poll() is not None or time.monotonic() > end:
                said = self.close().decode(errors="replace").strip()
                raise unittest.SkipTest(f"systemd does not begin in a namespace here: {said or state or 'no reason given'}")
            time.sleep(0.2)

    def _first(self) -> str:
        with open(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children", encoding="ascii") as file:
            return file.read().strip()

    def run(self, *command: str) -> subprocess.CompletedProcess:
        enter = ["nsenter", "--target", self._first() or "0", "--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup"]
        return subprocess.run([*enter, *command], capture_output=True, text=True, timeout=300, check=False,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"})

    def close(self) -> bytes:
        """Ends the whole system, and returns the output of its console."""
        self._outer.kill()
        said, _ = self._outer.communicate()
        return said
