# SPDX-License-Identifier: Apache-2.0
"""Deep diagnostics on a node with a kubelet: its GPUs are only a number in its status, and the replacement of dcgmi runs in a pod that
the scheduler placed."""

import datetime
import json
import os
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import harness  # noqa: E402
from ibm_client import page_row  # noqa: E402
from kit import images, reports, testing  # noqa: E402
from kit.cluster import Cluster  # noqa: E402
from kit.deployment import NAMESPACE, Deployment  # noqa: E402

NODE = "node-0"
PREFIX = "autopilot.ibm.com"
SPACE = "autopilot-deep-test"
GPUS = "nvidia.com/gpu"
NANOSECONDS = 10 ** 9


def hash_of(text):
    """FNV-1a, by which nodes are spread over the period."""
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001b3) % 2 ** 64
    return value


JOBS = f"{PREFIX}/deep-test-of={NODE}"


def period_with_turn(soonest):
    """Seconds: of those periods that are allowed one in which this node has its turn `soonest` seconds from now, or a little later."""
    now = time.time_ns()

    def until_turn(seconds):
        every = seconds * NANOSECONDS
        place = hash_of(NODE) % every
        return (place + ((now - place) // every + 1) * every - now) / NANOSECONDS
    return min((seconds for seconds in range(3600, 7200) if until_turn(seconds) >= soonest), key=until_turn)


class DeepTestTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        if not cls.cluster.nodes:
            raise unittest.SkipTest("this cluster has no node with a kubelet")
        cls.api = cls.cluster.api
        reports.make(cls.api, SPACE)
        cls.give_gpus(8)

    @classmethod
    def tearDownClass(cls):
        cls.give_gpus(None)
        cls.api.run("delete", "--ignore-not-found", "namespace", SPACE)
        reports.remove(cls.api)

    @classmethod
    def give_gpus(cls, count):
        change = {"status": {part: {GPUS: None if count is None else str(count)} for part in ("capacity", "allocatable")}}
        cls.api.run("patch", "node", NODE, "--subresource=status", "--type=merge", "-p", json.dumps(change))

    def setUp(self):
        self.clean()
        self.addCleanup(self.clean)

    def clean(self):
        """Removes everything of an earlier test."""
        self.api.run("delete", "--ignore-not-found", "--wait=true", "-n", SPACE, "jobs,pods,nodehealthreports", "--all")
        gone = [f"{PREFIX}/{name}-" for name in ("testing", "deep-test", "checked-at", "checked-by", "dcgm.level.3.output")]
        self.api.run("annotate", "node", NODE, *gone)
        self.api.run("label", "node", NODE, f"{PREFIX}/gpuhealth-", f"{PREFIX}/dcgm.level.3-")
        if self.taint():
            self.api.run("taint", "node", NODE, f"{PREFIX}/testing-")

    # --- the agent and its pod ---

    def settings(self, *command, soonest=15, deep_test=None):
        """A configuration in which the node has its turn soon."""
        file = tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8")
        self.addCleanup(file.close)
        json.dump({"kubernetes": {"write_node": True, "kubeconfig": str(self.cluster.kubeconfig), "namespace": SPACE},
                   "node": NODE, "deep_test": deep_test or self.deep_test(*command, soonest=soonest)}, file)
        file.flush()
        return file.name

    @staticmethod
    def own_deep_test(image, soonest=15):
        return {"every": f"{period_with_turn(soonest)}s", "deadline": "2m", "image": images.name_of(image), "tests": "own", "time": "100ms"}

    @staticmethod
    def deep_test(*command, soonest):
        return {"every": f"{period_with_turn(soonest)}s", "deadline": "2m", "image": images.name_of("autopilot"),
                "command": ["autopilot-sim", "deep-test", *command]}

    @staticmethod
    def agent(settings, machine="hgx-h100-8"):
        return harness.Agent("--simulate", machine, "--allow-simulated", "--config", settings)

    # --- what is there ---

    def node(self):
        return self.api.get("node", NODE)

    def label(self, name="gpuhealth"):
        return self.node()["metadata"]["labels"].get(f"{PREFIX}/{name}")

    def annotation(self, name):
        return self.node()["metadata"].get("annotations", {}).get(f"{PREFIX}/{name}")

    def taint(self):
        return [one for one in self.node()["spec"].get("taints", []) if one["key"] == f"{PREFIX}/testing"]

    def jobs(self):
        return self.api.get("jobs", "-n", SPACE, "-l", JOBS)["items"]

    def wait_for_label(self, word, patience=180):
        self.api.wait(lambda: self.label() == word, f"the label says {word}", patience)

    def wait_for_end(self, word, patience=180):
        """The node is released, and its label has this value."""
        self.api.wait(lambda: not self.taint() and not self.annotation("testing") and self.label() == word,
                      f"the node is released as {word}", patience)

    # --- tests ---

    def test_a_pass(self):
        with self.agent(self.settings("--for", "10s")) as agent:
            agent.wait_ready()
            self.wait_for_label("TESTING")
            self.assertEqual([one["effect"] for one in self.taint()], ["NoSchedule"])
            self.assertEqual(json.loads(self.annotation("testing"))["holder"], NODE)
            harness.wait_until(lambda: agent.node()["verdict"] == "TESTING", "the agent says TESTING")
            self.assertIn("TESTING", harness.run("status", "--socket", agent.socket)[1])
            job = self.api.wait(self.jobs, "the Job is there", 90)[0]
            pod = job["spec"]["template"]["spec"]
            self.assertEqual(pod["containers"][0]["resources"]["limits"][GPUS], "8")
            self.assertNotIn("nodeName", pod)
            self.api.wait(lambda: self.jobs()[0]["status"].get("active"), "its pod is there")
            self.assertEqual(self.label(), "TESTING")
            self.wait_for_end("PASS")
            self.api.wait(lambda: self.label("dcgm.level.3"), "the label of the level is there")
            self.assertRegex(self.label("dcgm.level.3"), r"^PASS_\d{4}-\d\d-\d\d_\d\d\.\d\d\.\d\dUTC$")
            self.assertEqual(self.annotation("dcgm.level.3.output"), "")
            row = self.row_of_page()
            self.assertEqual((row["health"], row["dcgm"]["status"], row["dcgm"]["details"]), ("Pass", "PASS", []))
            self.assertEqual(json.loads(self.annotation("deep-test"))["outcome"], "passed")
            harness.wait_until(lambda: agent.result("gpu.diagnosis")["health"] == "healthy", "the check says so")
            self.api.wait(lambda: len(self.proven_gpus()) == 8, "pass records of all GPUs are reported", 60)

    def row_of_page(self):
        """Row of this node in the web page for users of IBM Autopilot; the test was today."""
        row = page_row(self.api.get("node", NODE)["metadata"]["labels"])
        ended = datetime.datetime.strptime(f"{row['dcgm']['date']} {row['dcgm']['time']} +0000", "%Y-%m-%d %H.%M.%S %z")
        self.assertLess(datetime.datetime.now(datetime.timezone.utc) - ended, datetime.timedelta(hours=1))
        return row

    def proven_gpus(self):
        report = self.api.get("nodehealthreports", "-n", SPACE, NODE)
        return {one["gpuUuid"] for one in report["status"].get("passRecords", [])}

    def test_a_fatal_failure_evicts_and_stays_so(self):
        settings = self.settings("--result", "fail:pcie")
        with self.agent(settings) as agent:
            agent.wait_ready()
            self.wait_for_label("TESTING")
            seen = set()
            self.api.wait(lambda: seen.add(self.label()) or self.label() == "EVICT", "the label says EVICT", 180)
            self.assertNotIn("PASS", seen)
            self.api.wait(lambda: (self.label("dcgm.level.3") or "").startswith("ERR_"), "the label of the level says so")
            self.assertEqual(self.annotation("dcgm.level.3.output"), "pcie.7")
            row = self.row_of_page()
            self.assertEqual((row["health"], row["dcgm"]["status"], row["dcgm"]["details"]), ("Not Pass", "ERR", []))
            found = agent.result("gpu.diagnosis")["findings"][0]
            self.assertEqual((found["reason"], found["subject"]["index"]), ("deep_test_fatal", 7))
            self.assertEqual(self.taint(), [])
        written = self.annotation("checked-by")
        # Another agent, which knows only the content of the Node object.
        with self.agent(settings) as agent:
            agent.wait_ready()
            harness.wait_until(lambda: agent.node()["verdict"] == "EVICT", "the next agent says EVICT", 60)
            self.api.wait(lambda: self.annotation("checked-by") != written, "the next agent writes", 90)
            self.assertEqual(self.label(), "EVICT")

    def assert_survives_a_kill(self, until, what):
        """kill -9 as soon as it is so; the next agent comes to the same end."""
        settings = self.settings("--for", "5s")
        agent = self.agent(settings)
        try:
            agent.wait_ready()
            self.api.wait(until, what, 180)
        finally:
            agent.process.stop(signal.SIGKILL)
        killed = time.monotonic()
        with self.agent(settings) as agent:
            agent.wait_ready()
            self.wait_for_end("PASS")
            print(f"{what}: released {time.monotonic() - killed:.0f} s after kill -9")
            self.assertEqual(json.loads(self.annotation("deep-test"))["outcome"], "passed")
            self.assertEqual(len(self.jobs()), 1)

    def test_a_kill_after_the_reservation(self):
        self.assert_survives_a_kill(self.taint, "the node is reserved")

    def test_a_kill_after_the_job_was_created(self):
        self.assert_survives_a_kill(self.jobs, "the Job is there")

    def test_a_kill_before_the_release(self):
        self.assert_survives_a_kill(lambda: self.jobs() and self.jobs()[0]["status"].get("succeeded"), "the test has ended")

    def test_a_pod_with_a_gpu_keeps_its_node(self):
        self.api.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train", "namespace": SPACE}, "spec": {
            "nodeName": NODE, "terminationGracePeriodSeconds": 1, "containers": [{
                "name": "main", "image": images.name_of("pause"), "resources": {"limits": {GPUS: "1"}}}]}})
        with self.agent(self.settings()) as agent:
            agent.wait_ready()
            found = agent.process.find
            harness.wait_until(lambda: found(rf"accelerators are in use.*{SPACE}/train"), "the agent says who has the node", 120)
            self.assertEqual((self.taint(), self.annotation("testing"), self.jobs()), ([], None, []))
            self.api.run("delete", "pod", "-n", SPACE, "train")
            self.wait_for_label("TESTING")

    def test_a_test_that_says_nothing_is_no_pass(self):
        with self.agent(self.settings("--result", "crash")) as agent:
            agent.wait_ready()
            self.wait_for_label("TESTING")
            self.wait_for_end("PASS")
            record = json.loads(self.annotation("deep-test"))
            self.assertNotIn("outcome", record)
            self.assertIn("signal 11", record["why"])
            self.assertLess(abs(datetime.datetime.fromisoformat(record["tried"]).timestamp() - time.time()), 300)
            self.assertIsNone(self.label("dcgm.level.3"))
            self.assertEqual(agent.result("gpu.diagnosis")["health"], "unknown")

    def test_our_own_tests_begin_in_the_image_of_the_agent(self):
        """They find no driver in a cluster without GPUs, and say so."""
        with self.agent(self.settings(deep_test=self.own_deep_test("autopilot"))) as agent:
            agent.wait_ready()
            self.wait_for_label("TESTING")
            container = self.api.wait(self.jobs, "the Job is there", 90)[0]["spec"]["template"]["spec"]["containers"][0]
            self.assertEqual(container["env"], [{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"}])
            self.wait_for_end("PASS")
            record = json.loads(self.annotation("deep-test"))
            self.assertNotIn("outcome", record)
            self.assertIn("the driver does not say which GPUs are in use: library_missing", record["why"])
            self.assertIsNone(self.label("dcgm.level.3"))

    def own_tests(self, image):
        """An agent whose node has the four GPUs that this image plays."""
        self.give_gpus(4)
        self.addCleanup(self.give_gpus, 8)
        agent = self.enterContext(self.agent(self.settings(deep_test=self.own_deep_test(image)), "l40s-4"))
        agent.wait_ready()
        self.wait_for_label("TESTING")
        return agent

    def test_gpus_pass_without_dcgm(self):
        self.own_tests("gpus")
        self.wait_for_end("PASS")
        self.assertEqual(json.loads(self.annotation("deep-test"))["outcome"], "passed")
        self.api.wait(lambda: (self.label("dcgm.level.3") or "").startswith("PASS_"), "the label of the level says so")
        self.api.wait(lambda: len(self.proven_gpus()) == 4, "pass records of all GPUs are reported", 60)

    def test_wrong_words_of_a_gpu_evict_without_dcgm(self):
        agent = self.own_tests("wrong_gpus")
        self.api.wait(lambda: self.label() == "EVICT", "the label says EVICT", 180)
        self.api.wait(lambda: self.annotation("dcgm.level.3.output"), "what failed is told")
        self.assertEqual(self.annotation("dcgm.level.3.output"), "pcie.1,compute.1")
        found = agent.result("gpu.diagnosis")["findings"]
        self.assertEqual([(one["reason"], one["subject"]["index"]) for one in found], [("deep_test_fatal", 1)])

    def test_with_the_rights_image_and_owner_of_the_installed_agent(self):
        deep_test = self.deep_test("--for", "3s", soonest=60)
        settings = [f"config.deep_test.every={deep_test['every']}", "config.deep_test.deadline=2m",
                    f"config.deep_test.command={{{','.join(deep_test['command'])}}}"]
        deployment = Deployment(self.api, "dropin", NODE, "--simulate", "hgx-h100-8", "--allow-simulated", settings=settings)
        self.addCleanup(deployment.remove)
        deployment.apply()
        self.wait_for_label("TESTING", 240)
        job = self.api.wait(lambda: self.api.get("jobs", "-n", NAMESPACE, "-l", JOBS)["items"], "the Job is there", 90)[0]
        self.assertEqual([one["kind"] for one in job["metadata"]["ownerReferences"]], ["DaemonSet"])
        self.assertEqual(job["spec"]["template"]["spec"]["containers"][0]["image"], images.name_of("autopilot"))
        self.wait_for_end("PASS")
        self.assertRegex(self.label("dcgm.level.3"), "^PASS_")
        self.assertNotRegex(deployment.logs(), "(?i)forbidden|denied| 403")


if __name__ == "__main__":
    testing.main()
