# SPDX-License-Identifier: Apache-2.0
"""Actions of the controller on unhealthy nodes, with a real API server and the permissions and policies of the chart. Nodes are objects
that a thread keeps ready, and pods are bound to them and run nowhere; the controller is a process beside the cluster with the token of
its account, and requests with tokens of agents replace the agents."""

import datetime
import json
import os
import signal
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import yaml

from kit import testing
from kit.api import ApiError
from kit.caller import Caller
from kit.cluster import ROOT, Cluster
from kit.control_plane import SERVER
from kit.deployment import NAMESPACE, PREFIX, render

sys.path.insert(0, str(ROOT / "tests" / "integration"))

import harness  # noqa: E402
from controller_test import Controller  # noqa: E402

SPACE = "autopilot-jobs"
NODES = ("rem-0", "rem-1", "rem-2")
BAD = NODES[0]
TEST = "gpu.pcie_bandwidth"
RIGHTS = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "CustomResourceDefinition",
          "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
HELD, PROBATION, SHALL_TEST = f"{PREFIX}/held", f"{PREFIX}/probation", f"{PREFIX}/shall-test"


def now(**later):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(**later)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def node(name):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"rem": ""}}, "spec": {"podCIDR": "10.217.0.0/24"}}


def node_status():
    room = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}
    return {"status": {"capacity": room, "allocatable": room, "conditions": [
        {"type": "Ready", "status": "True", "reason": "Test", "lastHeartbeatTime": now(), "lastTransitionTime": now()}]}}


def careful(name):
    return {"name": name, "image": "none:1", "securityContext": {
        "allowPrivilegeEscalation": False, "runAsNonRoot": True, "runAsUser": 1000, "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"}}}


def pod(name, where, owner=None):
    """A pod in its gate. Without a kubelet, a pod without a grace period is deleted at once."""
    main = careful("main") | {"resources": {"limits": {"nvidia.com/gpu": "8"}}}
    meta = {"name": name, "namespace": SPACE, "labels": {"autopilot": ""}}
    if owner:
        meta["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": owner["metadata"]["name"],
                                    "uid": owner["metadata"]["uid"], "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {
        "nodeName": where, "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False,
        "initContainers": [careful("autopilot-preflight")], "containers": [main]}}


class RemediationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        text = render.render(render.find_helm(), "dropin", ["controller.enabled=true", "remediation.mode=act"])
        cls.installed = [one for one in yaml.safe_load_all(text) if one and one["kind"] in RIGHTS]
        cls.addClassCleanup(cls.remove)
        # Kinds and the namespace first.
        cls.apply(*[one for one in cls.installed if one["kind"] in ("Namespace", "CustomResourceDefinition")])
        cls.api.wait_for_kinds(*(f"{kind}.autopilot.ibm.com" for kind in (
            "remediationplans", "remediationrequests", "healthcheckreports", "nodehealthreports")))
        cls.apply(*cls.installed, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        for name in NODES:
            cls.apply(node(name))
            cls.api.run("patch", "node", name, "--subresource=status", "--type=merge", "-p", json.dumps(node_status()))
        cls.keep_ready()
        cls.agents = {name: cls.agent_of(name) for name in NODES}
        cls.tenant = cls.tenant_with_every_right()
        token = cls.api.run("create", "token", "-n", NAMESPACE, "autopilot-controller").strip()
        cls.kubeconfig = Path(cls.folder) / "controller.kubeconfig"
        cls.cluster.control_plane.keys.write_token_kubeconfig(cls.kubeconfig, SERVER, token)
        cls.api.wait(cls.policies_count, "the policies count")

    @classmethod
    def remove(cls):
        for space in (SPACE, NAMESPACE):
            cls.api.run("delete", "-n", space, "pods", "--all", "--force", "--grace-period=0", "--wait=false")
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": cls.installed})
        cls.api.run("delete", "--ignore-not-found", "--wait=false", "-f", "-", text=text)
        cls.api.run("delete", "--ignore-not-found", "--wait=false", "namespace", SPACE)
        cls.api.run("delete", "--ignore-not-found", "--wait=false", "node", *NODES)
        cls.api.wait(lambda: not cls.api.run("get", "namespace", NAMESPACE, SPACE, "--ignore-not-found"), "the namespaces are gone")

    @classmethod
    def apply(cls, *objects):
        cls.api.apply(*objects)

    @classmethod
    def keep_ready(cls):
        """Renews the leases of the nodes, as kubelets do."""
        done = threading.Event()

        def renew():
            while not done.is_set():
                cls.apply(*[{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                             "metadata": {"name": name, "namespace": "kube-node-lease"},
                             "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now()}} for name in NODES])
                done.wait(10)
        thread = threading.Thread(target=renew)
        thread.start()
        cls.addClassCleanup(thread.join)
        cls.addClassCleanup(done.set)

    @classmethod
    def agent_of(cls, name):
        """A client with the token of the agent of that node."""
        cls.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"agent-{name}", "namespace": NAMESPACE}, "spec": {
            "nodeName": name, "serviceAccountName": "autopilot", "terminationGracePeriodSeconds": 0, "containers": [careful("agent")]}})
        token = cls.api.run("create", "token", "-n", NAMESPACE, "autopilot", "--bound-object-kind=Pod",
                            f"--bound-object-name=agent-{name}").strip()
        return Caller(cls.cluster.control_plane.keys.authority, token)

    @classmethod
    def tenant_with_every_right(cls):
        """A tenant with every permission on our kinds."""
        group = "rbac.authorization.k8s.io"
        named = {"apiVersion": f"{group}/v1", "metadata": {"name": "autopilot-test-tenant"}}
        made = [{**named, "kind": "ClusterRole", "rules": [{"apiGroups": [PREFIX], "resources": ["*"], "verbs": ["*"]}]},
                {**named, "kind": "ClusterRoleBinding", "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "autopilot-test-tenant"},
                 "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": SPACE}]}]
        cls.apply(*made)
        cls.installed += made
        cls.api.wait(lambda: cls.api.run("get", "serviceaccount", "-n", SPACE, "default", "--ignore-not-found"), "the account is there")
        return Caller(cls.cluster.control_plane.keys.authority, cls.api.run("create", "token", "-n", SPACE, "default").strip())

    @classmethod
    def policies_count(cls):
        try:
            cls.api.run("create", "--dry-run=server", "-f", "-", text=json.dumps(plan_object()))
        except ApiError as error:
            return "only the controller of Autopilot" in str(error)
        return False

    def setUp(self):
        self.clean()
        self.addCleanup(self.clean)

    def clean(self):
        for kind in ("healthcheckreports", "remediationplans", "remediationrequests", "nodehealthreports", "events"):
            self.api.run("delete", "-n", NAMESPACE, kind, "--all", "--wait=true")
        self.api.run("delete", "-n", SPACE, "pods,jobs,events", "--all", "--force", "--grace-period=0")
        self.api.run("delete", "-n", "default", "events", "--field-selector=involvedObject.kind=Node")
        for name in NODES:
            self.api.run("patch", "node", name, "--type=merge", "-p", json.dumps(
                {"metadata": {"annotations": {HELD: None, PROBATION: None, SHALL_TEST: None}}, "spec": {"unschedulable": None, "taints": None}}))
            self.say_healthy(name)

    # --- what agents and jobs do ---

    def say_healthy(self, name, passed=None):
        passes = [{"gpuUuid": f"GPU-{name}", "test": TEST, "time": passed}] if passed else []
        report = {"apiVersion": f"{PREFIX}/v1alpha1", "kind": "NodeHealthReport", "metadata": {"name": name, "namespace": NAMESPACE},
                  "status": {"observedAt": now(), "bootId": "b", "simulated": True, "health": "healthy", "verdict": "PASS",
                             "written": {"verdict": "PASS", "evicting": []},
                             "gpus": [{"key": "0000:3b:00.0", "uuid": f"GPU-{name}", "health": "healthy"}], "passRecords": passes}}
        self.by_agent(name, "PATCH", f"nodehealthreports/{name}?fieldManager=agent&force=true", report, "application/apply-patch+yaml")

    def by_agent(self, name, method, path, body, kind="application/json"):
        code, answer = self.agents[name].ask(method, f"/apis/{PREFIX}/v1alpha1/namespaces/{NAMESPACE}/{path}", body, kind)
        self.assertLess(code, 300, answer)
        return answer

    def start_job(self, name="train", where=BAD):
        """An owner whose pods no controller creates, deletes or releases."""
        self.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": SPACE}, "spec": {
            "managedBy": "autopilot-test/nobody", "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none:1"}]}}}})
        job = self.api.get("job", "-n", SPACE, name)
        self.apply(pod(f"{name}-0", where, job))
        return job, self.api.get("pod", "-n", SPACE, f"{name}-0")

    def fail_preflight(self, where=BAD):
        job, made = self.start_job(where=where)
        self.by_agent(where, "POST", "healthcheckreports", check_report(where, made, job))
        return made

    # --- the controller ---

    def controller(self, mode, name="controller"):
        policy = os.path.join(self.folder, "policy.yaml")
        with open(policy, "w", encoding="utf-8") as file:
            file.write(f"mode: {mode}\n")
        controller = Controller(self.kubeconfig, self.folder, name, f"policy: {policy}\n")
        self.addCleanup(controller.stop)
        return controller

    # --- what is there ---

    def is_held(self, name=BAD):
        found = self.api.get("node", name)
        return found["spec"].get("unschedulable", False) and HELD in found["metadata"].get("annotations", {})

    def plans(self):
        return self.api.get("remediationplans", "-n", NAMESPACE)["items"]

    def phases(self):
        return [one.get("status", {}).get("phase") for one in self.plans()]

    def report(self):
        return self.api.get("healthcheckreports", "-n", NAMESPACE)["items"][0].get("status", {})

    def has_pod(self, name="train-0"):
        return bool(self.api.run("get", "pod", "-n", SPACE, name, "--ignore-not-found"))

    def events(self, space):
        return {(one["reason"], one["involvedObject"]["kind"], one["involvedObject"]["name"])
                for one in self.api.get("events", "-n", space)["items"] if one.get("reportingComponent") == "autopilot-controller"}

    def wait_held(self):
        self.api.wait(lambda: self.phases() == ["held"] and self.is_held() and not self.has_pod() and
                      self.report().get("phase") == "Acted", "the pod is moved, the node held, and all of it said")

    # --- tests ---

    def test_a_pod_whose_test_failed_is_moved_and_its_node_held_and_given_back_when_it_is_healthy(self):
        self.fail_preflight()
        controller = self.controller("hold")
        self.wait_held()
        plan = self.plans()[0]
        self.assertEqual(json.loads(self.api.get("node", BAD)["metadata"]["annotations"][HELD])["plan"], plan["metadata"]["name"])
        self.assertIn(("NodeHeld", "Node", BAD), self.events("default"))
        self.assertIn(("PodMoved", "Job", "train"), self.events(SPACE))
        self.assertEqual(self.report()["plan"], plan["metadata"]["name"])
        listed = self.api.run("get", "rplan", "-n", NAMESPACE)
        self.assertRegex(listed, rf"(?m)^NAME +NODE +PHASE +CAUSE +WAITS FOR +HELD +RETURNED +AGE\n\S+ +{BAD} +held +{TEST} ")
        shown = harness.run("plan", "--kubeconfig", self.cluster.kubeconfig)[1]
        self.assertRegex(shown, rf"(?m)^{BAD} +held +\d+s +{TEST}")
        self.assertEqual(json.loads(controller.get("/v1/plans")[1])["items"][0]["phase"], "held")

        for name in NODES:
            self.say_healthy(name, passed=now(seconds=1))
        self.api.wait(lambda: self.phases() == ["probation"], "the node is given back")
        returned = self.api.get("node", BAD)
        self.assertNotIn("unschedulable", returned["spec"])
        self.assertNotIn(HELD, returned["metadata"]["annotations"])
        self.assertIn(PROBATION, returned["metadata"]["annotations"])
        self.assertIn(("NodeReturned", "Node", BAD), self.events("default"))
        self.assertEqual(self.report()["phase"], "Undone")
        self.assertEqual(controller.metric("autopilot_controller_step_failures_total"), 0)
        self.assertFalse(controller.process.find("forbidden"))

    def test_a_controller_that_is_killed_is_followed_by_one_that_comes_to_the_same_end(self):
        self.fail_preflight()
        for number, (until, what) in enumerate(((lambda: self.plans(), "the plan is there"), (self.is_held, "the node is held"))):
            controller = self.controller("hold", f"killed-{number}")
            try:
                self.api.wait(until, what)
            finally:
                controller.stop(signal.SIGKILL)
            # Else the next one waits until the lease has ended.
            self.api.run("delete", "lease", "-n", NAMESPACE, "autopilot-controller", "--ignore-not-found")
        self.controller("hold", "last")
        self.wait_held()
        self.assertEqual(len(self.plans()), 1)

    def test_a_node_that_was_cordoned_by_hand_stays_so(self):
        self.api.run("cordon", BAD)
        self.fail_preflight()
        self.controller("hold")
        self.api.wait(lambda: not self.has_pod() and self.phases() == ["waiting"], "the pod is moved, and no node held")
        self.assertEqual(self.plans()[0]["status"]["brake"], "others_cordon")
        found = self.api.get("node", BAD)
        self.assertTrue(found["spec"]["unschedulable"])
        self.assertNotIn(HELD, found["metadata"].get("annotations", {}))

    def test_observing_writes_a_plan_the_report_and_events_and_nothing_else(self):
        made = self.fail_preflight()
        before = {name: (self.api.get("node", name)["spec"], self.api.get("node", name)["metadata"].get("annotations")) for name in NODES}
        self.controller("observe")
        self.api.wait(lambda: self.phases() == ["recorded"] and self.report().get("phase") == "Planned", "the plan is recorded")
        self.assertIn(("WouldHoldNode", "Node", BAD), self.events("default"))
        self.assertNotIn(("NodeHeld", "Node", BAD), self.events("default"))
        self.assertFalse(self.plans()[0]["status"]["holds"])
        self.assertEqual(self.api.get("pod", "-n", SPACE, "train-0")["metadata"]["uid"], made["metadata"]["uid"])
        for name in NODES:
            found = self.api.get("node", name)
            self.assertEqual((found["spec"], found["metadata"].get("annotations")), before[name])

    def test_a_bad_node_is_emptied_as_its_pods_let_it_and_others_are_asked_for_what_it_needs(self):
        self.start_job()
        self.run_pod()
        self.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "train", "namespace": SPACE},
                    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"autopilot": ""}}}})
        self.addCleanup(self.api.run, "delete", "pdb", "-n", SPACE, "train", "--ignore-not-found")
        self.api.wait(lambda: self.api.get("pdb", "-n", SPACE, "train").get("status", {}).get("currentHealthy") == 1, "the budget counts")
        self.say_bad(BAD)
        controller = self.controller("act")
        self.api.wait(lambda: self.is_held() and "disruption budget" in self.plans()[0]["status"].get("problem", ""),
                      "the plan says what keeps the pod")
        self.assertTrue(self.has_pod())
        self.assertGreater(controller.metric("autopilot_controller_step_failures_total"), 0)
        self.api.run("delete", "pdb", "-n", SPACE, "train")
        self.api.wait(lambda: not self.has_pod(), "the pod is moved", 90)
        asked = self.api.wait(lambda: self.api.get("remediationrequests", "-n", NAMESPACE)["items"], "others are asked")[0]
        self.assertEqual((asked["spec"]["action"], asked["spec"]["subject"]), ("reset_gpu", "gpu/0000:3b:00.0"))
        self.assertEqual(asked["metadata"]["ownerReferences"][0]["name"], self.plans()[0]["metadata"]["name"])
        self.api.run("patch", "rreq", "-n", NAMESPACE, asked["metadata"]["name"], "--subresource=status", "--type=merge", "-p",
                     '{"status": {"phase": "done", "by": "ops"}}')
        self.assertRegex(self.api.run("get", "rreq", "-n", NAMESPACE), rf"{BAD} +reset_gpu +gpu/0000:3b:00.0 +done")
        # The fault is repaired, and the agent must prove it.
        self.say_healthy(BAD)
        self.api.wait(lambda: SHALL_TEST in self.api.get("node", BAD)["metadata"]["annotations"], "a test is ordered", 90)
        self.assertIn(("PodMoved", "Job", "train"), self.events(SPACE))

    def run_pod(self):
        ended = {"name": "autopilot-preflight", "image": "none:1", "imageID": "x", "restartCount": 0, "ready": True,
                 "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
        ready = [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady", "Initialized")]
        self.api.run("patch", "pod", "-n", SPACE, "train-0", "--subresource=status", "--type=merge", "-p", json.dumps(
            {"status": {"phase": "Running", "conditions": ready, "initContainerStatuses": [ended]}}))

    def say_bad(self, name):
        self.by_agent(name, "PATCH", f"nodehealthreports/{name}?fieldManager=agent&force=true", bad_report(name), "application/apply-patch+yaml")

    def by_tenant(self, method, path, body, kind="application/json"):
        return self.tenant.ask(method, f"/apis/{PREFIX}/v1alpha1/namespaces/{NAMESPACE}/{path}", body, kind)

    def forgeries(self, made, job):
        """A forbidden request, and the reason of its refusal."""
        merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
        bad, check, agent, controller = bad_report(BAD), check_report(BAD, made, job), "only the agent of a node", "only the controller of Autopilot"
        started = check | {"metadata": {"name": f"{BAD}-abcdef0123", "namespace": NAMESPACE}, "spec": check["spec"] | {"outcome": "started"}}
        self.by_agent(BAD, "POST", "healthcheckreports", started)
        known = f"healthcheckreports/{BAD}-abcdef0123"
        request = {"apiVersion": f"{PREFIX}/v1alpha1", "kind": "RemediationRequest", "metadata": {"name": "forged", "namespace": NAMESPACE},
                   "spec": {"node": BAD, "action": "reboot_node", "plan": "forged", "created": now()}}
        return (("PATCH", f"nodehealthreports/{BAD}", {"status": bad["status"]}, merge, agent),
                ("PATCH", f"nodehealthreports/{BAD}?fieldManager=tenant&force=true", bad, apply, agent),
                ("PATCH", "nodehealthreports/rem-new?fieldManager=tenant&force=true", bad_report("rem-new"), apply, agent),
                ("POST", "nodehealthreports", bad_report("rem-new"), "application/json", agent),
                ("POST", "healthcheckreports", check, "application/json", agent),
                ("PATCH", known, {"spec": {"outcome": "failed"}}, merge, agent),
                ("PATCH", f"{known}/status", {"status": {"phase": "Pending"}}, merge, controller),
                ("POST", "remediationplans", plan_object(), "application/json", controller),
                ("POST", "remediationrequests", request, "application/json", controller))

    def test_a_tenant_with_every_right_on_our_kinds_costs_no_node_its_work(self):
        job, made = self.start_job()
        self.run_pod()
        forgeries = self.forgeries(made, job)
        for mode in ("hold", "act"):
            controller = self.controller(mode, f"attacked-{mode}")
            self.api.wait(lambda controller=controller: controller.metric("autopilot_controller_picture_complete") == 1, "it has seen everything")
            for method, path, body, kind, words in forgeries:
                with self.subTest(f"{mode}: {method} {path}"):
                    code, answer = self.by_tenant(method, path, body, kind)
                    self.assertGreaterEqual(code, 400, answer)
                    self.assertIn(words, answer["message"])
            # A label is not evidence about the node, and neither is a deleted report.
            self.assertEqual(self.by_tenant("PATCH", f"nodehealthreports/{BAD}", {"metadata": {"labels": {"team": "a"}}},
                                            "application/merge-patch+json")[0], 200)
            self.assertEqual(self.by_tenant("DELETE", f"nodehealthreports/{BAD}", {})[0], 200)
            looks = controller.metric("autopilot_controller_plans_made_total")
            self.say_healthy(BAD)
            self.api.wait(lambda controller=controller, looks=looks: controller.metric("autopilot_controller_plans_made_total") > looks,
                          "it has thought it over", 90)
            self.assertEqual((self.plans(), self.is_held(), self.has_pod()), ([], False, True))
            controller.stop()
            self.api.run("delete", "lease", "-n", NAMESPACE, "autopilot-controller", "--ignore-not-found")

    def test_what_somebody_else_writes_is_refused(self):
        job, made = self.start_job()
        with self.assertRaisesRegex(ApiError, "only the agent of a node has permission to report"):
            self.apply(check_report(BAD, made, job))
        # The agent of another node.
        code, answer = self.agents[NODES[1]].ask(
            "POST", f"/apis/{PREFIX}/v1alpha1/namespaces/{NAMESPACE}/healthcheckreports", check_report(BAD, made, job))
        self.assertGreaterEqual(code, 400)
        self.assertIn("its own node", answer["message"])
        with self.assertRaisesRegex(ApiError, "only the controller of Autopilot"):
            self.apply(plan_object())
        controller = self.controller("hold")
        self.api.wait(controller.leads, "it leads")
        self.api.run("label", "pod", "-n", SPACE, "train-0", "deschedule=")
        self.api.wait(lambda: controller.metric("autopilot_controller_picture_complete") == 1, "it has seen everything")
        looks = controller.metric("autopilot_controller_plans_made_total")
        self.api.wait(lambda: controller.metric("autopilot_controller_plans_made_total") > looks, "it has thought it over", 90)
        self.assertEqual(self.plans(), [])
        self.assertTrue(self.has_pod())
        self.assertFalse(self.is_held())

    def test_its_account_may_change_nothing_of_a_node_but_what_is_ours(self):
        token = self.api.run("create", "token", "-n", NAMESPACE, "autopilot-controller").strip()
        controller = Caller(self.cluster.control_plane.keys.authority, token)

        def patch(change):
            return controller.ask("PATCH", f"/api/v1/nodes/{BAD}?dryRun=All", change, "application/merge-patch+json")
        held = {"metadata": {"annotations": {HELD: "{}"}}}
        taint = {"key": PROBATION, "effect": "PreferNoSchedule"}
        for allowed in (held | {"spec": {"unschedulable": True}}, {"metadata": {"labels": {f"{PREFIX}/x": "y"}}}, {"spec": {"taints": [taint]}}):
            self.assertEqual(patch(allowed)[0], 200, allowed)
        for change, words in (({"spec": {"unschedulable": True}}, "together with the annotation"),
                              ({"metadata": {"labels": {"x": "y"}}}, "only labels"), ({"metadata": {"annotations": {"x": "y"}}}, "only annotations"),
                              ({"metadata": {"finalizers": ["a/b"]}}, "in the metadata, the controller has permission to change only labels"), ({"spec": {"providerID": "x"}}, "in the spec, the controller has permission to change only taints"),
                              ({"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}}, "only taints")):
            code, answer = patch(change)
            self.assertGreaterEqual(code, 400, change)
            self.assertIn(words, answer["message"])
        self.api.run("cordon", BAD)
        self.assertIn("uncordon only a node that has it", patch({"spec": {"unschedulable": None}})[1]["message"])

    def test_the_expressions_fit_what_they_are_about(self):
        for name in ("autopilot-plan", "autopilot-hold"):
            policy = self.api.wait(lambda name=name: self.checked(name), f"{name} is checked")
            self.assertNotIn("expressionWarnings", policy["status"].get("typeChecking", {}))

    def checked(self, name):
        policy = self.api.get("validatingadmissionpolicy", name)
        return policy if policy.get("status", {}).get("observedGeneration") == policy["metadata"]["generation"] else None

    def test_what_was_decided_does_not_change(self):
        self.fail_preflight()
        controller = self.controller("hold")
        self.wait_held()
        controller.stop()
        name = self.plans()[0]["metadata"]["name"]
        with self.assertRaisesRegex(ApiError, "a decision does not change"):
            self.api.run("patch", "rplan", "-n", NAMESPACE, name, "--type=merge", "-p", '{"spec": {"node": "rem-2"}}')


def bad_report(name):
    incident = {"id": "i-1", "state": "open", "check": "gpu.xid", "reason": "xid", "blamed": {"kind": "gpu", "key": "0000:3b:00.0"},
                "health": "failed", "action": "reset_gpu", "confidence": 0.9, "opened": now(minutes=-2), "acknowledged": False}
    return {"apiVersion": f"{PREFIX}/v1alpha1", "kind": "NodeHealthReport", "metadata": {"name": name, "namespace": NAMESPACE},
            "status": {"observedAt": now(), "bootId": "b", "simulated": True, "health": "failed", "verdict": "EVICT",
                       "written": {"verdict": "EVICT", "evicting": [{"incident": "i-1", "acknowledged": False}]},
                       "incidents": [incident]}}


def plan_object():
    return {"apiVersion": f"{PREFIX}/v1alpha1", "kind": "RemediationPlan", "metadata": {"name": "forged", "namespace": NAMESPACE},
            "spec": {"node": BAD, "cause": "none", "created": now()}}


def check_report(where, made, job):
    return {"apiVersion": f"{PREFIX}/v1alpha1", "kind": "HealthCheckReport", "metadata": {"name": f"{where}-0123456789", "namespace": NAMESPACE},
            "spec": {"node": where, "pod": {key: made["metadata"][key] for key in ("namespace", "name", "uid")},
                     "job": {"apiVersion": "batch/v1", "kind": "Job", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]},
                     "tests": [TEST], "outcome": "failed", "issuer": "agent", "message": "slow", "time": now(),
                     "findings": [{"subject": "gpu/0000:3b:00.0", "check": TEST, "health": "failed", "reason": "pcie_slow",
                                   "message": "12 GB/s, 50 expected"}]}}


if __name__ == "__main__":
    testing.main()
