# SPDX-License-Identifier: Apache-2.0
"""The agent reports a driver that hangs, crashes, or disappears, without waiting for it."""

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

import harness

SLOWEST_ANSWER_SECONDS = 2.0  # on a busy machine; the limit only shows that no request waits for the driver
# More often than by default, and a deadline that an answer which waits for the driver would reach.
SETTINGS = "checks:\n  gpu.driver: {period: 3s, deadline: 5s}\n"


def reasons(result):
    return {finding["reason"] for finding in result["findings"]}


class DriverTest(unittest.TestCase):
    def ask_often(self, agent, condition, what, deadline=60.0):
        """Waits for the condition while gpu.driver runs again and again and /v1/node is requested without pause; returns
        the slowest answer."""
        done = threading.Event()

        def look():
            while not done.is_set():
                agent.request("POST", "/v1/checks/gpu.driver", unix=True, timeout=60)
                done.wait(0.2)

        looking = threading.Thread(target=look)
        looking.start()
        try:
            return self.watch(agent, condition, what, deadline)
        finally:
            done.set()
            looking.join()

    def watch(self, agent, condition, what, deadline):
        """Requests /v1/node without pause until the condition holds; returns the slowest answer."""
        slowest = 0.0
        end = time.monotonic() + deadline
        while time.monotonic() < end:
            begin = time.monotonic()
            node = agent.node()
            slowest = max(slowest, time.monotonic() - begin)
            if condition({result["check"]: result for result in node["results"]}):
                return slowest
            time.sleep(0.05)
        self.fail(f"not within {deadline:.0f} s: {what}: {agent.result('gpu.driver')['findings']}")

    def agent(self):
        settings = tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8")
        self.addCleanup(settings.close)
        settings.write(SETTINGS)
        settings.flush()
        return harness.Agent("--simulate", "hgx-h100-8", "--config", settings.name)

    def inject(self, agent, *arguments):
        code, _, errors = harness.run("inject", *arguments, "--socket", agent.socket)
        self.assertEqual(code, 0, errors)

    def test_a_driver_that_hangs_is_named_and_nobody_waits_for_it(self):
        with self.agent() as agent:
            agent.wait_ready()
            self.assertEqual(agent.result("gpu.driver")["health"], "healthy")
            self.inject(agent, "driver_hang", "--for", "25s")
            # A period and a deadline until the first silence, and again until the second.
            slowest = self.watch(agent, lambda results: results["gpu.driver"]["health"] != "healthy",
                                 "gpu.driver is not healthy", deadline=60)
            self.assertEqual(agent.result("gpu.driver")["health"], "unknown")
            slowest = max(slowest, self.watch(
                agent, lambda results: "driver_unresponsive" in reasons(results["gpu.driver"]),
                "gpu.driver says that the driver does not answer", deadline=60))
            self.assertLess(slowest, SLOWEST_ANSWER_SECONDS)
            node = agent.node()
            others = {result["check"]: result["health"] for result in node["results"]}
            self.assertEqual(others["storage.filesystem"], "healthy")
            self.assertLessEqual(node["self"]["helpersStuck"], 2)
            slowest = self.ask_often(agent, lambda results: results["gpu.driver"]["health"] == "healthy",
                                     "gpu.driver is healthy again once the driver answers", deadline=150)
            self.assertLess(slowest, SLOWEST_ANSWER_SECONDS)

    def test_a_driver_that_kills_its_process_does_not_kill_the_agent(self):
        with self.agent() as agent:
            agent.wait_ready()
            self.inject(agent, "driver_crash", "--for", "10s")
            self.ask_often(agent, lambda results: "driver_crashed" in reasons(results["gpu.driver"]),
                           "gpu.driver says that the driver crashed", deadline=90)
            self.ask_often(agent, lambda results: results["gpu.driver"]["health"] == "healthy",
                           "gpu.driver is healthy again", deadline=150)

    def tree_without_kernel_log(self, **functions):
        """A machine with an unreadable kernel log; calls of its driver answer as configured."""
        folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        tree = os.path.join(folder, "tree")
        subprocess.run([harness.AUTOPILOT_SIM, "create", "hgx-h100-8", "--out", tree], check=True, capture_output=True)
        with open(os.path.join(tree, "kmsg.jsonl"), "w", encoding="utf-8") as log:
            log.write('{"error":"denied"}\n')
        with open(os.path.join(tree, "nvml.yaml"), "a", encoding="utf-8") as driver:
            if functions:
                driver.write("functions:\n" + "".join(f"  {name}: {code}\n" for name, code in functions.items()))
        # The changed machine becomes the original state.
        for name in (".pristine.json", "simulation.yaml"):
            os.remove(os.path.join(tree, name))
        return tree

    def test_events_of_the_driver_count_where_the_kernel_log_is_closed(self):
        tree = self.tree_without_kernel_log()
        with harness.Agent("--root", tree) as agent:
            agent.wait_ready()
            self.assertEqual(agent.result("gpu.xid")["witnesses"], ["nvml events"])
            self.assertEqual(agent.result("gpu.xid")["health"], "healthy")
            subprocess.run([harness.AUTOPILOT_SIM, "inject", tree, "xid", "--subject", "gpu/2", "--magnitude", "79"],
                           check=True, capture_output=True)

            def look():
                body = agent.request("POST", "/v1/checks/gpu.xid", unix=True, timeout=60)[1]
                return json.loads(body)["findings"]

            found = harness.wait_until(look, "the event is a finding", 60)
            self.assertEqual([one["reason"] for one in found], ["gpu_fallen_off_bus"])
            self.assertEqual(found[0]["evidence"]["witness"], "nvml events")

    def test_a_driver_that_nobody_can_listen_to_is_no_witness(self):
        for call in ("nvmlEventSetCreate", "nvmlDeviceRegisterEvents", "nvmlEventSetWait_v2"):
            with self.subTest(call=call):
                tree = self.tree_without_kernel_log(**{call: 3})
                _, out, errors = harness.run("check", "gpu.xid", "--root", tree, "--window", "0s", "-o", "json")
                result = json.loads(out)["results"][0]
                self.assertEqual(result["health"], "unknown", errors)
                self.assertEqual(result["witnesses"], [])
                self.assertIn(call, result["findings"][0]["message"])

    def test_without_a_gpu_nothing_is_an_error(self):
        code, out, errors = harness.run("check", "--simulate", "no-gpu", "--window", "0s")
        self.assertEqual(code, 0, out + errors)
        self.assertEqual(errors, "")
        self.assertIn("21 do not apply to this machine", out)
        self.assertIn("SIMULATED", out)
        self.assertNotIn("verdict", out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
