# SPDX-License-Identifier: Apache-2.0
"""An API server that knows the agent no more, an agent that is killed, and how often one asks. Each has a node of its own: they wait
for minutes, and do so together."""

import json
import signal
import time

from kit import audit, testing
from kit.agents import PREFIX, AgentCase, harness


class FaultTest(AgentCase):
    def put_token(self, name, bound_to):
        """A token that is good for as long as the Secret that it is bound to is there."""
        self.api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": bound_to, "namespace": "default"}})
        token = self.api.run("create", "token", name, "--bound-object-kind=Secret", f"--bound-object-name={bound_to}")
        self.put("token", token.strip().encode())

    def is_taken(self, token):
        """Whether the API server knows who that is."""
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        answer = json.loads(self.api.run("create", "-o", "json", "-f", "-", text=json.dumps(review)))
        return answer["status"].get("authenticated", False)

    def problem(self, agent):
        return agent.node()["self"]["cluster"].get("problem", "")

    def test_a_token_that_is_taken_back_is_read_anew(self):
        self.take("sim-2")
        self.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "rotated", "namespace": "default"}})
        self.allow("rotated", {"kind": "ServiceAccount", "name": "rotated", "namespace": "default"})
        self.put_token("rotated", "first")
        with self.agent({"tokenFile": str(self.folder / "token")}) as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            self.api.run("delete", "secret", "first", "--namespace", "default")
            self.api.wait(lambda: not self.is_taken((self.folder / "token").read_text()), "the server knows the token no more")
            self.break_gpu(agent)
            harness.wait_until(lambda: "401" in self.problem(agent), "it says that it is not known any more", 60)
            self.assertEqual(self.label(), "PASS")
            self.put_token("rotated", "second")
            self.wait_for_label("EVICT")
            harness.wait_until(lambda: "401" not in self.problem(agent), "it is known again")

    def test_a_certificate_that_is_replaced_is_read_anew(self):
        self.take("sim-3")
        with self.agent_with_certificate("agent-before") as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            self.allow_user("agent-after")
            self.put_certificate("agent-after")
            self.api.wait(lambda: self.asked("agent-after"), "it asks as the new one", 90)
            self.api.run("delete", "clusterrolebinding", "agent-before")
            self.break_gpu(agent)
            self.wait_for_label("EVICT")

    def test_an_agent_that_is_killed_leaves_what_it_knew_and_its_time(self):
        self.take("sim-4")
        with self.agent_with_certificate("agent-killed") as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            self.break_gpu(agent)
            self.wait_for_label("EVICT")
            agent.process.stop(signal.SIGKILL)
            node = self.api.get("node", self.node)
            self.assertEqual(node["metadata"]["labels"][f"{PREFIX}/gpuhealth"], "EVICT")
            self.assertIn(f"{PREFIX}/checked-at", node["metadata"]["annotations"])

    def test_a_bad_minute_does_not_become_many_requests(self):
        self.take("sim-5")
        with self.agent_with_certificate("agent-storm") as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            for gpu in range(8):
                for fault in (["row_remap_failed"], ["xid", "--magnitude", "94"]):
                    harness.run("inject", *fault, "--subject", f"gpu/{gpu}", "--socket", agent.socket)
            self.wait_for_label("EVICT")
            until = time.time() + 75  # more than the minute that is counted
            while time.time() < until:
                self.forget_label()
                time.sleep(3)
            self.wait_for_label("EVICT")
        writes = [one for one in self.asked("agent-storm") if one.verb in audit.WRITES]
        print(f"{len(writes)} writes, at most {audit.most_in_a_minute(writes)} in a minute")
        self.assert_modest("agent-storm")


if __name__ == "__main__":
    testing.main_together()
