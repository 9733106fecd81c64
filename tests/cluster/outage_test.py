# SPDX-License-Identifier: Apache-2.0
"""An API server that is away for a time, or comes back without its history. No other test can go on meanwhile."""

from kit import testing
from kit.agents import AgentCase


class OutageTest(AgentCase):
    def test_an_api_server_that_was_away_is_served_again(self):
        self.take("sim-1")
        with self.agent_with_certificate("agent-outage") as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            self.cluster.processes.stop("kube-apiserver")
            self.break_gpu(agent)
            self.start_server()
            self.wait_for_label("EVICT")

    def test_a_server_that_forgot_its_history_is_listed_anew(self):
        self.take("sim-2")
        with self.agent_with_certificate("agent-history") as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            lists = self.lists()
            newest = int(self.api.get("node", self.node)["metadata"]["resourceVersion"])
            self.cluster.processes.stop("kube-apiserver")
            self.cluster.control_plane.forget_history(newest)
            self.start_server()
            self.forget_label()
            # The agent lists nothing twice within a minute.
            self.api.wait(lambda: self.lists() > lists, "it is listed anew", 120)
            self.wait_for_label("PASS", 120)
        self.assert_modest("agent-history")

    def lists(self):
        return sum(one.verb == "list" for one in self.asked("agent-history"))

    def start_server(self):
        self.cluster.control_plane.start_apiserver()
        self.cluster.control_plane.wait_ready()


if __name__ == "__main__":
    testing.main()
