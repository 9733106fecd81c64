#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`autopilot network test --kind rdma --memory gpu` over eight hosts with real agents and the real network probe. Only RDMA and GPUs are
simulated: programs and folders replace perftest and the kernel's lists of devices (fake_perftest.py, rdma_host.py), and a library replaces
the driver, which reports the users of the GPUs (libnvidia-ml-sim.so)."""

import concurrent.futures
import json
import os
import unittest

import harness
import network_lab
import own_namespaces
from gpu_lab import GPUS, HERE, TLS_PORT, GpuLabTest

HOSTS = 8
CHECK = "network.rdma_gpu"
CHECK_OF_HOSTS = "network.rdma_bandwidth"
CHECK_ALONE = "network.rdma_loopback"
PROGRAMS = ("ib_write_bw", "ib_read_bw", "ib_send_lat")
OF_HOST = {"ib_write_bw": 197.0, "ib_read_bw": 181.0, "ib_send_lat": 1.5}  # Gbit/s, microseconds
OF_GPU = {"ib_write_bw": 190.0, "ib_read_bw": 152.0, "ib_send_lat": 1.5}


class RdmaGpuTestsTest(GpuLabTest):
    LEAVES = {number: "" for number in range(1, HOSTS + 1)}
    RAILS = len(GPUS)  # one beside the adapter of each
    SANITIZED = "rdma_probe_test"

    @classmethod
    def prepare(cls):
        cls.programs = cls.folder_of("programs", {name: os.path.join(HERE, "fake_perftest.py") for name in PROGRAMS})

    @staticmethod
    def facts_of(host):
        return os.path.join(host.folder, "perftest.json")

    @classmethod
    def play(cls, host, default=None, **devices):
        """Writes the differences from a healthy port, by device; each device reaches only the GPU beside it."""
        facts = {"default": {"rates": OF_HOST, "gpu_rates": OF_GPU, "has_cuda": True, "speed": 10} | (default or {})}
        for rail, own in enumerate(GPUS):
            name = f"mlx5_{rail}"
            facts[name] = {"unreachable_gpus": [gpu for gpu in GPUS if gpu != own]} | devices.get(name, {})
        with open(cls.facts_of(host), "w", encoding="utf-8") as file:
            json.dump(facts, file)

    @classmethod
    def start(cls, host, gpus=GPUS):
        devices = [f"mlx5_{rail}={host.interface(rail)}" + (f"={gpus[rail]}" if rail < len(gpus) else "") for rail in range(cls.RAILS)]
        cls.start_with(host, [f"PATH={cls.programs}:{os.environ['PATH']}", f"FAKE_PERFTEST={cls.facts_of(host)}"], "rdma_host.py", *devices)

    def measure(self, host, *words, memory="gpu", codes=(0, 1)):
        """Output of the verb, and the new findings of its check."""
        code, out, err = host.command("network", "test", "--kind", "rdma", "--memory", memory, *words, timeout=240)
        self.said = out + err
        self.assertIn(code, codes, self.said)
        return out, host.findings(CHECK if memory == "gpu" else CHECK_OF_HOSTS)

    def to_listen(self, host, port):
        return {"address": host.address(0), "allowed": self.lab[1].address(0), "processes": 1, "seconds": 5, "rdmaPort": port, "testSeconds": 1}

    def post(self, host, path, body):
        """Over the port without TLS: status and text."""
        told, code = self.lab[1].run("curl", "-s", "-w", "\n%{http_code}", "-X", "POST", "-d", json.dumps(body),
                                     f"http://{host.address(0)}:{network_lab.PORT}{path}").rsplit("\n", 1)
        return code, told

    @staticmethod
    def most_processes(host):
        """Users of one GPU, from a reading of the agent now."""
        _, told = host.request("POST", "/v1/checks/gpu.processes")
        return max(one["value"] for one in json.loads(told)["observations"] if one["name"] == "processes.count")

    def test_agents_tell_the_gpu_beside_each_port(self):
        self.assertEqual([(one["port"], one["gpu"]) for one in self.lab[1].get("/v1/network")["rdma"]],
                         [("mlx5_0/1", GPUS[0]), ("mlx5_1/1", GPUS[1])])

    def test_nobody_but_agents_may_take_the_memory_of_gpus(self):
        """Though lines are open to everybody here."""
        host = self.lab[2]
        listen = self.to_listen(host, "mlx5_0/1")
        measure = {"address": host.address(0), "node": "h1", "to": self.lab[1].address(0), "ports": [{"port": 1}, {"port": 2}, {"port": 3}],
                   "streams": 1, "seconds": 1, "rdmaPort": "mlx5_0/1"}
        for path, body in (("/v1/network/servers", listen), ("/v1/network/bandwidth", measure)):
            self.assertEqual(self.post(host, path, body | {"memory": "gpu"})[0], "403")
            self.assertEqual(self.post(host, path, body | {"memory": GPUS[0]})[0], "400")
        code, told = self.post(host, "/v1/network/servers", listen)
        self.assertEqual(code, "200", told)
        host.request("DELETE", f"/v1/network/servers/{json.loads(told)['id']}")

    def test_a_healthy_fabric_gives_no_suspect(self):
        shown, found = self.measure(self.lab[1])
        self.assertEqual(found, [], self.said)
        self.assertIn("mlx5_0/1, GPU memory, Gbit/s\nFROM \\ TO", shown)
        self.assertIn("Suspects: none\n", shown)
        self.assertIn(f"{CHECK}: round 1: 8 pairs are measured", self.said)
        rates = {round(one["value"] / 1e9) for one in self.lab[1].get(f"/v1/checks/{CHECK}")["observations"] if one["name"] == "bandwidth.received"}
        self.assertEqual(rates, {OF_GPU["ib_write_bw"], OF_GPU["ib_read_bw"]})

    def test_what_the_driver_shows_of_the_test_itself_is_no_job(self):
        """The agent reads the users when one port is done, and the other port is in the middle of its test."""
        for host in self.lab.hosts.values():
            self.plant(host, default={"nvml": os.path.join(self.tree_of(host), "nvml.yaml")}, mlx5_1={"speed": 1.5})
        _, found = self.measure(self.lab[4])
        self.assertEqual(found, [], self.said)
        for words in ("again", "job", "in use"):
            self.assertNotIn(words, self.said)

    def test_a_port_that_is_slow_out_of_the_memory_of_its_gpu_is_named_by_this_test_alone(self):
        self.plant(self.lab[5], mlx5_1={"gpu_sends": 90})
        shown, found = self.measure(self.lab[3])
        self.assertEqual(found, [("nic_port/h5:mlx5_1/1", "nic_slower_than_others")], self.said)
        self.assertIn("nic_port/h5:mlx5_1/1", shown)
        [told] = self.lab[3].get(f"/v1/checks/{CHECK}")["findings"]
        self.assertEqual(told["evidence"]["kind"], "nic_sends")
        shown, found = self.measure(self.lab[3], memory="host")
        self.assertEqual(found, [], self.said)
        self.assertIn("mlx5_1/1, Gbit/s\n", shown)

    def test_a_node_whose_perftest_has_no_cuda_is_unknown_and_nobody_suspect(self):
        self.plant(self.lab[6], default={"has_cuda": False})
        self.measure(self.lab[1], codes=(3,))
        found = self.lab[1].get(f"/v1/checks/{CHECK}")["findings"]
        self.assertEqual({one["health"] for one in found}, {"unknown"}, self.said)
        for one in found:
            self.assertIn("h6/", one["subject"]["key"])
        self.assert_said("Suspects: none")

    def test_what_cannot_be_measured_is_unknown_and_says_why(self):
        for planted, why in (({"default": {"has_cuda": False}}, "built with CUDA"), ({"mlx5_0": {"unreachable_gpus": GPUS}}, "nvidia_peermem")):
            with self.subTest(planted):
                for number in (1, 6):
                    self.plant(self.lab[number], **planted)
                self.measure(self.lab[7], "--nodes", "h1,h6", codes=(3,))
                self.assert_said(why)

    def test_a_gpu_that_somebody_uses_is_left_alone(self):
        """The agent reads the users once more before; the requesting node does the same for its own GPU."""
        for number in (7, 8):
            self.use(self.lab[number])
        self.measure(self.lab[1], "--nodes", "h2,h7", codes=(3,))
        self.assert_said("is in use by 1 process")
        self.measure(self.lab[8], "--nodes", "h2,h8", codes=(3,))
        self.assert_said("is in use by 1 process")

    def test_a_port_without_a_gpu_beside_it_takes_no_part(self):
        host = self.lab[8]
        self.start_again(host, gpus=GPUS[:1])
        self.addCleanup(self.start_again, host)
        words = ("network", "test", "--kind", "rdma", "--memory", "gpu", "--plan", "-o", "json", "--nodes", "h7,h8")
        code, out, err = host.command(*words)  # others remember for a while what it had
        self.assertEqual(code, 0, out + err)
        self.assertEqual([(one["rail"], one["nodes"]) for one in json.loads(out)["rails"]], [("mlx5_0/1", ["h7", "h8"]), ("mlx5_1/1", ["h7"])])
        code, told = host.request("POST", "/v1/network/servers", json.dumps(self.to_listen(host, "mlx5_1/1") | {"memory": "gpu"}))
        self.assertEqual(code, 400, told)
        self.assertIn("no GPU of NVIDIA is near mlx5_1/1", told)
        self.start_again(host, gpus=())
        harness.wait_until(lambda: "gpu" not in str(host.get("/v1/network")["rdma"]), "it has no GPU", 20)
        self.measure(self.lab[8], "--nodes", "h7,h8", codes=(3,))
        self.assert_said("no two nodes have an RDMA port of the same name with a GPU beside it")

    def test_each_port_by_itself_is_measured_with_its_own_gpu(self):
        """Both sides are processes on the GPU that the agent sees during a test, and that are not a job."""
        host = self.lab[7]
        self.plant(host, default={"nvml": os.path.join(self.tree_of(host), "nvml.yaml"), "speed": 1})
        with concurrent.futures.ThreadPoolExecutor() as pool:
            test = pool.submit(host.command, "test", CHECK_ALONE, timeout=120)
            harness.wait_until(lambda: self.most_processes(host) == 2, "the agent sees both", 60)
            code, out, err = test.result()
        self.assertEqual(code, 0, out + err)
        written = {one["subject"]["key"]: one["value"] / 1e9 for one in host.get(f"/v1/checks/{CHECK_ALONE}")["observations"]
                   if one["name"] == "rdma_loopback.written_by_gpu"}
        self.assertEqual(written, {f"mlx5_{rail}/1": OF_GPU["ib_write_bw"] for rail in (0, 1)})

    def test_the_memory_of_gpus_is_for_rdma_alone(self):
        for words in ((), ("--kind", "nccl"), ("--kind", "ping")):
            code, out, err = self.lab[1].command("network", "test", *words, "--memory", "gpu")
            self.assertEqual(code, 64, out + err)
            self.assertIn("add --kind rdma", err)

    def test_nobody_listens_afterwards(self):
        self.measure(self.lab[8], "--nodes", "h2,h4,h6,h8")
        for host in self.lab.hosts.values():
            harness.wait_until(lambda host=host: all(line.split()[3].endswith((f":{network_lab.PORT}", f":{TLS_PORT}"))
                                                     for line in host.run("ss", "-Hltn").splitlines()), "nobody listens", 10)


if __name__ == "__main__":
    own_namespaces.enter(network_lab.NAMESPACES, network_lab.PROGRAMS, network_lab.TRIAL)
    unittest.main(verbosity=2)
