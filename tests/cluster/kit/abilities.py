# SPDX-License-Identifier: Apache-2.0
"""Finds out by trying which parts of a cluster this machine can run."""

import os
import shutil
import subprocess
from pathlib import Path

from kit.reason import CannotRun

# Disk space for images, etcd and logs of an hour of tests.
ROOM = 10**9
NAT = """table ip autopilot_trial {
  map services {
    type ipv4_addr . inet_proto . inet_service : verdict
  }
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
    meta mark 0x4000 masquerade
  }
}
"""


def _try(command, part: str, what: str, text: str | None = None) -> None:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
        raise CannotRun(f"{part}: {what}: {reason}")


def _need(part: str, *programs: str) -> None:
    for program in programs:
        if shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
            raise CannotRun(f"{part}: {program} is not here; tools/install-deps.sh cluster installs it")


def check_root() -> None:
    if os.geteuid() != 0:
        raise CannotRun("the cluster: needs root, for its bridge and its nodes' namespaces")


def check_control_plane() -> None:
    part = "the cluster"
    check_root()
    _need(part, "ip", "openssl")
    trial = f"apkt{os.getpid()}"  # others may try at the same time
    _try(["ip", "link", "add", trial, "type", "bridge"], part, "no bridge can be made")
    _try(["ip", "link", "delete", trial], part, "a bridge cannot be removed")


def check_room(folder: Path) -> None:
    """`folder` need not be there yet."""
    there = next(parent for parent in folder.parents if parent.exists())
    free = shutil.disk_usage(there).free
    if free < ROOM:
        raise CannotRun(f"the cluster: needs {ROOM / 1e9:.0f} GB free in {there}, and there are {free / 1e9:.1f}")


def check_real_nodes() -> None:
    part = "nodes with a kubelet"
    _need(part, "containerd", "runc", "nft", "nsenter", "unshare", "mount", "conntrack", "gcc")
    if not os.path.isdir("/usr/lib/cni"):
        raise CannotRun(f"{part}: /usr/lib/cni is not here; tools/install-deps.sh cluster installs containernetworking-plugins")
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        hierarchy = ""  # version 2 alone
    elif os.path.isdir("/sys/fs/cgroup/memory"):
        hierarchy = "memory"
    else:
        raise CannotRun(f"{part}: /sys/fs/cgroup has neither version 2 nor the memory hierarchy of version 1")
    trial = os.path.join("/sys/fs/cgroup", hierarchy, f"autopilot-kit-trial-{os.getpid()}")
    try:
        os.mkdir(trial)
        os.rmdir(trial)
    except OSError as error:
        raise CannotRun(f"{part}: no control group can be made: {error}") from error
    _try(["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "true"], part, "no namespaces can be made")
    _try(["unshare", "--net", "nft", "-f", "-"], part, "this kernel translates no addresses by nftables", NAT)
