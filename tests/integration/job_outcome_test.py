#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent whose jobs another program evaluates asks it why a job ended, and tests the nodes of the job if the network was suspected."""

import http.server
import json
import os
import ssl
import tempfile
import threading
import time
import unittest
import urllib.parse

import harness
from certificates import Certificates
from simulated_gpus import make_machine
from validation_test import WORLD, Job

NODE = "node-1"
OTHER = "node-2"  # nothing listens there


def moment():
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())


def outcome(job):
    """That a NIC of another node failed the job."""
    failure = {"kind": "infrastructure", "cause": "link_down", "culprit": {"kind": "nic", "node": OTHER, "nic": "mlx5_0"}, "time": moment(),
               "sentence": f"mlx5_0 of {OTHER} went down", "evidence": [], "notAvailable": []}
    return {"simulated": False, "job": job, "health": "ended", "attempt": 1, "ranks": WORLD, "nodes": 2, "notSeen": [], "kind": "training",
            "nodeNames": [NODE, OTHER], "started": moment(), "ended": moment(), "outcome": "failed", "failure": failure, "findings": [],
            "feedback": [], "acknowledged": [], "muted": False}


class Evaluator(http.server.ThreadingHTTPServer):
    """Takes records as a coordinator does, and knows why each job ended, or is silent about it."""

    daemon_threads = True

    def __init__(self, keys, knows):
        super().__init__(("127.0.0.1", 0), Asked)
        self.knows = knows
        self.records = []
        self.questions = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(keys.path("localhost.crt"), keys.path("localhost.key"))
        context.load_verify_locations(keys.path("ca.crt"))
        context.verify_mode = ssl.CERT_REQUIRED
        self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        """A client that hangs up is no problem of the test."""


class Asked(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        head, *records = self.rfile.read(int(self.headers["Content-Length"])).decode().splitlines()
        self.server.records += [json.loads(record) for record in records]
        self.answer(200, {"taken": json.loads(head)["sequence"]})

    def do_GET(self):
        path = urllib.parse.urlparse(self.path)
        query = dict(urllib.parse.parse_qsl(path.query))
        self.server.questions.append((path.path, query))
        if self.server.knows:
            return self.answer(200, outcome(query["job"]))
        return self.answer(503, {"error": {"code": "unavailable", "message": "this controller is not the leader"}})

    def log_message(self, *_):
        """Quiet."""


class JobOutcomeTest(unittest.TestCase):
    def start(self, knows):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-outcome-"))
        keys = Certificates(folder)
        keys.make_authority("ca")
        keys.make("localhost", "ca", "DNS:localhost")
        keys.make(NODE, "ca", f"DNS:{NODE}")
        self.evaluator = Evaluator(keys, knows)
        self.addCleanup(self.evaluator.close)
        config = os.path.join(folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"node": NODE, "peers": [f"{OTHER}=127.0.0.1:1"], "network": {"interfaces": ["lo"]}, "gpu_probe": {"time": "100ms"},
                       "jobs": {"search_every": "1s", "coordinator": f"https://localhost:{self.evaluator.server_port}"},
                       "tls": {"mode": "files", "listen": "127.0.0.1:0", "certificate": keys.path(NODE + ".crt"), "key": keys.path(NODE + ".key"),
                               "authorities": keys.path("ca.crt")},
                       "gpu_tests": {"checks": ["gpu.pcie_bandwidth"]}, "validation": {"on_job_end": "quick"}}, file)
        agent = harness.Agent("--root", make_machine(folder), "--config", config)
        self.addCleanup(agent.close)
        agent.wait_ready()
        return agent

    def validated(self, agent):
        """The validation after a job with two ranks on this node."""
        job = Job()
        self.addCleanup(job.close)
        harness.wait_until(lambda: [one for one in self.evaluator.records if one["type"] == "job" and len(one.get("ranks", [])) == WORLD],
                           "the agent has sent the job", 60)
        job.close()
        [seen] = harness.wait_until(lambda: json.loads(agent.get("/v1/validations"))["validations"], "the node is validated", 150)
        return seen

    def test_what_is_known_about_the_job_reaches_its_validation_and_the_network_is_tested(self):
        agent = self.start(knows=True)
        seen = self.validated(agent)
        self.assertEqual((seen["outcome"], seen["failure"], seen["failureText"]), ("failed", "infrastructure", f"mlx5_0 of {OTHER} went down"))
        self.assertEqual(self.evaluator.questions[0], ("/v1/jobs/outcome", {"job": seen["job"], "node": NODE}))
        self.assertTrue(seen["wantsPairTest"])
        self.assertEqual(seen["pairTest"]["nodes"], [NODE, OTHER], "this node is the first")
        made = [one for one in json.loads(agent.get("/v1/operations"))["items"] if one["owner"] == "validation"]
        self.assertEqual([one["kind"] for one in reversed(made)], ["network.bandwidth", "gpu.pcie_bandwidth"])
        self.assertEqual([one["key"] for one in made[-1]["reservation"]], [NODE, OTHER])
        self.assertEqual(seen["verdict"], "passed", f"a test without a result is no evidence: {seen}")
        code, out, errors = harness.run("validations", "--socket", agent.socket)
        self.assertEqual(code, 0, out + errors)
        self.assertIn("test between 2 nodes: ", " ".join(out.split()))

    def test_without_an_answer_the_quick_diagnostics_run_as_before(self):
        agent = self.start(knows=False)
        seen = self.validated(agent)
        self.assertGreater(len(self.evaluator.questions), 3, "it asks again")
        self.assertEqual((seen["outcome"], seen["depth"], seen["verdict"]), ("unknown", "quick", "passed"), seen)
        self.assertNotIn("pairTest", seen)


if __name__ == "__main__":
    unittest.main(verbosity=2)
