# SPDX-License-Identifier: Apache-2.0
"""Active tests of a running agent: begun, watched and cancelled over its sockets, remembered over a restart."""

import concurrent.futures
import json
import os
import shutil
import signal
import tempfile
import unittest

import fake_api_server
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

    def open_agent(self, node, **settings):
        """An agent that lets every client start diagnostics, with a replacement of its API server."""
        server = fake_api_server.FakeApiServer()
        self.addCleanup(server.close)
        server.objects.update({"/apis/batch/v1/namespaces/autopilot/jobs": [], "/api/v1/pods": []})
        server.objects[fake_api_server.NODES] = [{"metadata": {"name": "gpu-7", "uid": "u-1"}, **node}]
        folder = self.enterContext(tempfile.TemporaryDirectory())
        fake_api_server.write_kubeconfig(f"{folder}/kubeconfig", {"c": server.url}, "c")
        with open(f"{folder}/config.yaml", "w", encoding="utf-8") as file:
            json.dump({"node": "gpu-7", "kubernetes": {"write_node": True, "kubeconfig": f"{folder}/kubeconfig"},
                       "compat": {"open_actions": True}, **settings}, file)
        agent = harness.Agent("--simulate", "hgx-h100-8", "--allow-simulated", "--config", f"{folder}/config.yaml")
        self.addCleanup(agent.close)
        agent.wait_ready()
        harness.wait_until(lambda: agent.process.find("the node object is there"), "the node was seen")
        return agent, server

    def test_however_often_it_is_asked_for_a_test_is_made_once_in_a_while(self):
        cordoned = {"spec": {"unschedulable": True}, "status": {"allocatable": {"nvidia.com/gpu": "8"}}}
        agent, _ = self.open_agent(cordoned, deep_test={"every": "365d", "image": "none"})
        for _ in range(20):
            status, text = agent.request("GET", "/dcgm", timeout=60)
            self.assertEqual(status, 200)
            self.assertIn("not run: the node is cordoned", text)
        self.assertIn("Not launching invasive health checks: the node is cordoned.", agent.get("/invasive"))
        self.assertLess(len(json.loads(agent.get("/v1/operations"))["items"]), 4)

    def test_who_waits_for_a_test_is_answered_when_the_agent_stops(self):
        agent, server = self.open_agent({}, pvc={"storage_classes": {"fast": ["ReadWriteOnce"]}})
        server.silent = True
        with concurrent.futures.ThreadPoolExecutor() as pool:
            asked = pool.submit(agent.request, "GET", "/pvc", timeout=60)
            harness.wait_until(lambda: json.loads(agent.get("/v1/operations"))["items"], "the test has begun")
            agent.process.stop()
            status, text = asked.result()
        self.assertEqual(status, 200)
        self.assertIn("not run: the agent is stopping", text)

    def test_the_command_line_follows_a_test_to_its_end(self):
        with harness.Agent() as agent:
            code, out, error = harness.run("test", "self_test", "--socket", agent.socket)
            self.assertEqual(code, 0, out + error)
            self.assertRegex(out, r"self_test +passed")
            self.assertRegex(error, r"autopilot: self_test: \S")
            code, out, _ = harness.run("test", "self_test", "--socket", agent.socket, "-o", "json")
            operation = json.loads(out)["items"][0]["operation"]
            self.assertEqual((code, operation["state"]), (0, "succeeded"))
            code, out, _ = harness.run("test", "--socket", agent.socket)
            self.assertEqual(code, 0)
            self.assertRegex(out, r"self_test +1m +Known arithmetic")

    def test_the_command_line_tells_what_was_not_tested(self):
        with harness.Agent() as agent:
            code, out, _ = harness.run("test", "self_test", "--deadline", "300ms", "--socket", agent.socket)
            self.assertEqual(code, 3, out)
            self.assertRegex(out, r"self_test +timed_out +no end within 300ms")
            code, out, error = harness.run("test", "storage.pvc", "self_test", "--socket", agent.socket)
            self.assertEqual(code, 64, out + error)
            self.assertIn("no operation is called 'storage.pvc'; there are: self_test", error)
            self.assertRegex(out, r"self_test +passed")
        code, _, error = harness.run("test", "self_test", "--socket", agent.socket)
        self.assertEqual(code, 70)
        self.assertIn(f"no agent runs here: {agent.socket} does not exist", error)

    def test_an_interrupt_cancels_the_test_that_is_followed(self):
        with harness.Agent() as agent:
            follower = harness.Process([harness.AUTOPILOT, "test", "self_test", "self_test", "--socket", agent.socket])
            self.addCleanup(follower.stop)
            operation = harness.wait_until(lambda: json.loads(agent.get("/v1/operations"))["items"], "it has begun")[0]
            harness.wait_until(lambda: follower.find("self_test: "), "it is followed")
            follower.child.send_signal(signal.SIGINT)
            self.assertEqual(follower.child.wait(timeout=20), 3)
            self.assertEqual(find(agent, operation["id"])["state"], "cancelled")
            # The next operation has not begun, and its state shows this.
            harness.wait_until(lambda: follower.find("self_test was not run: interrupted"), "it is told")
            self.assertEqual(len(json.loads(agent.get("/v1/operations"))["items"]), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
