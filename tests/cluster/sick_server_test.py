# SPDX-License-Identifier: Apache-2.0
"""An agent with a faulty API server, which answers 503 to reads and writes, or only after the client's deadline."""

import time

from kit import audit, reports, testing
from kit.agents import AgentCase, harness
from kit.relay import Relay

SICK = 40  # seconds
LATE = 20  # later than an agent waits


class SickServerTest(AgentCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        reports.make(cls.api, "autopilot")

    @classmethod
    def tearDownClass(cls):
        reports.remove(cls.api)

    def setUp(self):
        super().setUp()
        self.relay = Relay(self.cluster.control_plane)
        self.addCleanup(self.relay.close)

    def problem(self, agent):
        return agent.node()["self"]["cluster"].get("problem", "")

    def slowest_answer(self, agent, until):
        """The slowest answer of the agent itself, in seconds."""
        slowest = 0.0
        while time.time() < until:
            began = time.time()
            agent.node()
            slowest = max(slowest, time.time() - began)
            time.sleep(0.5)
        return slowest

    def most_in_a_minute(self, verbs):
        return audit.most_in_a_minute([one for one in self.relay.asked if one.verb in verbs])

    def test_a_server_that_answers_503_is_asked_less_and_less_and_told_the_end_of_it(self):
        self.take("sim-1")
        with self.agent_through(self.relay) as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            self.relay.status = 503
            began = time.time()
            self.break_gpu(agent)
            harness.wait_until(lambda: agent.node()["verdict"] == "EVICT", "it sees the fault")
            harness.wait_until(lambda: "503" in self.problem(agent), "it says what is wrong", SICK)
            self.assertLess(self.slowest_answer(agent, began + SICK), 1)
            self.assertEqual(self.label(), "PASS")
            refused = [one for one in self.relay.asked if one.code == 503]
            self.relay.status = None
            over = time.time()
            self.wait_for_label("EVICT", 90)
            print(f"{len(refused)} requests in {SICK} s; written {time.time() - over:.1f} s after that")
            harness.wait_until(lambda: "503" not in self.problem(agent), "nothing is wrong any more", 90)
        # From each client of the agent: the writer, the watch of the node and the watch of its pods.
        self.assertLessEqual(len(refused), 30)
        self.assertLessEqual(self.most_in_a_minute(["list"]), 6)

    def test_a_server_that_answers_late_delays_no_answer_of_the_agent_and_is_not_asked_twice_as_often(self):
        self.take("sim-2")
        with self.agent_through(self.relay) as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            self.relay.delay = LATE
            began = time.time()
            self.break_gpu(agent)
            harness.wait_until(lambda: agent.node()["verdict"] == "EVICT", "it sees the fault")
            # Its requests were carried out, although the answers came too late.
            self.wait_for_label("EVICT")
            self.assertLess(self.slowest_answer(agent, began + SICK), 1)
            self.assertIn("cannot be written", self.problem(agent))
            self.relay.delay = 0.0
            harness.wait_until(lambda: not self.problem(agent), "nothing is wrong any more", 120)
            self.assertEqual(self.label(), "EVICT")
        self.assertLessEqual(self.most_in_a_minute(audit.WRITES), 6)
        self.assertLessEqual(self.most_in_a_minute(["list"]), 6)


if __name__ == "__main__":
    testing.main()
