# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the agent at each of its writes: what a deep test leaves on the node soon afterwards is the same. The nodes are objects of
this test, which plays their kubelets; API server, scheduler and the controller of Jobs are real. All of it at the same time: each has
a node, an agent and a relay of its own."""

import contextlib
import datetime
import json
import os
import signal
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import harness  # noqa: E402
from kit import audit, testing  # noqa: E402
from kit.cluster import Cluster  # noqa: E402
from kit.relay import Relay, admin_context, ask  # noqa: E402

PREFIX = "autopilot.ibm.com"
SPACE = "autopilot-kill"
LABEL = "autopilot-test/kill"
GPUS = 8
MERGE = "application/merge-patch+json"
PATIENCE = 60
PASSED = json.dumps({"deep_test": 1, "tests": [{"name": "pcie", "status": "pass", "gpus": list(range(GPUS))}],
                     "gpus": {str(gpu): "" for gpu in range(GPUS)}})


@dataclass
class Case:
    """A node that was only taken out of service, or that is reserved already; the step at which its agent is killed; and its label in the
    end. `says_nothing`: the diagnostic ends without a result."""
    name: str
    is_reserved: bool
    stop: tuple[str, str]
    end: str = "PASS"
    says_nothing: bool = False


CASES = [
    Case("reserved", False, ("reserve", "after")),
    Case("label", False, ("label TESTING", "after")),
    Case("no-label", False, ("label TESTING", "before")),
    Case("no-job", True, ("create", "before")),
    Case("job", True, ("create", "after")),
    Case("no-release", True, ("release", "before")),
    Case("released", True, ("release", "after")),
    Case("last", True, ("label PASS", "after")),
    Case("nothing-said", False, ("label TESTING", "after"), end="EVICT", says_nothing=True),
]
MODEST = "modest"


def now(ago=0):
    time_ = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=ago)
    return time_.isoformat(timespec="seconds").replace("+00:00", "Z")


def node_object(name, is_reserved):
    room = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(GPUS)}
    meta = {"name": name, "labels": {LABEL: "node", "kubernetes.io/hostname": name, f"{PREFIX}/gpuhealth": "EVICT"}}
    spec = {}
    if is_reserved:
        meta["labels"][f"{PREFIX}/gpuhealth"] = "TESTING"
        kept = {"holder": "an agent before", "since": now(10), "until": now(-900)}
        meta["annotations"] = {f"{PREFIX}/testing": json.dumps(kept)}
        spec["taints"] = [{"key": f"{PREFIX}/testing", "effect": "NoSchedule"}]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "played", "lastHeartbeatTime": now(),
             "lastTransitionTime": now()}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec,
            "status": {"capacity": room, "allocatable": room, "conditions": [ready]}}


def name_of(verb, path, body):
    """Name of a write of the agent: "label PASS", "reserve", "create", "release"."""
    if verb == "create" and path.endswith("/jobs"):
        return "create"
    if verb != "patch" or not path.startswith("/api/v1/nodes/") or path.endswith("/status"):
        return None
    patch = json.loads(body)
    if "spec" in patch:
        return "release" if patch["metadata"]["annotations"][f"{PREFIX}/testing"] is None else "reserve"
    return f"label {patch['metadata']['labels'][f'{PREFIX}/gpuhealth']}"


class Kubelets:
    """Keeps the nodes ready, and lets the pods that are bound to them end after a moment."""

    def __init__(self, context, nodes, silent):
        self._context = context
        self._nodes = nodes
        self._silent = silent  # nodes whose tests leave no result
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        for name in nodes:
            ask(context, "POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", {
                "metadata": {"name": name}, "spec": {"holderIdentity": name, "leaseDurationSeconds": 40,
                                                     "renewTime": now().replace("Z", ".000000Z")}})
        self._thread.start()

    def stop(self):
        self._stopping.set()
        self._thread.join(30)

    def _run(self):
        renewed = time.monotonic()
        while not self._stopping.wait(0.5):
            # An API server that is slow for once is asked again.
            with contextlib.suppress(OSError, RuntimeError):
                if time.monotonic() - renewed > 10:
                    renewed = time.monotonic()
                    self._renew()
                for pod in ask(self._context, "GET", f"/api/v1/namespaces/{SPACE}/pods")["items"]:
                    self._play(pod)

    def _renew(self):
        for name in self._nodes:
            ask(self._context, "PATCH", f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}",
                {"spec": {"renewTime": now().replace("Z", ".000000Z")}}, MERGE)

    def _play(self, pod):
        path = f"/api/v1/namespaces/{SPACE}/pods/{pod['metadata']['name']}"
        if "deletionTimestamp" in pod["metadata"]:
            ask(self._context, "DELETE", path, {"gracePeriodSeconds": 0})
            return
        phase = pod["status"]["phase"]
        node = pod["spec"].get("nodeName")
        if node is None or phase not in ("Pending", "Running"):
            return
        state = {"running": {"startedAt": now()}}
        if phase == "Running":
            ended = {"exitCode": 0, "reason": "Completed", "message": PASSED}
            if node in self._silent:
                ended = {"exitCode": 139, "reason": "Error", "message": ""}
            state = {"running": None, "terminated": {**ended, "startedAt": now(1), "finishedAt": now()}}
        phase = "Running" if phase == "Pending" else "Failed" if node in self._silent else "Succeeded"
        container = pod["spec"]["containers"][0]
        status = {"name": container["name"], "image": container["image"], "imageID": "", "ready": False, "restartCount": 0,
                  "state": state}
        ask(self._context, "PATCH", f"{path}/status", {"status": {"phase": phase, "containerStatuses": [status]}}, MERGE)


class KillTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.context = admin_context(cls.cluster.control_plane)
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        cls.api.wait(lambda: cls.api.get("serviceaccount", "-n", SPACE, "default"), "the namespace has its account")
        cls.addClassCleanup(cls.clean)
        cases = {f"kill-{case.name}": case.is_reserved for case in CASES} | {f"kill-{MODEST}": False}
        cls.api.run("create", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": [
            node_object(name, is_reserved) for name, is_reserved in cases.items()]}))
        kubelets = Kubelets(cls.context, list(cases), {f"kill-{case.name}" for case in CASES if case.says_nothing})
        cls.addClassCleanup(kubelets.stop)
        for name in cases:
            cls.api.wait(lambda name=name: cls.is_open(name), f"{name} takes pods")

    @classmethod
    def clean(cls):
        cls.api.run("delete", "--ignore-not-found", "--wait=false", "node", "-l", f"{LABEL}=node")
        names = [f"kill-{case.name}" for case in CASES] + [f"kill-{MODEST}"]
        cls.api.run("delete", "--ignore-not-found", "-n", "kube-node-lease", "lease", *names)
        cls.api.run("delete", "--ignore-not-found", "-n", SPACE, "jobs", "--all", "--wait=false")
        cls.api.run("delete", "--ignore-not-found", "-n", SPACE, "pods", "--all", "--force", "--grace-period=0", "--wait=false")
        cls.api.run("delete", "--ignore-not-found", "--wait=false", "namespace", SPACE)

    @classmethod
    def is_open(cls, node):
        taints = ask(cls.context, "GET", f"/api/v1/nodes/{node}")["spec"].get("taints", [])
        return all(taint["key"] == f"{PREFIX}/testing" for taint in taints)

    def settings(self, node, server, **more):
        """A configuration with deep tests whose turn is far: one is made where a node waits for it, or is reserved."""
        folder = self.folder / node
        folder.mkdir(exist_ok=True)
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        file = folder / "agent.yaml"
        file.write_text(json.dumps({
            "kubernetes": {"write_node": True, "kubeconfig": str(kubeconfig), "namespace": SPACE}, "node": node,
            "deep_test": {"every": "365d", "deadline": "2m", "image": "played", "command": ["played"]}, **more}))
        return file

    def agent(self, node, settings):
        """The next one has the journal of the one before, as a container that is started again."""
        state = self.folder / node / "agent"
        state.mkdir(exist_ok=True)
        return harness.Agent("--simulate", "hgx-h100-8", "--allow-simulated", "--config", str(settings), folder=str(state))

    def end_of(self, node):
        """The Node object's content: the same for every case, except the result of the diagnostic."""
        there = ask(self.context, "GET", f"/api/v1/nodes/{node}")
        labels, notes = there["metadata"]["labels"], there["metadata"].get("annotations", {})
        jobs = [job for job in ask(self.context, "GET", f"/apis/batch/v1/namespaces/{SPACE}/jobs")["items"]
                if job["metadata"]["annotations"][f"{PREFIX}/node"] == node]
        over = [one["type"] for job in jobs for one in job["status"].get("conditions", [])
                if one["type"] in ("Complete", "Failed") and one["status"] == "True"]
        return {"taints": [one["key"] for one in there["spec"].get("taints", [])], "reserved": notes.get(f"{PREFIX}/testing"),
                "label": labels.get(f"{PREFIX}/gpuhealth"), "level": labels.get(f"{PREFIX}/dcgm.level.3", "")[:4],
                "outcome": json.loads(notes.get(f"{PREFIX}/deep-test", "{}")).get("outcome"), "jobs": len(jobs), "over": over}

    def run_case(self, case):
        node = f"kill-{case.name}"
        agents, killed = [], []
        is_there = threading.Event()

        def kill():
            is_there.wait(30)
            agents[0].process.child.send_signal(signal.SIGKILL)
            killed.append(time.monotonic())

        relay = Relay(self.cluster.control_plane, name_of, case.stop, kill)
        after = Relay(self.cluster.control_plane, name_of)
        try:
            agents.append(self.agent(node, self.settings(node, relay.url)))
            is_there.set()
            harness.wait_until(lambda: killed, f"{case.name}: {case.stop} ({relay.names})", 150)
            agents[0].process.stop(signal.SIGKILL)
            agents.append(self.agent(node, self.settings(node, after.url)))
            said = not case.says_nothing
            expected = {"taints": [], "reserved": None, "label": case.end, "level": "PASS" if said else "",
                        "outcome": "passed" if said else None, "jobs": 1, "over": ["Complete" if said else "Failed"]}
            while (found := self.end_of(node)) != expected:
                if time.monotonic() - killed[0] > PATIENCE:
                    log = "\n".join(agents[1].process.log[-15:])
                    log += "\n" + "\n".join(str(one) for one in after.asked if one.verb in audit.WRITES)
                    raise AssertionError(f"{case.name}: {PATIENCE} s after {case.stop} it is {found}, not {expected}\n{log}")
                time.sleep(0.5)
            return f"{case.name}: {time.monotonic() - killed[0]:.0f} s after kill -9 ({' '.join(relay.names)})"
        finally:
            relay.close()
            after.close()
            for agent in agents:
                agent.process.stop(signal.SIGKILL)

    def run_modest(self):
        """Deep tests and tests of a storage class at the same time, for more than the minute that is counted."""
        node = f"kill-{MODEST}"
        relay = Relay(self.cluster.control_plane, name_of)
        pvc = {"storage_classes": {"kill-missing": ["ReadWriteOnce"]}, "period": "1m", "image": "played"}
        try:
            agent = self.agent(node, self.settings(node, relay.url, pvc=pvc))
            try:
                until = time.monotonic() + 80
                while time.monotonic() < until:
                    time.sleep(0.5)
            finally:
                agent.process.stop(signal.SIGKILL)
        finally:
            relay.close()
        asked = [one for one in relay.asked if one.code < 300]
        lists = [one for one in relay.asked if one.verb == "list"]
        for kind in ("/jobs", "/pods", "/persistentvolumeclaims"):
            if not any(kind in one.path for one in lists):
                raise AssertionError(f"nobody asked for {kind}: {sorted({one.path for one in lists})}")
        writes = audit.most_in_a_minute([one for one in asked if one.verb in audit.WRITES])
        most = audit.most_in_a_minute(lists)
        if writes > 6 or most > 6:
            raise AssertionError(f"in a minute {writes} writes and {most} lists: {[(one.time, one.path) for one in lists]}")
        return f"{MODEST}: at most {writes} writes and {most} lists in a minute"

    def test_the_same_end_after_a_kill_at_any_write(self):
        with ThreadPoolExecutor(len(CASES) + 1) as pool:
            asked = [pool.submit(self.run_case, case) for case in CASES] + [pool.submit(self.run_modest)]
        for one in asked:
            with self.subTest():
                print(one.result())


if __name__ == "__main__":
    testing.main()
