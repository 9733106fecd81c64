# SPDX-License-Identifier: Apache-2.0
"""Nodes that are only objects: kwok keeps them ready and marks the pods that are scheduled to them as running."""

import json
from pathlib import Path

from kit import network
from kit.processes import Processes

LABEL = "autopilot-test/node"
GPUS = "8"


def node(name: str) -> dict:
    room = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": GPUS}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {LABEL: "simulated", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
                                                  "kubernetes.io/arch": "amd64", "nvidia.com/gpu.present": "true"},
                         "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "status": {"capacity": room, "allocatable": room}}


def start_player(programs: dict[str, Path], kubeconfig: Path, processes: Processes) -> None:
    processes.start("kwok", [
        programs["kwok"], f"--kubeconfig={kubeconfig}", f"--manage-nodes-with-label-selector={LABEL}=simulated",
        f"--node-ip={network.API_ADDRESS}", "--cidr=10.216.0.0/16", "--node-lease-duration-seconds=40",
        f"--server-address={network.API_ADDRESS}:10247"])


def as_text(nodes: list[dict]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes})
