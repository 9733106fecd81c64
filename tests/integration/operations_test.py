# SPDX-License-Identifier: Apache-2.0
"""Active tests of a running agent: begun, watched and cancelled over its sockets, remembered over a restart."""

import json
import os
import shutil
import signal
import tempfile
import unittest

import harness


def start(agent, **wanted):
    """Begins a self_test; gives the status and the answer."""
    status, body = agent.request("POST", "/v1/operations", body=json.dumps({"kind": "self_test", **wanted}),
                                 headers={"Content-Type": "application/json"}, unix=True)
    return status, json.loads(body)


def find(agent, operation):
    return json.loads(agent.get(f"/v1/operations/{operation}"))


def wait_over(agent, operation, deadline=60):
    def is_over():
        now = find(agent, operation)
        return now if now["state"] not in ("queued", "running") else None
    return harness.wait_until(is_over, f"{operation} is over", deadline)


def children_of(pid):
    """Processes the agent started for self tests."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{entry}/cmdline", "rb") as line:
                if parent == pid and b"self_test" in line.read():
                    found.append(int(entry))
        except (OSError, ValueError, IndexError):
            continue  # ended meanwhile
    return found


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class OperationsTest(unittest.TestCase):
    def test_a_self_test_shows_progress_and_ends_with_observations(self):
        with harness.Agent() as agent:
            status, begun = start(agent)
            self.assertEqual(status, 202, begun)
            self.assertEqual(begun["state"], "running")
            self.assertEqual(begun["owner"], f"uid {os.getuid()}")
            self.assertTrue(begun["durable"])

            seen = harness.wait_until(lambda: 0 < find(agent, begun["id"])["progress"] < 1 and
                                      find(agent, begun["id"])["message"], "progress is shown")
            self.assertIn("cpu", seen.lower())
            ended = wait_over(agent, begun["id"])
            self.assertEqual(ended["state"], "succeeded", ended)
            values = {one["name"]: one["value"] for one in ended["observations"]}
            self.assertGreaterEqual(values["self_test.cpus"], 1)
            self.assertEqual(values["self_test.mismatches"], 0)
            self.assertGreater(values["self_test.duration"], 0)

            listed = json.loads(agent.get("/v1/operations"))
            self.assertFalse(listed["simulated"])
            self.assertEqual([one["id"] for one in listed["items"]], [begun["id"]])

            def kinds():
                _, events = agent.request("GET", "/v1/events", headers={"Accept": "application/json"})
                return [event["kind"] for event in json.loads(events)["items"] if event["kind"].startswith("operation")]

            # An event is shown when it is durable, which may be a moment after the operation is seen to have ended.
            harness.wait_until(lambda: kinds() == ["operation_started", "operation_finished"], "both events are shown")

    def test_cancel_ends_it_and_its_process(self):
        with harness.Agent() as agent:
            _, begun = start(agent)
            harness.wait_until(lambda: children_of(agent.pid), "the child runs")
            status, body = agent.request("DELETE", f"/v1/operations/{begun['id']}", unix=True)
            self.assertEqual(status, 202, body)
            self.assertEqual(wait_over(agent, begun["id"])["state"], "cancelled")
            self.assertEqual(children_of(agent.pid), [])
            status, body = agent.request("DELETE", f"/v1/operations/{begun['id']}", unix=True)
            self.assertEqual((status, json.loads(body)["error"]["code"]), (409, "conflict"))

    def test_its_own_deadline_ends_it(self):
        with harness.Agent() as agent:
            _, begun = start(agent, deadlineSeconds=0.3)
            self.assertEqual(wait_over(agent, begun["id"])["state"], "timed_out")

    def test_what_cannot_be_is_refused(self):
        subject = [{"kind": "gpu", "key": "0000:3b:00.0"}]
        with harness.Agent() as agent:
            for method, path in (("POST", "/v1/operations"), ("DELETE", "/v1/operations/op-1")):
                status, _ = agent.request(method, path, body='{"kind":"self_test"}')
                self.assertEqual(status, 403, f"{method} over TCP")
            self.assertEqual(json.loads(agent.get("/v1/operations"))["items"], [])

            status, answer = start(agent, kind="nope")
            self.assertEqual(status, 404)
            self.assertIn("self_test", answer["error"]["message"])
            self.assertEqual(start(agent, deadlineSeconds=86400)[0], 400)
            self.assertEqual(agent.request("POST", "/v1/operations", body="{", unix=True)[0], 400)
            self.assertEqual(agent.request("GET", "/v1/operations/op-1")[0], 404)

            _, holder = start(agent, reservation=subject)
            status, answer = start(agent, reservation=subject)
            self.assertEqual(status, 409)
            self.assertIn(holder["id"], answer["error"]["message"])
            self.assertEqual(start(agent)[0], 202)
            self.assertEqual(start(agent)[0], 503)

    def test_stop_and_kill_are_remembered(self):
        folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        with harness.Agent(folder=folder) as agent:
            _, stopped = start(agent)
            children = harness.wait_until(lambda: children_of(agent.pid), "the child runs")
        self.assertEqual([child for child in children if not is_gone(child)], [])
        agent = harness.Agent(folder=folder)
        try:
            self.assertEqual(find(agent, stopped["id"])["state"], "cancelled")
            _, killed = start(agent)
            self.assertNotEqual(killed["id"], stopped["id"])
            children = harness.wait_until(lambda: children_of(agent.pid), "the child runs")
            agent.process.stop(signal.SIGKILL)
        finally:
            agent.close()
        harness.wait_until(lambda: all(map(is_gone, children)), "the orphan ends by itself")
        with harness.Agent(folder=folder) as agent:
            after = find(agent, killed["id"])
            self.assertEqual((after["state"], after["message"]), ("failed", "the agent was restarted"))
            self.assertEqual([one["id"] for one in json.loads(agent.get("/v1/operations"))["items"]],
                             [killed["id"], stopped["id"]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
