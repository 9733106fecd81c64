# SPDX-License-Identifier: Apache-2.0
"""The agents of simulated nodes: many in one process, with an account that exists in tests alone."""

from pathlib import Path

from kit import reports
from kit.control_plane import SERVER

PROGRAM = "autopilot-fleet-sim"
ACCOUNT = "autopilot-fleet-sim"
NAMESPACE = "autopilot"
LABEL = "autopilot.ibm.com/gpuhealth"
# What an agent uses of its rights. No policy keeps this account to one node: it is all of them.
EVERYWHERE = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
]
IN_DEFAULT = [{"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]}]
IN_OWN = [{"apiGroups": ["autopilot.ibm.com"], "resources": ["nodehealthreports"],
           "verbs": ["get", "list", "watch", "create", "update", "patch"]}]


def start(cluster, programs: Path, *arguments: str) -> int:
    """The process id. `programs` is the folder of our own ones, `arguments` those of the fleet but for its cluster."""
    reports.make(cluster.api, NAMESPACE)
    _make_account(cluster.api)
    kubeconfig = cluster.control_plane.kubeconfig(ACCOUNT)
    keys = cluster.control_plane.keys
    keys.write_kubeconfig(kubeconfig, SERVER, *keys.make(ACCOUNT, f"/CN={ACCOUNT}"))
    return cluster.processes.start(PROGRAM, [programs / PROGRAM, "--kubeconfig", kubeconfig, "--allow-simulated", *arguments])


def wait_until_all_wrote(cluster, count: int) -> None:
    """A RuntimeError with its last words where it ended instead: of a wrong argument, say."""
    def all_wrote():
        if cluster.processes.pid_of(PROGRAM) is None:
            raise RuntimeError(f"{PROGRAM} has ended:\n{cluster.processes.last_words(PROGRAM)}")
        return len(cluster.api.get("nodes", "-l", LABEL)["items"]) >= count

    cluster.api.wait(all_wrote, f"the agents of {count} simulated nodes have written", 60 + 2 * count)


def _make_account(api) -> None:
    group = "rbac.authorization.k8s.io"
    objects = []
    for kind, where, rules in (("ClusterRole", {}, EVERYWHERE), ("Role", {"namespace": "default"}, IN_DEFAULT),
                               ("Role", {"namespace": NAMESPACE}, IN_OWN)):
        name = {"metadata": {"name": ACCOUNT, **where}, "apiVersion": f"{group}/v1"}
        objects += [{**name, "kind": kind, "rules": rules},
                    {**name, "kind": f"{kind}Binding", "roleRef": {"apiGroup": group, "kind": kind, "name": ACCOUNT},
                     "subjects": [{"apiGroup": group, "kind": "User", "name": ACCOUNT}]}]
    api.apply(*objects)
