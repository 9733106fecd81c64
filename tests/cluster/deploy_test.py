# SPDX-License-Identifier: Apache-2.0
"""What deploy/ installs, on a node with a kubelet, with exactly the rights that it gives: the agent, and what somebody could do
who has the agent's token."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

from kit import images
from kit.api import Api, ApiError, condition_of
from kit.cluster import ROOT, Cluster
from kit.control_plane import SERVER
from kit.reason import CannotRun

sys.path.insert(0, str(ROOT / "tools" / "deploy"))

import render  # noqa: E402

SKIPPED = 77
NODE = "node-0"
PREFIX = "autopilot.ibm.com"
ACCOUNT = "system:serviceaccount:autopilot:autopilot"
AGENT_USER = 65532
CONDITIONS = ("GpuHealthy", "NetworkHealthy", "StorageHealthy", "HostHealthy")
IMAGE = images.name_of("autopilot").rsplit(":", 1)
CAP_SYSLOG = 34


class Deployment:
    """The manifests of one profile on one node, with nothing changed but the image, the node and further arguments."""

    def __init__(self, cluster, profile, *arguments):
        self.api = cluster.api
        settings = [f"image.repository={IMAGE[0]}", f"image.tag={IMAGE[1]}", f"nodeSelector.kubernetes\\.io/hostname={NODE}"]
        if arguments:
            settings.append(f"extraArgs={{{','.join(arguments)}}}")
        self.text = render.render(render.find_helm(), profile, settings)

    def apply(self):
        self.api.run("apply", "--server-side", "--force-conflicts", "--field-manager=kit", "-f", "-", text=self.text)
        return self.api.wait(self.running_pod, "the agent's pod is ready", 90)

    def running_pod(self):
        """The one pod, when it is ready and of the newest template."""
        daemon = self.api.get("daemonset/autopilot", "-n", "autopilot")
        if daemon["status"].get("observedGeneration") != daemon["metadata"]["generation"]:
            return None
        if daemon["status"].get("updatedNumberScheduled") != 1 or daemon["status"].get("numberReady") != 1:
            return None
        pods = self.api.get("pods", "-n", "autopilot", "-l", "app=autopilot")["items"]
        return pods[0] if len(pods) == 1 and condition_of(pods[0], "Ready") == "True" else None

    def remove(self):
        self.api.run("delete", "--ignore-not-found", "-f", "-", "--wait=false", text=self.text)
        self.api.wait(lambda: not self.api.run("get", "namespace", "autopilot", "--ignore-not-found"), "the namespace is gone")
        notes = [f"{PREFIX}/summary-", f"{PREFIX}/checked-at-"]
        self.api.run("annotate", "node", NODE, *notes)
        self.api.run("label", "node", NODE, f"{PREFIX}/gpuhealth-")

    def logs(self, container="agent"):
        return self.api.run("logs", "-n", "autopilot", "daemonset/autopilot", "-c", container)

    def autopilot(self, *arguments):
        return self.api.run("exec", "-n", "autopilot", "daemonset/autopilot", "-c", "agent", "--", "autopilot", *arguments)


class ManifestsTest(unittest.TestCase):
    def test_they_are_what_the_chart_makes(self):
        stale = [str(path.relative_to(ROOT)) for path in render.stale(render.find_helm())]
        self.assertEqual(stale, [], "tools/deploy/render.py writes them")

    def test_the_chart_says_what_is_wrong_with_its_values(self):
        for setting, words in (("profile=ful", 'expected dropin or full, not "ful"'),
                               ("labelPrefix=a'b", "expected a DNS name")):
            with self.assertRaisesRegex(RuntimeError, words):
                render.render(render.find_helm(), "dropin", [setting])


class OnNode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        if not cls.cluster.nodes:
            raise unittest.SkipTest("this cluster has no node with a kubelet")

    def node(self):
        return self.api.get("node", NODE)

    def label(self):
        return self.node()["metadata"]["labels"].get(f"{PREFIX}/gpuhealth")


class DropinTest(OnNode):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.deployment = Deployment(cls.cluster, "dropin", "--simulate", "hgx-h100-8", "--allow-simulated")
        cls.addClassCleanup(cls.deployment.remove)
        cls.pod = cls.deployment.apply()

    def test_a_healthy_node_reaches_pass_and_does_so_again_after_a_restart(self):
        self.api.wait(lambda: self.label() == "PASS", "the label says PASS")
        self.api.wait(lambda: [condition_of(self.node(), kind) for kind in CONDITIONS] == ["True"] * 4, "conditions are True")
        self.assertNotRegex(self.deployment.logs(), "(?i)forbidden|denied| 403")
        self.api.run("delete", "pod", "-n", "autopilot", self.pod["metadata"]["name"])
        self.api.run("label", "node", NODE, f"{PREFIX}/gpuhealth-")
        type(self).pod = self.api.wait(self.deployment.running_pod, "the next pod is ready", 90)
        self.api.wait(lambda: self.label() == "PASS", "the label says PASS again")
        self.assertNotRegex(self.deployment.logs(), "(?i)forbidden|denied| 403")

    def test_it_has_these_rights_and_no_others(self):
        for verb, what, where, is_allowed in (
                ("get", "nodes", None, True), ("watch", "nodes", None, True), ("patch", "nodes", None, True),
                ("patch", "nodes/status", None, True), ("list", "pods", "default", True),
                ("create", "tokenreviews.authentication.k8s.io", None, True), ("list", "storageclasses", None, True),
                ("create", "events", "default", True), ("create", "jobs", "autopilot", True),
                ("create", "pods", "autopilot", True), ("delete", "persistentvolumeclaims", "autopilot", True),
                ("patch", f"nodehealthreports.{PREFIX}", "autopilot", True), ("get", "daemonsets", "autopilot", True),
                ("delete", "nodes", None, False), ("create", "nodes", None, False), ("get", "nodes/proxy", None, False),
                ("create", "pods", "default", False), ("create", "pods/exec", "autopilot", False),
                ("create", "pods/eviction", "default", False), ("get", "secrets", "autopilot", False),
                ("get", "configmaps", "autopilot", False), ("create", "serviceaccounts/token", "autopilot", False),
                ("create", "jobs", "default", False), ("create", "events", "autopilot", False),
                ("patch", "daemonsets", "autopilot", False), ("impersonate", "users", None, False)):
            with self.subTest(f"{verb} {what} in {where}"):
                place = ["-n", where] if where else []
                try:
                    said = self.api.run("auth", "can-i", verb, what, "--as", ACCOUNT, *place).strip()
                except ApiError:  # the answer no is exit code 1
                    said = "no"
                self.assertEqual(said, "yes" if is_allowed else "no")


class TokenTest(OnNode):
    """Somebody has the token of the agent on one node. Nothing here is done for good: each is tried with --dry-run=server."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        deployment = Deployment(cls.cluster, "dropin", "--simulate", "hgx-h100-8", "--allow-simulated")
        cls.addClassCleanup(deployment.remove)
        pod = deployment.apply()["metadata"]
        cls.agent = cls.with_token("--bound-object-kind=Pod", f"--bound-object-name={pod['name']}", f"--bound-object-uid={pod['uid']}")

    @classmethod
    def with_token(cls, *bound):
        token = cls.api.run("create", "token", "autopilot", "-n", "autopilot", *bound).strip()
        file = tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8")
        cls.addClassCleanup(file.close)
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                   "clusters": [{"name": "c", "cluster": {"server": SERVER, "certificate-authority":
                                                          str(cls.cluster.control_plane.keys.authority)}}],
                   "users": [{"name": "c", "user": {"token": token}}],
                   "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}, file)
        file.flush()
        return Api(cls.cluster.programs["kubectl"], Path(file.name))

    def patch_node(self, change, node=NODE, subresource=None, agent=None):
        part = [f"--subresource={subresource}"] if subresource else []
        (agent or self.agent).run("patch", "node", node, "--type=strategic", "--dry-run=server", *part, "-p", json.dumps(change))

    def create(self, object_):
        self.agent.run("create", "--dry-run=server", "-f", "-", text=json.dumps(object_))

    def assert_denied(self, policy, words, action, *arguments, **named):
        with self.assertRaises(ApiError) as caught:
            action(*arguments, **named)
        self.assertIn(f"ValidatingAdmissionPolicy '{policy}'", str(caught.exception))
        self.assertIn(words, str(caught.exception))

    def test_it_writes_what_an_agent_writes(self):
        own = f"{PREFIX}/dcgm.level.3"
        self.patch_node({"metadata": {"labels": {f"{PREFIX}/gpuhealth": "WARN", own: "PASS_x"}, "annotations": {own: "x"}}})
        self.patch_node({"metadata": {"labels": {f"{PREFIX}/gpuhealth": None}}})
        self.patch_node({"spec": {"taints": [{"key": f"{PREFIX}/testing", "effect": "NoSchedule"}]}})
        for kind in CONDITIONS:
            self.patch_node({"status": {"conditions": [condition(kind)]}}, subresource="status")
        self.create(event_about(NODE))

    def test_no_other_node(self):
        words = "only the node that it was made for"
        label = {"metadata": {"labels": {f"{PREFIX}/gpuhealth": "EVICT"}}}
        self.assert_denied("autopilot-node", words, self.patch_node, label, node="sim-0")
        self.assert_denied("autopilot-node", words, self.patch_node, {"status": {"conditions": [condition("GpuHealthy")]}},
                           node="sim-0", subresource="status")
        self.assert_denied("autopilot-event", "events about the node", self.create, event_about("sim-0"))
        # Nor any with a token that was made for no pod.
        self.assert_denied("autopilot-node", words, self.patch_node, label, agent=self.with_token())

    def test_nothing_else_of_its_own_node(self):
        for words, change, subresource in (
                ("of the spec only taints", {"spec": {"unschedulable": True}}, None),
                ("only labels", {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}, None),
                ("only labels", {"metadata": {"labels": {"kubernetes.io/hostname": None}}}, None),
                ("only labels", {"metadata": {"labels": {"zone": "a"}}}, "status"),
                ("only annotations", {"metadata": {"annotations": {"example.org/note": "x"}}}, None),
                ("of the metadata", {"metadata": {"finalizers": ["example.org/stay"]}}, None),
                ("of the metadata", {"metadata": {"ownerReferences": [
                    {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x"}]}}, None),
                ("only the taint", {"spec": {"taints": [{"key": "example.org/x", "effect": "NoSchedule"}]}}, None),
                ("only the taint", {"spec": {"taints": [{"key": f"{PREFIX}/testing", "effect": "NoExecute"}]}}, None),
                ("only the conditions", {"status": {"conditions": [condition("Ready")]}}, "status"),
                ("of the status only conditions", {"status": {"capacity": {"example.org/gpu": "8"}}}, "status")):
            with self.subTest(change):
                self.assert_denied("autopilot-node", words, self.patch_node, change, subresource=subresource)

    def test_nothing_that_would_give_it_more(self):
        self.create(job())
        for words, changed in (
                ("the agent's account", {"serviceAccountName": "autopilot"}),
                ("see the node", {"hostPID": True}), ("see the node", {"hostNetwork": True}),
                ("see the node", {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]}),
                ("rights on the node", {"containers": [container({"privileged": True})]}),
                ("rights on the node", {"initContainers": [container({"capabilities": {"add": ["SYS_ADMIN"]}})]})):
            with self.subTest(changed):
                self.assert_denied("autopilot-pod", words, self.create, job(**changed))
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "test", "namespace": "autopilot"},
               "spec": {**job()["spec"]["template"]["spec"], "serviceAccountName": "autopilot"}}
        self.assert_denied("autopilot-pod", "the agent's account", self.create, pod)

    def test_only_the_report_of_its_own_node(self):
        if not any(render.DEPLOY.glob("crds/nodehealthreports.yaml")):
            self.skipTest("there is no deploy/crds/nodehealthreports.yaml")
        self.create(report_of(NODE))
        self.assert_denied("autopilot-report", "only the report of the node", self.create, report_of("sim-0"))

    def test_a_node_with_very_many_labels_can_be_written(self):
        names = {f"example.org/{number:03}": "x" * 63 for number in range(500)}
        self.api.run("patch", "node", NODE, "-p", json.dumps({"metadata": {"labels": names, "annotations": names}}))
        gone = dict.fromkeys(names)
        self.addCleanup(self.api.run, "patch", "node", NODE, "-p", json.dumps({"metadata": {"labels": gone, "annotations": gone}}))
        self.patch_node({"metadata": {"labels": {f"{PREFIX}/gpuhealth": "WARN"}}})

    def test_the_expressions_fit_what_they_are_about(self):
        names = ("autopilot-node", "autopilot-event", "autopilot-report", "autopilot-pod")
        for name in names:
            policy = self.api.wait(lambda name=name: self.checked(name), f"{name} is checked")
            self.assertNotIn("expressionWarnings", policy["status"].get("typeChecking", {}))

    def checked(self, name):
        policy = self.api.get("validatingadmissionpolicy", name)
        return policy if policy.get("status", {}).get("observedGeneration") == policy["metadata"]["generation"] else None


class FullTest(OnNode):
    """On the machine itself: a simulated one has no kernel log that a helper could read."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not has_capability(CAP_SYSLOG):
            raise unittest.SkipTest("profile full: the right to read the kernel log (CAP_SYSLOG) cannot be given here")
        cls.deployment = Deployment(cls.cluster, "full")
        cls.addClassCleanup(cls.deployment.remove)
        cls.pod = cls.deployment.apply()

    def test_an_agent_without_rights_reads_the_kernel_log_and_keeps_its_journal_on_the_node(self):
        self.assertEqual({status["name"]: status["ready"] for status in self.pod["status"]["containerStatuses"]},
                         {"agent": True, "kernel-log": True})
        node = json.loads(self.deployment.autopilot("status", "-o", "json"))
        result = next(result for result in node["results"] if result["check"] == "host.lockups")
        self.assertNotEqual(result["health"], "unknown", result)
        self.api.wait(lambda: condition_of(self.node(), "HostHealthy"), "HostHealthy is written")
        self.assertNotRegex(self.deployment.logs(), "(?i)forbidden| 403")
        kept = [path for path in (self.cluster.nodes[0].folder / "autopilot").rglob("*") if path.is_file()]
        self.assertEqual({path.stat().st_uid for path in kept}, {AGENT_USER}, kept)


def condition(kind):
    return {"type": kind, "status": "False", "reason": "Tried", "message": "by a test"}


def event_about(node):
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{node}.1", "namespace": "default"}, "type": "Normal",
            "reason": "Tried", "message": "by a test", "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node}}


def report_of(node):
    return {"apiVersion": f"{PREFIX}/v1alpha1", "kind": "NodeHealthReport", "metadata": {"name": node, "namespace": "autopilot"}}


def container(security):
    return {"name": "main", "image": images.name_of("busybox"), "securityContext": security}


def job(**changed):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "test", "namespace": "autopilot"},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container({})], **changed}}}}


def has_capability(number):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapBnd:"):
            return bool(int(line.split()[1], 16) >> number & 1)
    return False


if __name__ == "__main__":
    try:
        Cluster().open()
    except CannotRun as reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
