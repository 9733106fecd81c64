# SPDX-License-Identifier: Apache-2.0
"""An API server that is busy or knows the agent no more, an agent that is killed, and how often one asks. Each has a node of its own:
they wait for minutes, and do so together."""

import json
import signal
import time
from datetime import datetime

from kit import audit, testing
from kit.agents import PREFIX, AgentCase, harness
from kit.api import condition_of
from kit.refuser import Refuser

BUSY = 30
RETRY_AFTER = 4


class FaultTest(AgentCase):
    def put_token(self, name, bound_to):
        """A token that is good for as long as the Secret that it is bound to is there."""
        self.api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": bound_to, "namespace": "default"}})
        token = self.api.run("create", "token", name, "--bound-object-kind=Secret", f"--bound-object-name={bound_to}")
        self.put("token", token.strip().encode())

    def is_taken(self, token):
        """True if the API server accepts the token."""
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
            # Each kind of write that was refused goes again, and one may have to wait for its minute.
            harness.wait_until(lambda: "401" not in self.problem(agent), "it is known again", 90)

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

    def refuser(self, user, retry_after):
        """An API server that can be too busy for that user; it is asked from the next write on."""
        refuser = Refuser(self.folder, user, retry_after)
        self.addCleanup(refuser.close)
        self.api.apply(refuser.configuration("fault-test-busy"))
        self.addCleanup(self.api.run, "delete", "validatingwebhookconfiguration", "fault-test-busy")
        self.api.wait(lambda: self.is_asked(refuser, user), "the server asks whether it is busy")
        return refuser

    def is_asked(self, refuser, user):
        self.api.run("label", "node", self.node, "fault-test/tried=x", "--overwrite", "--dry-run=server", f"--as={user}")
        return refuser.asked > 0

    def wait_until_it_may_write(self, user):
        """Its writes at the start can use up the agent's limit of writes for a minute."""
        def lately():
            return [one for one in self.asked(user) if one.verb in audit.WRITES and one.time > time.time() - 60]
        self.api.wait(lambda: len(lately()) <= 2, "the minute of its start is over", 90)

    def test_a_server_that_is_busy_is_left_alone_and_told_the_end_of_it(self):
        self.take("sim-6")
        user = "agent-busy"
        with self.agent_with_certificate(user) as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            self.wait_until_it_may_write(user)
            refuser = self.refuser(user, RETRY_AFTER)
            refuser.is_busy = True
            began = time.time()
            # A state that was true only for a while need not be written; the final state must be.
            self.inject(agent, "row_remap_pending", "gpu/1")
            harness.wait_until(lambda: agent.node()["verdict"] == "WARN", "it sees the first fault")
            harness.wait_until(lambda: "429" in self.problem(agent), "it says that the server is busy", BUSY)
            self.break_gpu(agent)
            harness.wait_until(lambda: agent.node()["verdict"] == "EVICT", "it sees the second fault")
            seen = {self.label()}
            while time.time() < began + BUSY:
                seen.add(self.label())
                time.sleep(0.5)
            self.assertEqual(seen, {"PASS"})
            refuser.is_busy = False
            over = time.time()
            self.api.wait(lambda: seen.add(self.label()) or "EVICT" in seen, "the label says EVICT", 120)
            print(f"{refuser.refused} refused in {BUSY} s; written {time.time() - over:.1f} s after that")
            self.assertEqual(seen, {"PASS", "EVICT"})
            self.api.wait(lambda: condition_of(self.api.get("node", self.node), "GpuHealthy") == "False", "GpuHealthy is False")
            self.api.wait(lambda: self.happened_since(began) >= 2, "both faults are told", 120)
            harness.wait_until(lambda: "429" not in self.problem(agent), "nothing is wrong any more")
        self.assert_rested(user)
        self.assert_modest(user)

    def happened_since(self, began):
        """Number of Warnings about the node."""
        found = self.api.get("events", "--namespace", "default", "--field-selector", f"involvedObject.name={self.node},type=Warning")
        times = (datetime.fromisoformat(event["lastTimestamp"].replace("Z", "+00:00")).timestamp() for event in found["items"])
        return len([when for when in times if when >= began - 1])

    def assert_rested(self, user):
        """Checks that the user paused as long as the server requested, whatever the answers."""
        writes = [one for one in self.asked(user) if one.verb in audit.WRITES]
        refused = [one.time for one in writes if one.code == 429]
        self.assertGreater(len(refused), 1)
        self.assertLessEqual(audit.most_in_a_minute(writes), 6)
        for when in refused:
            self.assertGreaterEqual(min(one.time for one in writes if one.time > when) - when, RETRY_AFTER)

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
