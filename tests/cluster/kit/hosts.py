# SPDX-License-Identifier: Apache-2.0
"""Agents of simulated nodes, each a process with a network of its own: a namespace with a cable to the cluster's bridge. What a cable
carries can be limited, so tests between these nodes measure something."""

import json
import subprocess
from pathlib import Path

from kit import fleet, network, simulated
from kit.inside_tls import PORT as TLS_PORT

MACHINE = "hgx-h100-8"


class Hosts:
    """One host for each of `names`; certificates of the cluster's authority identify their agents, as those of real nodes."""

    def __init__(self, cluster, names: list[str]):
        self._cluster = cluster
        self._numbers = {name: number for number, name in enumerate(names)}

    def start(self, program: Path) -> None:
        """The agents are ready afterwards, and listed by the Service of agents, whose namespace is there before."""
        api, names = self._cluster.api, list(self._numbers)
        api.run("create", "-f", "-", text=simulated.as_text([simulated.node(name) for name in names]))
        kubeconfig = fleet.make_account(self._cluster)
        fleet.tell_addresses(api, {name: network.host_address(number) for name, number in self._numbers.items()}, tls=TLS_PORT)
        for name, number in self._numbers.items():
            # The file of an earlier run would state that it is ready.
            self._cluster.processes.log_of(_process(name)).unlink(missing_ok=True)
            network.add_host(name, number, [node.number for node in self._cluster.nodes])
            self._cluster.processes.start(_process(name), [
                "ip", "netns", "exec", network.namespace_of(name), program, "agent", "--simulate", MACHINE, "--allow-simulated",
                "--config", self._write_settings(name, kubeconfig)])
        for name in names:
            api.wait(lambda name=name: self._is_ready(name), f"the agent of {name} is ready")

    def stop(self) -> None:
        for name, number in self._numbers.items():
            self._cluster.processes.stop(_process(name))
            network.remove_host(name, number)
        fleet.forget_addresses(self._cluster.api)
        self._cluster.api.run("delete", "node", "--ignore-not-found", *self._numbers)

    def limit(self, name: str, megabits: int) -> None:
        """Rate of the cable of that node, in each direction."""
        for where, interface in ((["-n", network.namespace_of(name)], network.INTERFACE), ([], network.outside_end_of_host(self._numbers[name]))):
            subprocess.run(["tc", *where, "qdisc", "replace", "dev", interface, "root", "tbf", "rate", f"{megabits}mbit", "burst", "64kb",
                            "latency", "200ms"], check=True)

    def _write_settings(self, name: str, kubeconfig: Path) -> Path:
        keys = self._cluster.control_plane.keys
        certificate, key = keys.make(_process(name), f"/CN={name}", [name])
        folder = self._cluster.folder / "hosts" / name
        folder.mkdir(parents=True, exist_ok=True)
        settings = folder / "settings.yaml"
        settings.write_text(json.dumps({
            "node": name, "listen": f":{fleet.PORT}", "socket": str(folder / "agent.sock"), "state_dir": str(folder / "state"),
            "kubernetes": {"write_node": True, "kubeconfig": str(kubeconfig), "namespace": fleet.NAMESPACE}, "ping": {"every": "0s"},
            "network": {"interfaces": [network.INTERFACE]},
            "tls": {"mode": "files", "listen": f":{TLS_PORT}", "certificate": str(certificate), "key": str(key),
                    "authorities": str(keys.authority)}}))
        return settings

    def _is_ready(self, name: str) -> bool:
        processes = self._cluster.processes
        if processes.pid_of(_process(name)) is None:
            raise RuntimeError(f"the agent of {name} has ended:\n{processes.last_words(_process(name))}")
        return "agent ready" in processes.log_of(_process(name)).read_text()


def _process(name: str) -> str:
    return f"agent-of-{name}"
