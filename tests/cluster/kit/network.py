# SPDX-License-Identifier: Apache-2.0
"""The network of a cluster: a bridge on this machine, and for each node a network namespace with an address on it."""

import errno
import ipaddress
import socket
import subprocess
from pathlib import Path

from kit.reason import CannotRun

BRIDGE = "apkit0"
API_ADDRESS = "10.213.0.1"  # this machine's end of the bridge
API_PORT = 6443
PODS = "10.214.0.0/16"
SERVICES = "10.215.0.0/24"
API_SERVICE = "10.215.0.1"
DNS_SERVICE = "10.215.0.10"
# Network of simulated agents. Every address in it belongs to this machine, and pods of real nodes can reach it.
AGENTS = "10.217.0.0/16"
INTERFACE = "eth0"  # in the namespace of a node, to the bridge


def node_address(number: int) -> str:
    return f"10.213.0.{10 + number}"


def host_address(number: int) -> str:
    """Address of a simulated agent with a separate network: the first has the number 0."""
    return f"10.213.0.{100 + number}"


def agent_address(number: int) -> str:
    """Address of a simulated agent: the first has the number 0."""
    return str(ipaddress.ip_network(AGENTS)[number + 1])


def pods_of(number: int) -> str:
    return f"10.214.{number}.0/24"


def namespace_of(node: str) -> str:
    return f"apkit-{node}"


def outside_end(number: int) -> str:
    """The end of a node's cable that is on the bridge."""
    return f"apkit-n{number}"


def outside_end_of_host(number: int | str) -> str:
    return f"apkit-h{number}"


def ip(*arguments, may_fail: bool = False) -> bool:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0 and not may_fail:
        raise CannotRun(f"network of the cluster: ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.returncode == 0


def owner() -> str | None:
    """The folder of the cluster whose bridge is on this machine; empty: it was ended before it could say so."""
    alias = Path("/sys/class/net") / BRIDGE / "ifalias"
    return alias.read_text().strip() if alias.exists() else None


def is_left_over() -> bool:
    """True if there is a bridge without a cluster that can be ended: its folder is gone, or has no owner and serves nothing."""
    there = owner()
    if there is None:
        return False
    return not Path(there).exists() if there else not is_taken(API_PORT)


def check_free() -> None:
    if is_left_over():
        raise CannotRun(f"what is left of a cluster that ended badly is on this machine (bridge {BRIDGE}); make cluster-down "
                        "takes it away")
    there = owner()
    if there is not None:
        raise CannotRun(f"there is one cluster at a time on a machine, and that of {there or 'somebody'} is here; "
                        "make cluster-down ends it, in its own checkout")


def is_taken(port: int) -> bool:
    """True if a program listens on this port of the bridge's address, or of every address of this machine."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((API_ADDRESS, port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


def check_ports(ports) -> None:
    """Once there is a bridge."""
    for port in ports:
        if is_taken(port):
            raise CannotRun(f"port {port} is in use: a program listens there on every address of this machine; "
                            f"ss -ltnp 'sport = :{port}' says which")


def make_bridge(folder: Path) -> None:
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("link", "set", BRIDGE, "alias", str(folder))
    ip("address", "add", f"{API_ADDRESS}/24", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")
    # It goes away with the bridge.
    ip("route", "add", "local", AGENTS, "dev", BRIDGE)


def remove_bridge() -> None:
    ip("link", "delete", BRIDGE, may_fail=True)


def _add_namespace(node: str, address: str, outside: str) -> None:
    """Adds a namespace with a cable to the bridge."""
    namespace = namespace_of(node)
    ip("netns", "add", namespace)
    ip("link", "add", outside, "type", "veth", "peer", "name", INTERFACE, "netns", namespace)
    ip("link", "set", outside, "master", BRIDGE, "up")
    for command in (["link", "set", "lo", "up"], ["address", "add", f"{address}/24", "dev", INTERFACE],
                    ["link", "set", INTERFACE, "up"], ["route", "add", "default", "via", API_ADDRESS]):
        ip("-netns", namespace, *command)


def add_node(node: str, number: int) -> None:
    """A namespace with the node's address; this machine reaches the node's pods through it."""
    _add_namespace(node, node_address(number), outside_end(number))
    ip("route", "add", pods_of(number), "via", node_address(number))


def add_host(node: str, number: int, nodes: list[int]) -> None:
    """A namespace for the agent of a simulated node, which knows where the pods of these real ones are."""
    _add_namespace(node, host_address(number), outside_end_of_host(number))
    for other in nodes:
        ip("-netns", namespace_of(node), "route", "add", pods_of(other), "via", node_address(other))


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


def remove_host(node: str, number: int) -> None:
    # The removal of its namespace would delete the link only later.
    ip("link", "delete", outside_end_of_host(number), may_fail=True)
    ip("netns", "delete", namespace_of(node), may_fail=True)


def remove_hosts() -> None:
    """Removes hosts of all names and numbers. Namespaces of real nodes are removed before."""
    for cable in Path("/sys/class/net").glob(outside_end_of_host("*")):
        ip("link", "delete", cable.name, may_fail=True)
    for namespace in Path("/run/netns").glob(namespace_of("*")):
        ip("netns", "delete", namespace.name, may_fail=True)
