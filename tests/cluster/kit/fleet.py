# SPDX-License-Identifier: Apache-2.0
"""The agents of simulated nodes: many in one process, with an account that exists in tests alone."""

from pathlib import Path

from kit import network, reports
from kit.control_plane import SERVER

PROGRAM = "autopilot-fleet-sim"
ACCOUNT = "autopilot-fleet-sim"
NAMESPACE = "autopilot"
LABEL = "autopilot.ibm.com/gpuhealth"
PORT = 3333
SERVICE = "autopilot-healthchecks"
MOST_IN_A_SLICE = 100
MARK = "autopilot-test/endpoints"
# The permissions that an agent uses. No policy restricts this account to one node, because it writes all nodes.
EVERYWHERE = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]},
]
IN_DEFAULT = [{"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]}]
IN_OWN = [{"apiGroups": ["autopilot.ibm.com"], "resources": ["nodehealthreports"],
           "verbs": ["get", "list", "watch", "create", "update", "patch"]},
          {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["get", "list"]}]


def url(number: int) -> str:
    """Address of the agent with that number."""
    return f"http://{network.agent_address(number)}:{PORT}"


def start(cluster, programs: Path, count: int, *arguments: str, prefix: str = "sim-") -> int:
    """The process id. `programs` is the folder of our own ones, `arguments` those of the fleet but for its cluster and its nodes, which
    are PREFIX0, PREFIX1, ... Each agent answers at its url()."""
    reports.make(cluster.api, NAMESPACE)
    kubeconfig = make_account(cluster)
    tell_addresses(cluster.api, {f"{prefix}{number}": network.agent_address(number) for number in range(count)})
    return cluster.processes.start(PROGRAM, [
        programs / PROGRAM, "--kubeconfig", kubeconfig, "--allow-simulated", "--nodes", str(count), "--prefix", prefix,
        "--listen", f"{network.agent_address(0)}:{PORT}", *arguments])


def wait_until_all_wrote(cluster, count: int) -> None:
    """A RuntimeError with its last words where it ended instead: of a wrong argument, say."""
    def all_wrote():
        if cluster.processes.pid_of(PROGRAM) is None:
            raise RuntimeError(f"{PROGRAM} has ended:\n{cluster.processes.last_words(PROGRAM)}")
        return len(cluster.api.get("nodes", "-l", LABEL)["items"]) >= count

    cluster.api.wait(all_wrote, f"the agents of {count} simulated nodes have written", 60 + 2 * count)


def forget_addresses(api) -> None:
    """Removes the addresses of the agents, so that no client sends requests to them."""
    api.run("delete", "endpointslices", "-n", NAMESPACE, "-l", f"{MARK}=fleet", "--ignore-not-found")


def tell_addresses(api, nodes: dict[str, str], **ports: int) -> None:
    """Node -> where its agent answers, as a Service does whose pods these agents were; `ports`: further ones, by name. None of an
    earlier fleet stays."""
    forget_addresses(api)
    named = [{"name": name, "port": port} for name, port in ({"healthcheck": PORT} | ports).items()]
    endpoints = [{"addresses": [address], "nodeName": node, "conditions": {"ready": True}} for node, address in nodes.items()]
    api.apply(*({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                 "metadata": {"name": f"{PROGRAM}-{first}", "namespace": NAMESPACE,
                              "labels": {"kubernetes.io/service-name": SERVICE, MARK: "fleet"}},
                 "endpoints": endpoints[first:first + MOST_IN_A_SLICE], "ports": named}
                for first in range(0, len(endpoints), MOST_IN_A_SLICE)))


def make_account(cluster) -> Path:
    """The kubeconfig of a user with all permissions of these agents."""
    group = "rbac.authorization.k8s.io"
    objects = []
    for kind, where, rules in (("ClusterRole", {}, EVERYWHERE), ("Role", {"namespace": "default"}, IN_DEFAULT),
                               ("Role", {"namespace": NAMESPACE}, IN_OWN)):
        name = {"metadata": {"name": ACCOUNT, **where}, "apiVersion": f"{group}/v1"}
        objects += [{**name, "kind": kind, "rules": rules},
                    {**name, "kind": f"{kind}Binding", "roleRef": {"apiGroup": group, "kind": kind, "name": ACCOUNT},
                     "subjects": [{"apiGroup": group, "kind": "User", "name": ACCOUNT}]}]
    cluster.api.apply(*objects)
    kubeconfig = cluster.control_plane.kubeconfig(ACCOUNT)
    keys = cluster.control_plane.keys
    keys.write_kubeconfig(kubeconfig, SERVER, *keys.make(ACCOUNT, f"/CN={ACCOUNT}"))
    return kubeconfig
