# SPDX-License-Identifier: Apache-2.0
"""Results of active tests for clients of IBM Autopilot: texts, gauges, alerts and panels."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest
import urllib.parse
import urllib.request

import harness
from ibm_client import Transcript, statuses, throughput

GPUS = ["0000:1b:00.0", "0000:43:00.0", "0000:52:00.0", "0000:61:00.0", "0000:9d:00.0", "0000:c3:00.0", "0000:d1:00.0", "0000:df:00.0"]
SERIES = re.compile(r'^autopilot_health_checks\{[^}]*deviceid="([^"]*)"[^}]*health="([^"]*)"[^}]*\} (\S+)$', re.MULTILINE)

LOW_PCIE_ALERT = 'sum (autopilot_health_checks{health="pciebw"}<=4) by (node, deviceid, value) > 0'
LOW_PCIE_PANEL = 'avg(avg_over_time(autopilot_health_checks{health=~"pciebw"}[12h])) by (node, deviceid) < 3.4'
PING_ALERT = 'sum (autopilot_health_checks{health="ping"} > 0) by (deviceid)'
PING_PANEL = 'sum(label_replace(autopilot_health_checks{health="ping",node="%s"},"targetNode","$1","deviceid","(.*)")) by (node,targetNode)'
DASHBOARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/helm/autopilot/dashboards/autopilot.json")
DCGM_ALERT = 'sum (autopilot_health_checks{health="dcgm"}==1) by (node)'
PVC_ALERT = 'sum (autopilot_health_checks{health="pvc"}==1) by (node)'


def seen(name, subject, value, **attributes):
    unit = {"pcie_bandwidth.host_to_device": "gigabytes_per_second"}.get(name, "")
    return {"name": name, "subject": subject, "source": "probe", "value": value, "age": "40m",
            **({"unit": unit} if unit else {}), **({"attributes": attributes} if attributes else {})}


def measured(rates, outcome="measured", **attributes):
    return [seen("pcie_bandwidth.outcome", "host", outcome, **attributes)] + [
        seen("pcie_bandwidth.host_to_device", f"gpu/{gpu}", rate) for gpu, rate in zip(GPUS, rates)]


def computed(failed=None):
    """One GPU may multiply at a tenth of its rate."""
    return [seen("compute.outcome", "host", "measured")] + [
        one for number, gpu in enumerate(GPUS) for one in (
            seen("gpu.model", f"gpu/{gpu}", "NVIDIA H100 80GB HBM3"), seen("compute.daxpy", f"gpu/{gpu}", 2890.0),
            seen("compute.dgemm", f"gpu/{gpu}", 5.1 if number == failed else 51.4), seen("compute.wrong", f"gpu/{gpu}", 0))]


def asked(**silent):
    """Observations of a ping test; `silent`: interfaces that do not answer, by node."""
    return [seen("ping.outcome", "host", "ended", pod="autopilot-x1")] + [
        seen("ping.silent", f"peer/{node}", len(interfaces.split()), addresses="eth0=10.1.0.7 net1-0=10.2.0.7",
             **({"silent": interfaces} if interfaces else {})) for node, interfaces in silent.items()]


def received(pairs):
    """Observations of a bandwidth test: Mbit/s that arrived, by source, destination and interface."""
    return [seen("bandwidth.outcome", "host", "measured")] + [
        {**seen("bandwidth.received", f"link/{source}/{interface}|{destination}/{interface}", rate * 1000000, source=source,
                source_pod=f"autopilot-{source}", destination=destination, destination_pod=f"autopilot-{destination}", interface=interface),
         "unit": "bits_per_second"} for (source, destination, interface), rate in pairs.items()]


RING = {("a", "b", "net1-0"): 94100, ("a", "c", "net1-0"): 94000, ("b", "a", "net1-0"): 990, ("b", "c", "net1-0"): 94200,
        ("c", "a", "net1-0"): 93900, ("c", "b", "net1-0"): 94000, ("a", "b", "net1-1"): 40000, ("b", "a", "net1-1"): 41500}
TABLES = {"net1-0": {"autopilot-a_on_a": {"autopilot-a_on_a": None, "autopilot-b_on_b": 94.1, "autopilot-c_on_c": 94.0},
                     "autopilot-b_on_b": {"autopilot-a_on_a": 0.99, "autopilot-b_on_b": None, "autopilot-c_on_c": 94.2},
                     "autopilot-c_on_c": {"autopilot-a_on_a": 93.9, "autopilot-b_on_b": 94.0, "autopilot-c_on_c": None}},
          "net1-1": {"autopilot-a_on_a": {"autopilot-a_on_a": None, "autopilot-b_on_b": 40.0},
                     "autopilot-b_on_b": {"autopilot-a_on_a": 41.5, "autopilot-b_on_b": None}}}


class Machine:
    """A simulated one, with results of active tests, and its agent."""

    def __init__(self, *arguments, **results):
        self.folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.tree = os.path.join(self.folder, "machine")
        subprocess.run([harness.AUTOPILOT_SIM, "create", "hgx-h100-8", "--now", "--out", self.tree], check=True, capture_output=True)
        with open(os.path.join(self.tree, "machine.yaml"), encoding="utf-8") as file:
            self.untested = file.read()
        self.test(**results)
        self.agent = harness.Agent("--root", self.tree, *arguments)
        self.agent.wait_ready()

    def test(self, **results):
        """These are the last results now. An item of JSON is one of YAML."""
        tests = {check: {"seen": observations} for check, observations in results.items()}
        with open(os.path.join(self.tree, "machine.new"), "w", encoding="utf-8") as file:
            file.write(self.untested + "tests: " + json.dumps(tests) + "\n")
        os.replace(os.path.join(self.tree, "machine.new"), os.path.join(self.tree, "machine.yaml"))

    def look(self, check):
        status, body = self.agent.request("POST", f"/v1/checks/{check}", unix=True, timeout=60)
        assert status == 200, body

    def ask(self, path, **keywords):
        status, body = self.agent.request("GET", path, **keywords)
        assert status == 200, body
        return body

    def values(self, health):
        return {device: float(value) for device, of, value in SERIES.findall(self.agent.get("/metrics")) if of == health}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.agent.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class IbmProbesTest(unittest.TestCase):
    def test_all_is_well(self):
        with Machine(**{"gpu.pcie_bandwidth": measured([55.2] * 8), "gpu.compute": computed(),
                        "network.ping": asked(**{"node-b": "", "node-c": ""})}) as machine:
            reply = machine.ask(f"/status?host={machine.agent.node()['node']}&check=pciebw,gpumem,ping")
            self.assertEqual(statuses(reply), ["OK"])
            self.assertIn("\nSUCCESS\nHost  " + machine.agent.node()["node"] + "\n" + " ".join(["55.2"] * 8) + "\n", reply)
            self.assertIn("[[ GPU-MEM ]] Health Check successful\n", reply)
            self.assertEqual(re.findall(r"^Node (\S+) (\S+) (\S+) ([01])$", reply, re.MULTILINE),
                             [("node-b", "10.1.0.7", "eth0", "0"), ("node-b", "10.2.0.7", "net1-0", "0"),
                              ("node-c", "10.1.0.7", "eth0", "0"), ("node-c", "10.2.0.7", "net1-0", "0")])
            self.assertTrue(reply.endswith("[PING] all nodes reachable. success\n"))
            self.assertEqual(len(re.findall(r"Result of \S+Z; authenticate to run now\.", reply)), 3)
            self.assertEqual(machine.values("pciebw"), {str(gpu): 55.2 for gpu in range(8)})
            self.assertEqual(machine.values("gpumem"), {"0": 0})
            self.assertEqual(machine.values("ping"), {"node-b": 0, "node-c": 0})

    def test_what_is_wrong_fails_and_warns(self):
        with Machine(**{"gpu.pcie_bandwidth": measured([55.2] * 3 + [3.1] + [55.2] * 4), "gpu.compute": computed(failed=5),
                        "network.ping": asked(**{"node-b": "", "node-c": "net1-0"})}) as machine:
            node = machine.agent.node()
            path = f"/status?host={node['node']}&check=pciebw,gpumem,ping"
            self.assertEqual(statuses(machine.ask(path)), ["PCIE Failed", "GPU MEM Test Failed", "PING Failed"])
            self.assertEqual(node["verdict"], "WARN")
            here = json.loads(machine.ask(path, headers={"Accept": "application/json"}))
            self.assertEqual([(one["name"], one["outcome"], one["fresh"]) for one in here["checks"]],
                             [("pciebw", "failed", False), ("gpumem", "failed", False), ("ping", "failed", False)])
            self.assertEqual(machine.values("pciebw")["3"], 3.1)
            self.assertEqual(machine.values("gpumem"), {"0": 1})
            self.assertEqual(machine.values("ping"), {"node-b": 0, "node-c": 1})

    def test_a_way_that_is_narrow_warns_and_fails_no_ping(self):
        way = "link/node-a/eth0|node-b/eth0"
        narrow = [seen("ping.loss", way, 0, interface="eth0", node="node-b"), seen("ping.interface_mtu", way, 9000), seen("ping.path_mtu", way, 1500)]
        with Machine(**{"network.ping": asked(**{"node-b": ""}) + narrow}) as machine:
            node = machine.agent.node()
            self.assertEqual(node["verdict"], "WARN")
            reply = machine.ask(f"/status?host={node['node']}&check=ping")
            self.assertEqual(statuses(reply), ["OK"])
            self.assertTrue(reply.endswith("[PING] all nodes reachable. success\n"))
            self.assertEqual(machine.values("ping"), {"node-b": 0})

    def test_a_gpu_in_use_keeps_what_was_measured(self):
        with Machine(**{"gpu.pcie_bandwidth": measured([55.2] * 8)}) as machine:
            machine.test(**{"gpu.pcie_bandwidth": measured([], "in_use", by="team-a/train-0")})
            machine.look("gpu.pcie_bandwidth")
            reply = machine.ask("/pciebw")
            self.assertIn("[[ PCIEBW ]] SKIP: GPU in use by team-a/train-0\n", reply)
            self.assertEqual(statuses(reply), ["OK"])
            self.assertEqual(machine.values("pciebw"), {str(gpu): 55.2 for gpu in range(8)})

    def test_the_limit_is_that_of_the_configuration(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
            config.write("expectation: {thresholds: {gpu.pcie_bandwidth.host_to_device: 20}}\n")
            config.flush()
            with Machine("--config", config.name, **{"gpu.pcie_bandwidth": measured([55.2] * 7 + [19.9])}) as machine:
                reply = machine.ask("/pciebw")
                self.assertTrue(reply.startswith("SIMULATED\nRequesting pcie test with bw: 20\n"), reply)
                self.assertEqual(statuses(reply), ["PCIE Failed"])
        with Machine(**{"gpu.pcie_bandwidth": measured([55.2] * 8)}) as machine:
            self.assertTrue(machine.ask("/pciebw").startswith("SIMULATED\nRequesting pcie test with bw: 4\n"))

    def test_the_network_between_all_nodes(self):
        with Machine(**{"network.bandwidth": received(RING), "gpu.pcie_bandwidth": measured([55.2] * 8)}) as machine:
            node = machine.agent.node()["node"]
            reply = machine.ask("/iperf?workload=ring&pclients=8&startport=5200&cleanup")
            self.assertTrue(reply.startswith("SIMULATED\n[NETWORK] - [IPERF] - [INFO] : Result of "), reply)
            self.assertEqual(throughput(reply), (TABLES, {"net1-0": 78.53, "net1-1": 40.75}))
            beginning = "SIMULATED\nRunning iperf3 on hosts {} or job None\n\n"
            self.assertEqual(machine.ask("/status?check=iperf"), reply.replace("SIMULATED\n", beginning.format("all"), 1))
            # Among others it comes first, and takes nothing from them.
            here = machine.ask(f"/status?check=pciebw,iperf&host={node}")
            self.assertTrue(here.startswith(beginning.format(node)), here)
            self.assertLess(here.index("Average Bandwidth"), here.index("[[ PCIEBW ]]"))
            several = machine.ask("/status?check=iperf,pciebw")
            network, rest = several.split("Asking to run", 1)
            self.assertEqual(throughput(network), throughput(reply))
            self.assertEqual(Transcript("Asking to run" + rest).summary, {node: ["OK"]})
            # It has no gauge, and the network does not affect the verdict of the node.
            self.assertEqual(machine.values("iperf"), {})
            self.assertEqual(machine.agent.node()["verdict"], "PASS")

    def test_the_network_between_all_nodes_in_json_and_as_a_stream(self):
        with Machine(**{"network.bandwidth": received({**RING, ("b", "a", "net1-0"): 0})}) as machine:
            accept = {"Accept": "application/json"}
            here = json.loads(machine.ask("/iperf", headers=accept))
            self.assertEqual([(one["name"], one["check"], one["outcome"], one["fresh"]) for one in here["checks"]],
                             [("iperf", "network.bandwidth", "failed", False)])
            self.assertEqual(here["statuses"], ["IPERF Failed"])
            self.assertEqual(throughput(here["checks"][0]["text"])[0]["net1-0"]["autopilot-b_on_b"]["autopilot-a_on_a"], 0)
            several = json.loads(machine.ask("/status?check=iperf,remapped", headers=accept))
            self.assertEqual([one["outcome"] for one in several["checks"]], ["failed"])
            self.assertEqual([one["statuses"] for one in several["nodes"]], [["OK"]])
            stream = machine.ask("/status?check=iperf,remapped", headers={"Accept": "text/event-stream"})
            self.assertEqual(re.findall(r"^event: (\w+)$", stream, re.MULTILINE), ["check", "node", "end"])
            self.assertEqual(machine.agent.node()["verdict"], "PASS")
            self.assertEqual([one["subject"] for one in machine.agent.result("network.bandwidth")["findings"]],
                             [{"kind": "link", "key": "b/net1-0|a/net1-0"}])

    def test_the_alerts_and_panels_of_its_users_fire(self):
        prometheus = harness.need_program("prometheus")
        deep = [seen("deep_test.outcome", "host", "fatal", failed="memory.2")]
        claim = [seen("pvc.outcome", "peer/fast/ReadWriteOnce", "not_bound", storageClass="fast", accessMode="ReadWriteOnce")]
        with Machine(**{"gpu.pcie_bandwidth": measured([55.2] * 3 + [3.1] + [55.2] * 4), "gpu.diagnosis": deep, "storage.pvc": claim,
                        "network.ping": asked(**{"node-b": "", "node-c": "net1-0"})}) as machine, \
                tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
            probe.close()
            config = os.path.join(folder, "prometheus.yml")
            with open(config, "w", encoding="utf-8") as out:
                out.write("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: autopilot\n"
                          f"  static_configs: [{{targets: ['127.0.0.1:{machine.agent.port}']}}]\n")
            server = harness.Process([prometheus, f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                                      f"--web.listen-address=127.0.0.1:{port}"])
            try:
                self.see_alerts(machine, port)
            finally:
                server.stop()

    def see_alerts(self, machine, port):
        def query(expression):
            url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    return json.load(answer)["data"]["result"]
            except OSError:
                return None

        harness.wait_until(lambda: query('autopilot_health_checks{health="ping"}'), "Prometheus has the series", 60)
        node = machine.agent.node()["node"]

        def series(expression, *labels):
            return sorted((*(one["metric"].get(label) for label in labels), float(one["value"][1])) for one in query(expression))
        self.assertEqual(series(LOW_PCIE_ALERT, "node", "deviceid"), [(node, "3", 3.1)])
        self.assertEqual(series(LOW_PCIE_PANEL, "node", "deviceid"), [(node, "3", 3.1)])
        self.assertEqual(series(PING_ALERT, "deviceid"), [("node-c", 1)])
        self.assertEqual(series(PING_PANEL % node, "node", "targetNode"), [(node, "node-b", 0), (node, "node-c", 1)])
        self.assertEqual(series(DCGM_ALERT, "node"), [(node, 1)])
        self.assertEqual(series(PVC_ALERT, "node"), [(node, 1)])
        self.see_panels(series, node)

    def see_panels(self, series, node):
        """Checks the panels of our dashboard that need only the agent."""
        with open(DASHBOARD, encoding="utf-8") as file:
            panels = {panel["title"]: panel["targets"][0]["expr"].replace("$node", ".*") for panel in json.load(file)["panels"]}
        wanted = {
            "Nodes that need attention": (["node", "verdict"], [(node, "EVICT", 1)]),
            "GPUs slowed down by their hardware": (["node", "deviceid"], []),
            "GPUs with faults in their rows of memory": (["node", "deviceid"], []),
            "Faulty rows by node": (["node"], []),
            "GPUs with low PCIe bandwidth": (["node", "deviceid"], [(node, "3", 3.1)]),
            "Nodes that do not answer": (["node", "targetNode"], [(node, "node-c", 1)]),
            "Storage classes without a volume": (["node"], [(node, 1)]),
            "Pods of Autopilot that do not run": (["node"], [])}
        for title, (labels, expected) in wanted.items():
            self.assertEqual(series(panels.pop(title), *labels), expected, title)
        found = [subject for subject, _ in series(panels.pop("Open incidents"), "subject")]
        self.assertLessEqual({"gpu/0000:61:00.0", "peer/fast/ReadWriteOnce", "peer/node-c"}, set(found))
        self.assertEqual(panels, {})


if __name__ == "__main__":
    unittest.main()
