# SPDX-License-Identifier: Apache-2.0
"""The agent meets a driver that hangs, dies, or goes away, and says so without waiting for it."""

import threading
import time
import unittest

import harness

SLOWEST_ANSWER_SECONDS = 2.0  # of a busy machine; what matters is that nobody waits for the driver (10 s and more)


def reasons(result):
    return {finding["reason"] for finding in result["findings"]}


class DriverTest(unittest.TestCase):
    def ask_often(self, agent, condition, what, deadline=60.0):
        """Waits for the condition while gpu.driver looks again and again and /v1/node is asked without pause; gives
        the slowest answer."""
        done = threading.Event()

        def look():
            while not done.is_set():
                agent.request("POST", "/v1/checks/gpu.driver", unix=True, timeout=60)
                done.wait(0.2)

        looking = threading.Thread(target=look)
        looking.start()
        try:
            slowest = 0.0
            end = time.monotonic() + deadline
            while time.monotonic() < end:
                begin = time.monotonic()
                node = agent.node()
                slowest = max(slowest, time.monotonic() - begin)
                if condition({result["check"]: result for result in node["results"]}):
                    return slowest
                time.sleep(0.05)
        finally:
            done.set()
            looking.join()
        self.fail(f"not within {deadline:.0f} s: {what}: {agent.result('gpu.driver')['findings']}")

    def inject(self, agent, *arguments):
        code, _, errors = harness.run("inject", *arguments, "--socket", agent.socket)
        self.assertEqual(code, 0, errors)

    def test_a_driver_that_hangs_is_named_and_nobody_waits_for_it(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            self.assertEqual(agent.result("gpu.driver")["health"], "healthy")
            self.inject(agent, "driver_hang", "--for", "25s")
            slowest = self.ask_often(agent, lambda results: "driver_unresponsive" in reasons(results["gpu.driver"]),
                                     "gpu.driver says that the driver does not answer", deadline=90)
            self.assertLess(slowest, SLOWEST_ANSWER_SECONDS)
            node = agent.node()
            others = {result["check"]: result["health"] for result in node["results"]}
            self.assertEqual(others["storage.filesystem"], "healthy")
            self.assertLessEqual(node["self"]["helpersStuck"], 2)
            slowest = self.ask_often(agent, lambda results: results["gpu.driver"]["health"] == "healthy",
                                     "gpu.driver is healthy again once the driver answers", deadline=150)
            self.assertLess(slowest, SLOWEST_ANSWER_SECONDS)

    def test_a_driver_that_kills_its_process_does_not_kill_the_agent(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            self.inject(agent, "driver_crash", "--for", "20s")
            self.ask_often(agent, lambda results: "driver_crashed" in reasons(results["gpu.driver"]),
                           "gpu.driver says that the driver crashed", deadline=90)
            self.ask_often(agent, lambda results: results["gpu.driver"]["health"] == "healthy",
                           "gpu.driver is healthy again", deadline=150)

    def test_without_a_gpu_nothing_is_an_error(self):
        code, out, errors = harness.run("check", "--simulate", "no-gpu", "--window", "0s")
        self.assertEqual(code, 0, out + errors)
        self.assertEqual(errors, "")
        self.assertIn("unsupported", out)
        self.assertIn("SIMULATED", out)
        self.assertNotIn("verdict", out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
