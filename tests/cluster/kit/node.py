# SPDX-License-Identifier: Apache-2.0
"""A node with a real kubelet: namespaces of its own for network, mounts, processes and host name, in them containerd,
kubelet and kube-proxy (node_init.py)."""

import json
import os
import shutil
import sys
import time
from pathlib import Path

from kit import network
from kit.control_plane import SERVER, ControlPlane
from kit.processes import Processes

CGROUPS = Path("/sys/fs/cgroup")
PARENT = "autopilot-kit"


class Node:
    def __init__(self, folder: Path, number: int):
        self.name = f"node-{number}"
        self.number = number
        self.folder = folder / "nodes" / self.name

    def start(self, control_plane: ControlPlane, programs: dict[str, Path], images: list[Path],
              processes: Processes) -> None:
        self.folder.mkdir(parents=True)
        network.add_node(self.name, self.number)
        self._write_keys(control_plane)
        settings = {
            "name": self.name, "folder": str(self.folder), "address": network.node_address(self.number),
            "pods": network.pods_of(self.number), "allPods": network.PODS, "dns": network.DNS_SERVICE,
            "cgroup": f"/{PARENT}/{self.name}", "authority": str(control_plane.keys.authority),
            "proxyKubeconfig": str(control_plane.kubeconfig("kube-proxy")),
            "programs": {name: str(programs[name]) for name in ("kubelet", "kube-proxy")},
            "images": [str(image) for image in images],
        }
        (self.folder / "settings.json").write_text(json.dumps(settings, indent=1))
        # The API server is asked through its address, which the node's namespaces do not change.
        processes.start(self.name, [
            "nsenter", f"--net=/run/netns/{network.namespace_of(self.name)}", "unshare", "--mount", "--uts", "--ipc", "--pid",
            "--fork", "--kill-child", sys.executable, "-B", Path(__file__).with_name("node_init.py"),
            self.folder / "settings.json"])

    def _write_keys(self, control_plane: ControlPlane) -> None:
        keys = control_plane.keys
        keys.make(self.name, f"/O=system:nodes/CN=system:node:{self.name}", [network.node_address(self.number), self.name])
        for end in ("crt", "key"):
            shutil.copy(keys.folder / f"{self.name}.{end}", self.folder / f"kubelet.{end}")
        keys.write_kubeconfig(self.folder / "kubelet.kubeconfig", SERVER, self.folder / "kubelet.crt",
                              self.folder / "kubelet.key")

    def log_of(self, program: str) -> Path:
        return self.folder / "logs" / f"{program}.log"

    def forget_agent(self) -> None:
        """Takes away what an agent keeps there: one of the real machine must not find the journal of a simulated one."""
        for entry in (self.folder / "autopilot").iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def remove(self) -> None:
        """Once its first process is killed, with which the kernel ends all the others."""
        network.remove_node(self.name, self.number)
        remove_cgroups(f"{PARENT}/{self.name}")


def remove_cgroups(below: str, patience: float = 10.0) -> None:
    """Removes cgroups. Those of programs that have just been killed can be in use for a moment."""
    until = time.monotonic() + patience
    for root in [path / below for path in CGROUPS.iterdir()]:
        while root.is_dir():
            for folder, _, _ in os.walk(root, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    pass
            if root.is_dir() and time.monotonic() > until:
                raise RuntimeError(f"{root} is still in use after {patience:.0f} s")
            if root.is_dir():
                time.sleep(0.1)
