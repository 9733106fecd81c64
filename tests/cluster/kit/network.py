# SPDX-License-Identifier: Apache-2.0
"""The network of a cluster: a bridge on this machine, and for each node a network namespace with an address on it."""

import subprocess
from pathlib import Path

from kit.reason import CannotRun

BRIDGE = "apkit0"
API_ADDRESS = "10.213.0.1"  # this machine's end of the bridge
PODS = "10.214.0.0/16"
SERVICES = "10.215.0.0/24"
API_SERVICE = "10.215.0.1"
DNS_SERVICE = "10.215.0.10"


def node_address(number: int) -> str:
    return f"10.213.0.{10 + number}"


def pods_of(number: int) -> str:
    return f"10.214.{number}.0/24"


def namespace_of(node: str) -> str:
    return f"apkit-{node}"


def outside_end(number: int) -> str:
    """The end of a node's cable that is on the bridge."""
    return f"apkit-n{number}"


def ip(*arguments, may_fail: bool = False) -> bool:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0 and not may_fail:
        raise CannotRun(f"network of the cluster: ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.returncode == 0


def owner() -> str | None:
    """The folder of the cluster whose bridge is on this machine."""
    alias = Path("/sys/class/net") / BRIDGE / "ifalias"
    return alias.read_text().strip() if alias.exists() else None


def check_free() -> None:
    there = owner()
    if there is not None:
        raise CannotRun(f"there is one cluster at a time on a machine, and that of {there or 'somebody'} is here; "
                        "make cluster-down ends it, in its own checkout")


def make_bridge(folder: Path) -> None:
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("link", "set", BRIDGE, "alias", str(folder))
    ip("address", "add", f"{API_ADDRESS}/24", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")


def remove_bridge() -> None:
    ip("link", "delete", BRIDGE, may_fail=True)


def add_node(node: str, number: int) -> None:
    """A namespace with the node's address; this machine reaches the node's pods through it."""
    namespace = namespace_of(node)
    outside, address = outside_end(number), node_address(number)
    ip("netns", "add", namespace)
    ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    ip("link", "set", outside, "master", BRIDGE, "up")
    for command in (["link", "set", "lo", "up"], ["address", "add", f"{address}/24", "dev", "eth0"],
                    ["link", "set", "eth0", "up"], ["route", "add", "default", "via", API_ADDRESS]):
        ip("-netns", namespace, *command)
    ip("route", "add", pods_of(number), "via", address)


def connect_pods(nodes: dict[str, int]) -> None:
    """Each node learns where the pods of the others are."""
    for node in nodes:
        for other, number in nodes.items():
            if other != node:
                ip("-netns", namespace_of(node), "route", "replace", pods_of(number), "via", node_address(number))


def remove_node(node: str, number: int) -> None:
    ip("route", "delete", pods_of(number), may_fail=True)
    ip("link", "delete", outside_end(number), may_fail=True)
    ip("netns", "delete", namespace_of(node), may_fail=True)
