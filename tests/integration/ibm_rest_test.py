# SPDX-License-Identifier: Apache-2.0
"""The REST interface of IBM Autopilot: its texts as people search them, and the same in JSON and as a stream."""

import concurrent.futures
import contextlib
import http.client
import json
import pprint
import re
import socket
import unittest

import harness
from ibm_client import Transcript, statuses


def inject(agent, *arguments):
    code, _, errors = harness.run("inject", *arguments, "--socket", agent.socket)
    assert code == 0, errors


def values(reply, tag):
    """The numbers of the last line of the check of that tag, one for each GPU."""
    lines = reply.split("\n")
    first = max(number for number, line in enumerate(lines) if tag in line)
    return next(line.split() for line in lines[first:] if re.fullmatch(r"[0-9. nan]+", line))


NO_NETWORK_TEST = "[NETWORK] - [IPERF] - [INFO] : SKIP: not yet run: see docs/network-tests.md\n"


class IbmRestTest(unittest.TestCase):
    def ask(self, agent, path, **keywords):
        status, body = agent.request("GET", path, **keywords)
        self.assertEqual(status, 200, body)
        return body

    def test_this_node_answers_without_a_head(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            reply = self.ask(agent, f"/status?host={agent.node()['node']}")
            # In the order of the default list; the other names come with their checks.
            self.assertEqual(re.findall(r"(?m)^\[+ ?(PCIEBW|DCGM|PING) ?\]+ SKIP: not yet run|\[\[ ?(REMAPPED|GPU POWER)[^\n]*Briefings", reply),
                             [("PCIEBW", ""), ("", "REMAPPED"), ("DCGM", ""), ("PING", ""), ("", "GPU POWER")])
            self.assertTrue(reply.startswith("SIMULATED\n"))
            self.assertEqual(values(reply, "[[ REMAPPED ROWS ]] SUCCESS"), ["0"] * 8)
            self.assertEqual(values(reply, "[GPU POWER] SUCCESS"), ["0"] * 8)
            self.assertEqual(statuses(reply), ["OK"])

    def test_paths_that_start_load_start_none_for_anybody(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            self.assertEqual(self.ask(agent, "/invasive"),
                             "Not launching invasive health checks: authenticate. Results of earlier ones are in the labels "
                             "autopilot.ibm.com/gpuhealth and autopilot.ibm.com/dcgm.level.3 of the node.\n")
            self.assertEqual(self.ask(agent, "/iperf?workload=ring"), "SIMULATED\n" + NO_NETWORK_TEST)
            for path in ("/iperfservers", "/iperfstopservers", "/iperfclients?dstip=127.0.0.1&dstport=1&numclients=9"):
                self.assertEqual(self.ask(agent, path), "check not supported: iperf\n")

    def test_a_check_has_a_path_with_words_of_its_own(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            for path, beginning in (("/remapped", "Requesting Remapped Rows check on all GPUs\n"),
                                    ("/gpupower", "GPU Power Measurement test"), ("/dcgm", "DCGM test"),
                                    ("/gpumem", "GPU Memory DGEMM+DAXPY test"), ("/ping", "Ping test"),
                                    ("/pvc", "PVC create-delete test\n")):
                self.assertTrue(self.ask(agent, path).startswith("SIMULATED\n" + beginning), path)
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", agent.port, timeout=10)) as connection:
                for method in ("POST", "HEAD"):
                    connection.request(method, "/remapped")
                    response = connection.getresponse()
                    response.read()
                    self.assertEqual((response.status, response.getheader("Content-Type")), (200, "text/plain; charset=utf-8"))
            self.assertEqual(agent.request("GET", "/remapped/")[0], 404)

    def test_several_nodes_are_a_transcript(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            node = agent.node()["node"]
            of_each_length = ",".join("n" * length for length in range(1, 121))
            for query in ("", "?check=remapped", f"?host={node},gone-1,gone-2&check=gpupower,remapped", f"?host={of_each_length}",
                          "?host=gone-1"):
                transcript = Transcript(self.ask(agent, "/status" + query))
                for name, (reply, words) in transcript.nodes.items():
                    self.assertEqual(statuses(reply), words)
                    self.assertEqual(transcript.summary[name], words)
                self.assertEqual(len(transcript.urls), len(transcript.nodes))
                self.assertEqual(transcript.summary_text, pprint.pformat(transcript.summary))
            self.assertEqual(transcript.summary, {"gone-1": ["Connection to Server Failed"]})

    def test_what_fails_says_so(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            node = agent.node()["node"]
            inject(agent, "row_remap_pending", "--subject", "gpu/3")

            def answer():
                return Transcript(self.ask(agent, "/status?check=remapped,gpupower")).nodes[node]
            harness.wait_until(lambda: answer()[1] == ["REMAPPED ROWS Failed"], "the answer tells the row")
            self.assertEqual(values(answer()[0], "[[ REMAPPED ROWS ]] FAIL"), list("00010000"))

    def test_a_lost_gpu_is_not_healthy(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            path = f"/status?host={agent.node()['node']}&check=remapped,gpupower"
            inject(agent, "fell_off_bus", "--subject", "gpu/2")
            harness.wait_until(lambda: statuses(self.ask(agent, path)) == ["REMAPPED ROWS Failed", "GPU POWER Failed"],
                               "neither check is well")
            self.assertIn("[[ REMAPPED ROWS ]] ABORT\n", self.ask(agent, path))

    def test_a_node_without_gpus_has_nothing_that_fails(self):
        with harness.Agent("--simulate", "no-gpu") as agent:
            agent.wait_ready()
            reply = self.ask(agent, f"/status?host={agent.node()['node']}")
            self.assertIn("[[ REMAPPED ROWS ]] SKIP: ", reply)
            self.assertEqual(statuses(reply), ["OK"])

    def test_who_asks_at_once_gets_one_look(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()

            def completed():
                return agent.result("gpu.row_remap")["completed"]
            before = completed()
            harness.wait_until(lambda: self.ask(agent, "/remapped") and completed() != before, "an answer is of now")
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                first = completed()
                replies = list(pool.map(lambda _: self.ask(agent, "/remapped"), range(64)))
            self.assertEqual(len(set(replies)), 1)
            self.assertEqual(completed(), first)

    def test_the_same_in_json_and_as_a_stream(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            node = agent.node()["node"]
            accept = {"Accept": "application/json"}
            here = json.loads(self.ask(agent, f"/status?host={node}&check=remapped,nic", headers=accept))
            self.assertEqual([(check["name"], check["outcome"]) for check in here["checks"]],
                             [("remapped", "passed"), ("nic", "not_supported")])
            self.assertEqual((here["node"], here["simulated"], here["statuses"], here["checks"][0]["fresh"]),
                             (node, True, ["OK"], True))
            nodes = json.loads(self.ask(agent, f"/status?host={node},gone&check=remapped", headers=accept))["nodes"]
            self.assertEqual([(one["node"], one["statuses"]) for one in nodes],
                             [(node, ["OK"]), ("gone", ["Connection to Server Failed"])])
            stream = self.ask(agent, f"/status?host={node},gone&check=remapped", headers={"Accept": "text/event-stream"})
            events = re.findall(r"^event: (\w+)\ndata: (.*)$", stream, re.MULTILINE)
            self.assertEqual(sorted(name for name, _ in events), ["end", "node", "node"])
            self.assertEqual({json.loads(data)["node"] for name, data in events if name == "node"}, {node, "gone"})
            self.assertEqual(json.loads(self.ask(agent, "/remapped", headers=accept))["checks"][0]["name"], "remapped")
            # A client that takes anything gets what it always got.
            several = {"Accept": "application/json, text/plain, */*"}
            self.assertTrue(self.ask(agent, "/remapped", headers=several).startswith("SIMULATED\nRequesting "))
            stream = self.ask(agent, "/remapped", headers={"Accept": "text/event-stream"})
            check = json.loads(re.search(r"^event: check\ndata: (.*)$", stream, re.MULTILINE).group(1))
            self.assertEqual((check["node"], check["simulated"], check["outcome"]), (node, True, "passed"))

    def test_a_stream_waits_for_who_reads_and_is_cut_for_who_does_not(self):
        """A stream of a thousand nodes is larger than the limit of unread data of one client."""
        hosts = ",".join(f"n{number}" for number in range(1000))
        path = f"/status?host={hosts}&check=dcgm,ping&r={'r' * 500}&pingnodes={'p' * 500}"
        with harness.Agent("--simulate", "no-gpu") as agent:
            stream = self.ask(agent, path, headers={"Accept": "text/event-stream"})
            self.assertGreater(len(stream), 2**20)
            self.assertEqual((stream.count("event: node\n"), stream.count("event: end\n")), (1000, 1))
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(agent.socket)
                client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode())
                harness.wait_until(lambda: 'autopilot_http_limited_total{limit="write_deadline"} 1\n' in agent.get("/metrics"),
                                   "who does not read is cut", 30)
                self.assertIn("\nautopilot_http_streams_open 0\n", agent.get("/metrics"))

    def test_what_cannot_be_done_is_said_with_status_200(self):
        with harness.Agent("--simulate", "no-gpu") as agent:
            agent.wait_ready()
            for query, answer in (("?batch=-1", "Invalid batch, must be a number of nodes. Got -1\n"),
                                  ("?host=a%0Ab", "Invalid host definition, must be names of nodes. Got a"),
                                  ("?check=iperf", "SIMULATED\nRunning iperf3 on hosts all or job None\n\n" + NO_NETWORK_TEST),
                                  ("?check=iperf,remapped", "SIMULATED\nRunning iperf3 on hosts all or job None\n\n" + NO_NETWORK_TEST +
                                   "Asking to run on remote node(s) all or with node label None\n\n")):
                self.assertTrue(self.ask(agent, "/status" + query).startswith(answer), query)
            asking = "Asking to run on remote node(s) all or with node label None\n\n"
            self.assertEqual(self.ask(agent, "/status?job=train:app=x"),
                             asking + "Workload: train: app=x\nNot allowed to list pods in train; send a token. ABORT.\n")
            self.assertEqual(self.ask(agent, "/status?nodelabel=rack%3D7"),
                             asking.replace("None", "rack=7") + "Cannot look for nodes: this agent is in no cluster. ABORT.\n")
            # Hosts that are named get the request nevertheless.
            node = agent.node()["node"]
            both = self.ask(agent, f"/status?host={node},x&nodelabel=a&check=remapped")
            self.assertIn("Cannot look for nodes: this agent is in no cluster. ABORT.\nInitiated connection to", both)
            self.assertIn(f"\n{{'{node}': ['OK'], 'x': ['Connection to Server Failed']}}\n", both)
            self.assertTrue(self.ask(agent, "/status?check=" + "x" * 600).startswith("Invalid check, must have at most 512"))
            self.assertTrue(self.ask(agent, "/status?host=" + "a," * 1001).startswith("Invalid list, must be at most 1000"))
            self.assertEqual(self.ask(agent, "/status?job=train"),
                             asking + "Invalid job definition, must be namespace:label=value. Got train\n")
            # An invalid namespace would form another path of the API server.
            self.assertEqual(self.ask(agent, "/status?job=../../secrets%3F:a=b"),
                             asking + "Invalid job definition, must be namespace:label=value. Got ../../secrets?:a=b\n")


if __name__ == "__main__":
    unittest.main()
