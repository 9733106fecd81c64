# SPDX-License-Identifier: Apache-2.0
"""`autopilot controller`: who leads, what it says of itself, an API server that is away or refuses, a configuration that changes."""

import http.client
import os
import signal
import tempfile
import unittest

import harness
from api_store import ApiStore
from fake_api_server import write_kubeconfig

LEASE = "/apis/coordination.k8s.io/v1/namespaces/autopilot/leases/autopilot-controller"


class Controller:
    """With any free ports. `settings`: lines of its configuration."""

    def __init__(self, kubeconfig, folder, name="controller", settings=""):
        self.config = os.path.join(folder, name + ".yaml")
        self._kubeconfig = kubeconfig
        self.write(settings)
        self.process = harness.Process([harness.AUTOPILOT, "controller", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                                        "--config", self.config])
        found = harness.wait_until(lambda: self.process.find(r"controller ready.* tls_port=(\d+) metrics_port=(\d+)") or
                                   (self.process.child.poll() is not None and "ended"), "the controller is ready")
        if found == "ended":
            raise AssertionError("the controller ended:\n" + "\n".join(self.process.log))
        self.tls_port, self.port = (int(group) for group in found.groups())

    def write(self, settings):
        """A new version of the file, whole at once."""
        with open(self.config + ".new", "w", encoding="utf-8") as file:
            file.write(f"drain: 0s\nkubernetes: {{kubeconfig: {self._kubeconfig}}}\n{settings}")
        os.replace(self.config + ".new", self.config)

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def metric(self, name):
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        return None

    def leads(self):
        return self.metric("autopilot_controller_leader") == 1

    def stop(self, number=signal.SIGTERM):
        return self.process.stop(number)


class ControllerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.api = ApiStore()
        self.addCleanup(lambda: self.api.close())
        self.kubeconfig = write_kubeconfig(os.path.join(self.folder, "kubeconfig"), {"test": self.api.url}, "test",
                                           user={"token": "controller"})

    def start(self, name="controller", settings=""):
        controller = Controller(self.kubeconfig, self.folder, name, settings)
        self.addCleanup(controller.stop)
        return controller

    def holder(self):
        lease = self.api.get(LEASE)
        return lease["spec"]["holderIdentity"] if lease else ""

    def wait_leads(self, controller):
        harness.wait_until(controller.leads, "it leads", 60)

    def test_it_leads_and_gives_the_lease_back_when_it_is_told_to_end(self):
        controller = self.start()
        self.assertEqual(controller.get("/healthz"), (200, "ok\n"))
        self.wait_leads(controller)
        self.assertIn("this controller leads now", "\n".join(controller.process.log))
        self.assertEqual(controller.stop(), 0)
        self.assertEqual(self.holder(), "")

    def test_one_of_two_leads_and_the_other_follows_when_it_is_killed(self):
        first = self.start("one")
        self.wait_leads(first)
        second = self.start("two")
        holder = self.holder()
        harness.wait_until(lambda: second.metric('autopilot_controller_api_requests_total{outcome="ok"}') >= 2, "it looks at the lease")
        self.assertFalse(second.leads())
        first.stop(signal.SIGKILL)
        self.wait_leads(second)
        self.assertNotEqual(self.holder(), holder)
        self.assertEqual(second.metric("autopilot_controller_lease_transitions"), 1)

    def test_without_rights_it_says_which_and_tries_on(self):
        self.api.refusals["/apis/coordination.k8s.io"] = 403
        controller = self.start()
        harness.wait_until(lambda: controller.process.find(r"not known who leads.*leases/autopilot-controller.* is forbidden"),
                           "it says what is forbidden")
        self.assertEqual(controller.get("/healthz")[0], 200)
        self.assertGreaterEqual(controller.metric("autopilot_controller_lease_failures_total"), 1)
        self.api.refusals.clear()
        self.wait_leads(controller)

    def test_an_api_server_that_is_down_at_the_start_is_waited_for(self):
        self.api.close()
        controller = self.start()
        harness.wait_until(lambda: controller.process.find("not known who leads"), "it says so")
        self.assertEqual(controller.get("/healthz")[0], 200)
        self.api = ApiStore(port=self.api.port)
        self.wait_leads(controller)

    def test_a_configuration_that_makes_no_sense_is_refused_and_the_old_one_stays(self):
        controller = self.start()
        controller.write("webhok: {}\n")
        harness.wait_until(lambda: controller.metric("autopilot_controller_configuration_refused_total") == 1, "it is counted")
        self.assertTrue(controller.process.find(r"configuration refused.*webhok"))
        controller.write("policy: /etc/policy.yaml\n")
        harness.wait_until(lambda: controller.process.find("configuration loaded changes=policy"), "the next one is taken")

    def test_it_does_not_start_with_a_configuration_that_makes_no_sense(self):
        path = os.path.join(self.folder, "bad.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("listen: nowhere\n")
        code, _, errors = harness.run("controller", "--config", path)
        self.assertEqual(code, 78)
        self.assertIn("bad.yaml:1: `listen`", errors)

    def test_outside_of_a_cluster_it_says_how_to_name_one(self):
        code, _, errors = harness.run("controller", environment={"KUBERNETES_SERVICE_HOST": ""})
        self.assertNotEqual(code, 0)
        self.assertIn("`kubernetes.kubeconfig` names the cluster", errors)


if __name__ == "__main__":
    unittest.main()
