# SPDX-License-Identifier: Apache-2.0
"""Pre-flight from end to end on two nodes with kubelets, as the chart installs it: jobs ask for GPUs, the webhook puts the gate before them,
agents test the GPUs that the kubelets gave, and the controller moves pods and holds nodes. The GPUs are simulated, and nothing else."""

import json
import re
import unittest

from kit import images, testing
from kit.api import ApiError
from kit.cluster import Cluster
from kit.deployment import NAMESPACE, PREFIX
from kit.gpu_nodes import GPU_TEST, POOL, RESOURCE, GpuNodes

TEAM = "team-a"
GATE = "autopilot-preflight"
CONTROLLER = "autopilot-controller"
BAD, GOOD = "node-0", "node-1"
HELD, PROBATION = f"{PREFIX}/held", f"{PREFIX}/probation"
PATIENCE = 120


def careful(name, **more):
    return {"name": name, "image": images.name_of("busybox"), "command": ["/bin/busybox", "sleep", "1000000"], "securityContext": {
        "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}, **more}


def job(name, gpus=8, **spec):
    """Its pods go to the bad node first, wherever they may."""
    first = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": {
        "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [BAD]}]}}]}}
    template = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "nodeSelector": POOL, "affinity": first,
                "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
                "initContainers": [careful("prepare", command=["/bin/busybox", "true"])],
                "containers": [careful("main", resources={"limits": {RESOURCE: str(gpus)}})], **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": TEAM}, "spec": {
        "backoffLimit": 20, "template": {"metadata": {"labels": {"autopilot": ""}}, "spec": template}}}


class FlowTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.cluster.need_nodes(2)
        cls.nodes = GpuNodes(cls.cluster, "controller.enabled=true", "webhook.enabled=true", "tls.mode=controller")
        cls.addClassCleanup(cls.nodes.remove)
        cls.nodes.install(mode="hold")
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "--wait=false", "namespace", TEAM)
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": TEAM, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
        cls.api.wait(lambda: cls.api.get("serviceaccount", "default", "-n", TEAM), "the account of the pods is there")

    def setUp(self):
        self.nodes.set_mode("hold")
        self.clean()
        self.addCleanup(self.clean)

    def clean(self):
        self.api.run("delete", "-n", TEAM, "jobs", "--all", "--wait=false")
        self.api.run("delete", "-n", TEAM, "pods,events", "--all", "--force", "--grace-period=0")
        for kind in ("healthcheckreports", "remediationplans", "events"):
            self.api.run("delete", "-n", NAMESPACE, kind, "--all")
        for name in (BAD, GOOD):
            self.api.run("patch", "node", name, "--type=merge", "-p", json.dumps(
                {"metadata": {"annotations": {HELD: None, PROBATION: None}, "labels": {HELD: None}}, "spec": {"unschedulable": None, "taints": None}}))

    # --- what is there ---

    def pods(self):
        return self.api.get("pods", "-n", TEAM)["items"]

    def pod(self):
        """The only pod that is not being deleted."""
        left = [one for one in self.pods() if "deletionTimestamp" not in one["metadata"] and one["status"].get("phase") != "Failed"]
        return left[0] if len(left) == 1 else None

    def is_running_on(self, node):
        pod = self.pod()
        return pod and pod["spec"].get("nodeName") == node and pod["status"]["phase"] == "Running"

    def is_held(self, node):
        found = self.api.get("node", node)
        return found["spec"].get("unschedulable", False) and HELD in found["metadata"].get("annotations", {})

    def reports(self):
        return self.api.get("hcr", "-n", NAMESPACE)["items"]

    def plans(self):
        return self.api.get("rplan", "-n", NAMESPACE)["items"]

    def phases(self):
        return [one.get("status", {}).get("phase") for one in self.plans()]

    def events(self, space, kind, name):
        """reason -> message, of the controller."""
        return {one["reason"]: one["message"] for one in self.api.get("events", "-n", space)["items"]
                if one.get("reportingComponent") == CONTROLLER and
                (one["involvedObject"]["kind"], one["involvedObject"]["name"]) == (kind, name)}

    def wait_moved(self, what="the pod runs on the good node and the bad one is held"):
        self.api.wait(lambda: self.is_running_on(GOOD) and self.is_held(BAD) and self.phases() == ["held"] and
                      self.reports()[0].get("status", {}).get("phase") == "Acted", what, PATIENCE)
        self.assertFalse(self.is_held(GOOD))

    # --- tests ---

    def test_1_on_a_good_node_the_pod_starts_and_a_fresh_proof_opens_at_once(self):
        self.nodes.repair(BAD)
        self.api.apply(job("first"))
        self.api.wait(lambda: self.is_running_on(BAD), "the pod runs", PATIENCE)
        said = self.api.run("logs", "-n", TEAM, self.pod()["metadata"]["name"], "-c", GATE)
        self.assertRegex(said, rf"{re.escape(GPU_TEST)} passed just now on the 8 GPUs of this pod; the job may start")
        self.assertEqual([one["name"] for one in self.pod()["spec"]["initContainers"]], [GATE, "prepare"])
        self.api.run("delete", "-n", TEAM, "jobs", "first")
        self.api.wait(lambda: not self.pods(), "the pod is gone")
        self.api.apply(job("second"))
        self.api.wait(lambda: self.is_running_on(BAD), "the pod runs", PATIENCE)
        said = self.api.run("logs", "-n", TEAM, self.pod()["metadata"]["name"], "-c", GATE)
        self.assertRegex(said, rf"{re.escape(GPU_TEST)} passed \d+ s ago on the 8 GPUs of this pod; the job may start")
        print("a fresh proof:", re.search(r"answered after \S+", said).group(0))
        self.assertEqual((self.reports(), self.plans()), ([], []))

    def test_2_off_a_bad_node_the_pod_is_moved_and_the_node_is_held(self):
        self.nodes.slow_down(BAD)
        self.api.apply(job("train"))
        self.wait_moved()
        report, = self.reports()
        self.assertEqual((report["spec"]["node"], report["spec"]["outcome"], report["spec"]["job"]["name"]), (BAD, "failed", "train"))
        self.assertIn("PodMoved", self.events(TEAM, "Job", "train"))
        self.assertIn("NodeHeld", self.events("default", "Node", BAD))
        self.assertRegex(self.api.run("get", "hcr", "-n", NAMESPACE), rf"{BAD} +train-\S+ +{re.escape(GPU_TEST)} +failed +Acted")
        listed = self.api.wait(lambda: self.api.get("configmap", "-n", NAMESPACE, "autopilot-held-nodes").get("data"), "the list names it")
        self.assertEqual(list(listed), [BAD])
        self.assertRegex(listed[BAD], rf"since \S+ by plan \S+: {re.escape(GPU_TEST)}")
        self.assertEqual(self.api.run("get", "nodes", "-l", f"{HELD}={GPU_TEST}", "-o", "name").split(), [f"node/{BAD}"])

    def test_2_of_two_pods_of_a_job_one_is_moved_and_the_other_waits_for_it(self):
        """Half of the GPUs of the bad node are good."""
        self.nodes.slow_down(BAD)
        made = job("pair", gpus=4)
        made["spec"] |= {"parallelism": 2, "completions": 2}
        self.api.apply(made)

        def running():
            pods = [one for one in self.pods() if one["status"].get("phase") == "Running" and "deletionTimestamp" not in one["metadata"]]
            return {one["spec"]["nodeName"]: one for one in pods} if len(pods) == 2 else None

        pods = self.api.wait(running, "both run", PATIENCE)
        self.assertEqual(set(pods), {BAD, GOOD})
        said = self.api.run("logs", "-n", TEAM, pods[BAD]["metadata"]["name"], "-c", GATE)
        # The other one may be moved before this one asks for the first time.
        self.assertRegex(said, r"waiting for 1 of 2 pods of Job pair: "
                               r"(pair-\w+ on node node-0 was found not fit to start there|1 is on no node)")
        began = pods[BAD]["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
        self.assertGreaterEqual(began, pods[GOOD]["metadata"]["creationTimestamp"])
        self.assertTrue(self.is_held(BAD))

    def test_2_in_mode_observe_it_is_recorded_and_nothing_else(self):
        self.nodes.set_mode("observe")
        self.nodes.slow_down(BAD)
        self.api.apply(job("train"))
        self.api.wait(lambda: self.phases() == ["recorded"] and self.reports()[0].get("status", {}).get("phase") == "Planned",
                      "the plan is recorded", PATIENCE)
        # The gate only reports.
        self.api.wait(lambda: self.is_running_on(BAD), "the pod runs", PATIENCE)
        self.assertIn("so the job starts", self.api.run("logs", "-n", TEAM, self.pod()["metadata"]["name"], "-c", GATE))
        self.assertTrue(self.reports()[0]["spec"]["letIn"])
        self.assertFalse(self.api.get("node", BAD)["spec"].get("unschedulable", False))
        self.assertIn("WouldHoldNode", self.events("default", "Node", BAD))
        self.assertIn("WouldMovePod", self.events(TEAM, "Job", "train"))
        self.assertIn("PreflightFailed", self.events(TEAM, "Pod", self.pod()["metadata"]["name"]))

    def test_3_where_both_are_bad_the_job_waits_and_is_told_which(self):
        self.addCleanup(self.nodes.repair, GOOD)
        for node in (BAD, GOOD):
            self.nodes.slow_down(node)
        self.api.apply(job("train"))
        told = self.api.wait(lambda: self.events(TEAM, "Job", "train").get("NoGoodNode"), "the owner is told", 2 * PATIENCE)
        for node in (BAD, GOOD):
            self.assertIn(f"{node} ({GPU_TEST} failed)", told)
        self.assertEqual([self.is_held(node) for node in (BAD, GOOD)].count(True), 1)
        self.assertNotEqual(self.pod()["status"]["phase"], "Running")

    def test_4_a_controller_that_is_killed_at_any_step_is_followed_by_one_that_comes_to_the_same_end(self):
        self.nodes.slow_down(BAD)
        self.api.apply(job("train"))
        for until, what in ((self.reports, "there is a report"), (self.plans, "there is a plan"), (lambda: self.is_held(BAD), "it is held")):
            self.api.wait(until, what, PATIENCE)
            leader = self.api.wait(self.nodes.leader, "one leads")
            self.api.run("delete", "pod", "-n", NAMESPACE, leader, "--force", "--grace-period=0")
        self.wait_moved()
        self.assertEqual(len(self.plans()), 1)

    def test_5_without_a_controller_pods_start_untested_and_that_is_counted(self):
        self.addCleanup(self.nodes.wait_controllers)
        self.addCleanup(self.api.run, "scale", "-n", NAMESPACE, f"deployment/{CONTROLLER}", "--replicas=2")
        self.api.run("scale", "-n", NAMESPACE, f"deployment/{CONTROLLER}", "--replicas=0")
        self.api.wait(lambda: not self.nodes.controllers(), "no controller is left")
        before = self.bypassed()
        self.api.apply(job("train"))
        self.api.wait(lambda: self.is_running_on(BAD), "the pod runs", PATIENCE)
        self.assertNotIn(GATE, [one["name"] for one in self.pod()["spec"]["initContainers"]])
        self.assertGreater(self.bypassed(), before)

    def bypassed(self):
        text = self.api.run("get", "--raw", "/metrics")
        found = re.search(r'(?m)^apiserver_admission_webhook_fail_open_count\{name="preflight\.autopilot\.ibm\.com".*\} (\S+)$', text)
        return float(found.group(1)) if found else 0

    def test_6_a_node_that_is_repaired_is_given_back_after_proof(self):
        self.nodes.slow_down(BAD)
        self.api.apply(job("train"))
        self.wait_moved()
        self.nodes.repair(BAD)
        self.assertTrue(self.is_held(BAD))
        self.nodes.test(BAD)
        self.api.wait(lambda: self.phases() == ["probation"], "it is given back", PATIENCE)
        found = self.api.get("node", BAD)
        self.assertNotIn("unschedulable", found["spec"])
        self.assertIn(PROBATION, found["metadata"]["annotations"])
        self.assertIn("NodeReturned", self.events("default", "Node", BAD))
        self.assertEqual(self.reports()[0]["status"]["phase"], "Undone")

    def test_7_a_node_that_was_cordoned_by_hand_stays_so(self):
        self.api.run("cordon", BAD)
        self.nodes.slow_down(BAD)
        self.api.apply(job("train", tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]))
        self.api.wait(lambda: self.reports() and self.phases() == ["waiting"], "the plan waits", PATIENCE)
        self.assertEqual(self.plans()[0]["status"]["brake"], "others_cordon")
        self.nodes.repair(BAD)
        self.nodes.test(BAD)
        self.api.wait(lambda: self.phases() != ["waiting"], "the plan is over", PATIENCE)
        found = self.api.get("node", BAD)
        self.assertTrue(found["spec"]["unschedulable"])
        self.assertNotIn(HELD, found["metadata"]["annotations"])

    def test_9_what_a_tenant_forges_does_nothing(self):
        self.nodes.repair(BAD)
        self.api.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "tenant", "namespace": TEAM},
                        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
                        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": TEAM}]})
        tenant = f"--as=system:serviceaccount:{TEAM}:default"
        forged = {"apiVersion": f"{PREFIX}/v1alpha1", "kind": "HealthCheckReport", "metadata": {"name": "forged"}, "spec": {"node": BAD}}
        for space in (NAMESPACE, TEAM):
            with self.assertRaisesRegex(ApiError, "forbidden"):
                self.api.run("create", "-n", space, tenant, "-f", "-", text=json.dumps(forged))
        # A gate that opens for everybody, and the word that this pod shall go.
        made = job("train")
        made["spec"]["template"]["metadata"]["labels"]["deschedule"] = ""
        made["spec"]["template"]["spec"]["initContainers"].insert(0, careful(GATE, command=["/bin/busybox", "true"]))
        self.api.run("apply", tenant, "-f", "-", text=json.dumps(made))
        self.api.wait(lambda: self.is_running_on(BAD), "the pod runs", PATIENCE)
        pod = self.pod()
        gate = pod["spec"]["initContainers"][0]
        self.assertEqual((gate["name"], gate["image"], gate["args"][0]), (GATE, images.name_of("autopilot"), "preflight"))
        before = self.nodes.plans_made()
        self.api.run("annotate", "node", BAD, f"{HELD}=" + json.dumps({"plan": "forged", "since": "2026-01-01T00:00:00Z"}))
        self.api.wait(lambda: self.nodes.plans_made() > before, "the controller has thought it over")
        self.assertEqual((self.reports(), self.plans()), ([], []))
        self.assertEqual(self.pod()["metadata"]["uid"], pod["metadata"]["uid"])
        self.assertFalse(self.api.get("node", BAD)["spec"].get("unschedulable", False))


if __name__ == "__main__":
    testing.main()
