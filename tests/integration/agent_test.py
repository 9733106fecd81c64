# SPDX-License-Identifier: Apache-2.0
"""The life of an agent: start, questions, actions, a new configuration, kill -9, an orderly end."""

import glob
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import harness


class AgentTest(unittest.TestCase):
    def test_answers_every_route_that_reads(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            node = agent.node()
            self.assertTrue(node["simulated"])
            self.assertEqual(node["verdict"], "PASS")
            self.assertEqual(node["health"], "healthy")
            checks = json.loads(agent.get("/v1/checks"))
            self.assertEqual([one["check"] for one in checks["items"]], [one["check"] for one in node["results"]])
            self.assertEqual(json.loads(agent.get("/v1/checks/gpu.ecc"))["check"], "gpu.ecc")
            self.assertEqual(json.loads(agent.get("/v1/incidents"))["items"], [])
            self.assertIn("openapi:", agent.get("/openapi.yaml"))
            self.assertEqual(agent.get("/healthz"), "ok\n")
            self.assertEqual(agent.request("GET", "/v1/checks/gpu.none")[0], 404)
            self.assertEqual(agent.request("GET", "/nowhere")[0], 404)

    def test_a_probe_asks_for_the_agent_and_not_for_the_machine(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            harness.run("inject", "row_remap_failed", "--subject", "gpu/2", "--socket", agent.socket)
            harness.wait_until(lambda: agent.node()["verdict"] == "EVICT", "the machine is sick")
            for what in ("live", "ready"):
                self.assertEqual(harness.run("status", "--probe", what, "--socket", agent.socket), (0, "", ""))
            os.kill(agent.pid, signal.SIGSTOP)
            try:
                code, _, errors = harness.run("status", "--probe", "live", "--socket", agent.socket)
            finally:
                os.kill(agent.pid, signal.SIGCONT)
            self.assertEqual((code, errors), (3, f"autopilot: unix:{agent.socket} does not answer\n"))

    def test_who_has_a_picture_of_the_node_gets_it_once(self):
        def ask(agent, known=""):
            connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=10)
            try:
                connection.request("GET", "/v1/node", headers={"If-None-Match": known} if known else {})
                answer = connection.getresponse()
                return answer.status, answer.getheader("ETag"), answer.read()
            finally:
                connection.close()

        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            # A snapshot may be replaced between two questions.
            def is_unchanged():
                _, tag, body = ask(agent)
                self.assertEqual(json.loads(body)["node"], agent.node()["node"])
                return ask(agent, tag) == (304, tag, b"")

            harness.wait_until(is_unchanged, "the answer is 304 without a body")

    def test_actions_are_for_the_local_socket_alone(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            self.assertEqual(agent.request("POST", "/v1/checks/gpu.ecc")[0], 403)
            self.assertEqual(agent.request("POST", "/v1/inject", "{}")[0], 403)
            status, body = agent.request("POST", "/v1/checks/gpu.ecc", unix=True)
            self.assertEqual(status, 200, body)
            self.assertEqual(json.loads(body)["check"], "gpu.ecc")

    def test_a_browser_led_here_under_another_name_is_refused(self):
        with harness.Agent("--simulate", "no-gpu") as agent:
            status, _ = agent.request("GET", "/v1/node", headers={"Host": "evil.example"})
            self.assertEqual(status, 403)
            status, _ = agent.request("GET", "/v1/node", headers={"Origin": "http://evil.example"})
            self.assertEqual(status, 403)

    def test_a_fault_becomes_a_finding_an_incident_a_verdict_and_an_event(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            code, _, errors = harness.run("inject", "xid", "--subject", "gpu/2", "--magnitude", "79", "--socket",
                                          agent.socket)
            self.assertEqual(code, 0, errors)
            node = harness.wait_until(lambda: (lambda n: n if n["verdict"] == "EVICT" else None)(agent.node()),
                                      "the verdict is EVICT")
            incident = node["incidents"][0]
            self.assertEqual(incident["check"], "gpu.xid")
            self.assertEqual(incident["blamed"]["kind"], "gpu")

            # An event is shown when the journal has it.
            def kinds():
                code, out, errors = harness.run("events", "--socket", agent.socket, "-o", "json")
                self.assertEqual(code, 0, errors)
                return {json.loads(line)["kind"] for line in out.splitlines() if line}

            expected = {"fault_injected", "kernel_record", "finding_raised", "incident_opened"}
            harness.wait_until(lambda: expected <= kinds(), f"the events are {expected}")
            code, out, _ = harness.run("check", "--socket", agent.socket)
            self.assertEqual(code, 2)
            self.assertIn("EVICT", out)

    def test_a_killed_agent_remembers_its_incidents(self):
        folder = tempfile.mkdtemp(prefix="autopilot-test-")
        with harness.Agent("--simulate", "hgx-h100-8", folder=folder) as agent:
            agent.wait_ready()
            harness.run("inject", "xid", "--subject", "gpu/2", "--magnitude", "79", "--socket", agent.socket)
            incident = harness.wait_until(lambda: agent.node()["incidents"], "an incident is open")[0]
            # An event that was sent is in the journal.
            harness.wait_until(lambda: "incident_opened" in agent.request(
                "GET", "/v1/events", headers={"Accept": "application/json"})[1], "the event is acknowledged")
            self.assertEqual(agent.process.stop(signal.SIGKILL), -signal.SIGKILL)
        with harness.Agent("--simulate", "hgx-h100-8", folder=folder) as agent:
            remembered = harness.wait_until(lambda: agent.node()["incidents"], "the incident is back")[0]
            self.assertEqual(remembered["id"], incident["id"])
            self.assertEqual(remembered["reason"], incident["reason"])

    def test_a_journal_that_is_lost_while_it_is_used_is_written_again(self):
        folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        with harness.Agent("--simulate", "hgx-h100-8", folder=folder) as agent:
            agent.wait_ready()
            harness.run("inject", "xid", "--subject", "gpu/2", "--magnitude", "79", "--socket", agent.socket)
            incident = harness.wait_until(lambda: agent.node()["incidents"], "an incident is open")[0]
            for name in glob.glob(os.path.join(folder, "state", "simulated", "*.db*")):
                os.remove(name)
            harness.run("inject", "xid", "--subject", "gpu/3", "--magnitude", "31", "--socket", agent.socket)
            told = harness.wait_until(lambda: [one for one in json.loads(agent.request(
                "GET", "/v1/events", headers={"Accept": "application/json"})[1])["items"]
                if one["kind"] == "journal_moved_aside"], "the loss is told")
            self.assertEqual(told[0]["message"], "the journal was gone")
            # The incident of the other GPU. An event after the loss is durable together with everything that is open.
            other = harness.wait_until(lambda: [one["id"] for one in agent.node()["incidents"] if one["id"] != incident["id"]],
                                       "the other incident is open")[0]
            seen = json.dumps({"reason": "seen"})
            harness.wait_until(lambda: json.loads(agent.request(
                "POST", f"/v1/incidents/{other}/ack", seen, unix=True)[1])["durable"], "it is durable")
            self.assertEqual(agent.process.stop(signal.SIGKILL), -signal.SIGKILL)
        with harness.Agent("--simulate", "hgx-h100-8", folder=folder) as agent:
            remembered = harness.wait_until(lambda: agent.node()["incidents"], "the incident is back")
            self.assertIn(incident["id"], [one["id"] for one in remembered])

    def test_what_happened_to_a_simulated_machine_is_not_remembered_of_this_one(self):
        folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        with harness.Agent("--simulate", "hgx-h100-8", folder=folder) as agent:
            agent.wait_ready()
            harness.run("inject", "xid", "--subject", "gpu/2", "--magnitude", "79", "--socket", agent.socket)
            harness.wait_until(lambda: agent.node()["incidents"], "an incident is open")
        with harness.Agent(folder=folder) as agent:
            agent.wait_ready()
            node = agent.node()
            self.assertFalse(node["simulated"])
            self.assertNotIn("gpu", {finding["subject"]["kind"] for result in node["results"]
                                     for finding in result["findings"] if finding["health"] == "failed"})
            self.assertEqual([one for one in node["incidents"] if "0000:" in json.dumps(one)], [])
            events = agent.request("GET", "/v1/events", headers={"Accept": "application/json"})[1]
            self.assertNotIn('"simulated":true', events)
        with harness.Agent("--simulate", "no-gpu", folder=folder) as agent:
            agent.wait_ready()
            self.assertEqual(agent.node()["incidents"], [])

    def test_a_killed_agent_leaves_no_player_of_its_simulated_machine(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            pid = agent.process.child.pid
            players = harness.wait_until(lambda: [child for child in harness.children_of(pid)
                                                  if "play" in harness.arguments_of(child)], "the machine is played")
            self.assertEqual(agent.process.stop(signal.SIGKILL), -signal.SIGKILL)
            for player in players:
                harness.wait_until(lambda: "play" not in harness.arguments_of(player), "the player ended as well")

    def test_a_new_configuration_is_taken_and_a_bad_one_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "autopilot.yaml")

            def write(text):
                with open(path + ".new", "w", encoding="utf-8") as out:
                    out.write(text)
                os.replace(path + ".new", path)

            write("checks:\n  gpu.ecc: {enabled: true}\n")
            with harness.Agent("--simulate", "hgx-h100-8", "--config", path) as agent:
                agent.wait_ready()
                write("checks:\n  gpu.ecc: {enabled: false}\n")
                agent.process.child.send_signal(signal.SIGHUP)
                harness.wait_until(lambda: "gpu.ecc" not in [r["check"] for r in agent.node()["results"]],
                                   "the disabled check is gone")
                write("checks:\n  gpu.ecc: {enabeld: false}\n")
                agent.process.child.send_signal(signal.SIGHUP)
                harness.wait_until(lambda: agent.process.find(r"configuration refused.*enabeld"),
                                   "the refusal names the key")
                self.assertNotIn("gpu.ecc", [r["check"] for r in agent.node()["results"]])
                # The signal or the change of the file triggers it, whichever is first, but not both.
                agent.process.child.send_signal(signal.SIGHUP)
                harness.wait_until(lambda: sum("configuration refused" in line for line in agent.process.log) >= 2,
                                   "who asks again is answered again")
                self.assertIn("autopilot_configuration_refused_total 1\n", agent.get("/metrics"))

    def test_a_bad_configuration_at_the_start_is_exit_78_and_names_the_line(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("listen: 127.0.0.1:0\nprofil: local\n")
            file.flush()
            code, _, errors = harness.run("agent", "--config", file.name)
            self.assertEqual(code, 78)
            self.assertIn(":2:", errors)
            self.assertIn("profile", errors)

    def test_it_tells_the_service_manager_and_stops_in_order(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "notify.sock")
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.bind(path)
                manager.settimeout(30)
                agent = harness.Agent("--simulate", "no-gpu",
                                      environment={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"})
                seen = []
                while "READY=1" not in seen or "WATCHDOG=1" not in seen:
                    seen.append(manager.recv(4096).decode())
                self.assertEqual(agent.close(), 0)
                manager.settimeout(5)
                while "STOPPING=1" not in seen:
                    seen.append(manager.recv(4096).decode())
                self.assertFalse(os.path.exists(agent.socket))

    def test_who_reads_its_log_may_end_before_it(self):
        with tempfile.TemporaryDirectory() as folder:
            control = os.path.join(folder, "agent.sock")
            reader, writer = os.pipe()
            child = subprocess.Popen([harness.AUTOPILOT, "agent", "--listen", "127.0.0.1:0", "--simulate", "no-gpu"],
                                     env={**os.environ, "AUTOPILOT_STATE_DIR": folder, "AUTOPILOT_SOCKET": control},
                                     stdin=subprocess.DEVNULL, stdout=writer, stderr=writer)
            os.close(writer)
            with open(reader, encoding="utf-8") as log:
                self.assertTrue(any("agent ready" in line for line in log))
            child.terminate()
            self.assertEqual(child.wait(30), 0)
            self.assertFalse(os.path.exists(control), "it stopped in order")

    def test_a_beginning_of_events_that_is_none_is_refused(self):
        with harness.Agent("--simulate", "no-gpu") as agent:
            agent.wait_ready()
            for accept in ("application/json", "text/event-stream"):
                for query, headers in (("", {"Last-Event-ID": "abc"}), ("?after=-1", {}), ("?since=abc", {}),
                                       ("", {"Last-Event-ID": "99999999999999999999"})):
                    with self.subTest(accept, query=query, headers=headers):
                        status, body = agent.request("GET", "/v1/events" + query, headers={"Accept": accept, **headers})
                        self.assertEqual(status, 400)
                        self.assertIn("expected", body)

    def test_events_are_streamed_and_continue_after_the_last_id(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            events = json.loads(agent.request("GET", "/v1/events", headers={"Accept": "application/json"})[1])["items"]
            first = events[0]["id"]
            connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=20)
            connection.request("GET", "/v1/events", headers={"Accept": "text/event-stream",
                                                              "Last-Event-ID": str(first)})
            stream = connection.getresponse()
            self.assertEqual(stream.getheader("Content-Type").split(";")[0], "text/event-stream")
            harness.run("inject", "xid", "--subject", "gpu/1", "--magnitude", "79", "--socket", agent.socket)
            ids = []
            end = time.monotonic() + 20
            kinds = []
            while "incident_opened" not in kinds and time.monotonic() < end:
                line = stream.readline().decode().strip()
                if line.startswith("id:"):
                    ids.append(int(line[3:]))
                if line.startswith("event:"):
                    kinds.append(line[6:].strip())
            connection.close()
            self.assertIn("incident_opened", kinds)
            self.assertEqual(ids, list(range(int(first) + 1, int(first) + 1 + len(ids))))


if __name__ == "__main__":
    unittest.main(verbosity=2)
