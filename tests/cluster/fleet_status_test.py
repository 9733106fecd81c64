# SPDX-License-Identifier: Apache-2.0
"""Agents of many simulated nodes, and the pod of a real one where there is a kubelet, as clients of IBM Autopilot ask them: people with
curl and grep, and the web page."""

import json
import os
import re
import sys
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

from kit import fleet, network, reports, simulated, testing
from kit.cluster import ROOT, Cluster
from kit.deployment import Deployment

sys.path.insert(0, str(ROOT / "tests" / "integration"))

from ibm_client import Transcript, page_row, statuses  # noqa: E402

PROGRAMS = Path(os.environ.get("AUTOPILOT_BIN_DIR", ROOT / "build" / "bin"))
PREFIX = "asked-"
NODES = [f"{PREFIX}{number}" for number in range(12)]
STRUCK = "asked-3"
DARK = "asked-7"  # has an address without a listener, while a test requests it
REAL = "node-0"


def ask(base, **parameters):
    query = urllib.parse.urlencode(parameters, safe=",:=")
    with urllib.request.urlopen(f"{base}/status?{query}", timeout=60) as answer:
        assert 200 <= answer.status < 300
        return answer.read().decode()


class FleetStatusTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.addClassCleanup(reports.remove, cls.api)
        cls.bases = [fleet.url(0), fleet.url(5)]
        cls.all = set(NODES)
        if cls.cluster.nodes:
            deployment = Deployment(cls.api, "dropin", REAL, "--simulate", "hgx-h100-8", "--allow-simulated")
            cls.addClassCleanup(deployment.remove)
            cls.bases.append(f"http://{deployment.apply()['status']['podIP']}:{fleet.PORT}")
            cls.all.add(REAL)
        else:
            print(f"without the pod of a real node: {cls.cluster.why_no_nodes}")
        cls.api.run("create", "-f", "-", text=simulated.as_text([simulated.node(name) for name in NODES]))
        cls.addClassCleanup(cls.api.run, "delete", "node", "--ignore-not-found", *NODES)
        cls.api.run("label", "node", *NODES[:2], "rack=7")
        log = cls.cluster.processes.log_of(fleet.PROGRAM)
        log.unlink(missing_ok=True)
        fleet.start(cls.cluster, PROGRAMS, len(NODES), "--fault", f"node={STRUCK},fault=row_remap_failed,subject=gpu/2,at=0s", prefix=PREFIX)
        cls.addClassCleanup(fleet.forget_addresses, cls.api)
        cls.addClassCleanup(cls.cluster.processes.stop, fleet.PROGRAM)
        cls.api.wait(lambda: "every agent has written" in log.read_text(), "every agent has written", 180)
        cls.api.wait(lambda: statuses(ask(fleet.url(0), host=STRUCK, check="remapped")) == ["REMAPPED ROWS Failed"], "the fault is seen", 180)

    def expected(self, nodes):
        return {node: ["REMAPPED ROWS Failed"] if node == STRUCK else ["OK"] for node in nodes}

    def test_every_agent_answers_for_all(self):
        for base in self.bases:
            with self.subTest(base):
                transcript = Transcript(ask(base, check="remapped,gpupower"))
                self.assertEqual(transcript.summary, self.expected(self.all))
                self.assertEqual({node: words for node, (_, words) in transcript.nodes.items()}, transcript.summary)
                self.assertEqual({node: statuses(reply) for node, (reply, _) in transcript.nodes.items()}, transcript.summary)
                self.assertIn(f"{fleet.url(3)}/status?host={STRUCK}&check=remapped,gpupower", transcript.urls)
                print(f"{len(transcript.nodes)} nodes answered in {transcript.runtime:.2f} s")

    def test_people_find_what_is_bad_with_grep(self):
        text = ask(self.bases[-1], check="remapped")
        self.assertEqual(re.findall(r"^Node: (.*)\n(?:(?!Node: ).*\n)*?.*\bFAIL$", text, re.MULTILINE), [STRUCK])
        self.assertEqual(sum("FAIL" in line for line in text.splitlines()), 2)  # the result, and the line above the numbers
        self.assertEqual([line for line in text.splitlines() if line.startswith("Node Status: ") and not line.endswith("OK")],
                         ["Node Status: REMAPPED ROWS Failed"])
        self.assertIn("\n0 0 1 0 0 0 0 0\n", text)

    def test_nodes_are_chosen_by_name_and_by_label(self):
        for query, nodes in (({"host": f"asked-9,{STRUCK}"}, ["asked-9", STRUCK]), ({"nodelabel": "rack=7"}, NODES[:2]),
                             ({"nodelabel": "rack=7", "host": "asked-9"}, [*NODES[:2], "asked-9"])):
            for batch in ("0", "1"):
                with self.subTest(query, batch=batch):
                    text = ask(self.bases[-1], check="remapped", batch=batch, **query)
                    self.assertEqual(Transcript(text).summary, self.expected(nodes))
        self.assertIn("No node is labeled with rack=8  - ABORT.\n", ask(self.bases[-1], nodelabel="rack=8"))
        self.assertIn("Workload: team: app=x\nNot allowed to list pods in team; send a token. ABORT.\n", ask(self.bases[-1], job="team:app=x"))

    def test_a_dead_one_is_in_the_answer_and_keeps_nobody_from_answering(self):
        self.addCleanup(self.move_dark_one, network.agent_address(NODES.index(DARK)), ["OK"])
        self.move_dark_one(network.agent_address(1000), ["Connection to Server Failed"])

    def move_dark_one(self, address, words):
        """Waits until every agent that is asked here reports this text for it, and the usual text for the others."""
        slice_ = self.api.get("endpointslices", "-n", fleet.NAMESPACE, "-l", f"{fleet.MARK}=fleet")["items"][0]["metadata"]["name"]
        patch = [{"op": "replace", "path": f"/endpoints/{NODES.index(DARK)}/addresses/0", "value": address}]
        self.api.run("patch", "endpointslice", "-n", fleet.NAMESPACE, slice_, "--type=json", "-p", json.dumps(patch))
        expected = self.expected(self.all) | {DARK: words}
        for base in self.bases:
            # The agent caches the endpoints for some seconds.
            self.api.wait(lambda: Transcript(ask(base, check="remapped")).summary == expected, f"it is {words} to {base}")

    def test_the_web_page_asks_and_reads(self):
        # It names every parameter, also empty ones.
        text = ask(self.bases[-1], check="remapped,gpupower", host=f"{NODES[0]},{STRUCK}", job="", nodelabel="", r="", batch="")
        self.assertEqual(Transcript(text).summary, self.expected([NODES[0], STRUCK]))

        def rows():
            return {node["metadata"]["name"]: page_row(node["metadata"]["labels"]) for node in self.api.get("nodes")["items"]
                    if node["metadata"]["name"] in NODES}
        wanted = {name: {"present": "true", "is_green": name != STRUCK, "health": "Not Pass" if name == STRUCK else "Pass"} for name in NODES}
        self.api.wait(lambda: rows() == wanted, "the page shows each node as it is")


if __name__ == "__main__":
    testing.main()
