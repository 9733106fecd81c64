# SPDX-License-Identifier: Apache-2.0
"""autopilot-net-probe with programs that replace perftest on both sides: how it reads their output, the right reason if they fail,
and no process left after it. No test here has used an RDMA device."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import harness

PROBE = os.path.join(harness.BIN, "autopilot-net-probe")
FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_perftest.py")
PROGRAMS = ("ib_write_bw", "ib_read_bw", "ib_send_lat")
HERE = "127.0.0.1"
DEVICE = ["--device", "mlx5_0"]


def processes_with(text):
    """Ids of running processes with this argument."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and any(text in word for word in harness.arguments_of(name))]


class RdmaProbeTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))
        for name in PROGRAMS:
            os.symlink(FAKE, os.path.join(self.folder, name))
        self.facts = os.path.join(self.folder, "facts.json")
        self.environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "FAKE_PERFTEST": self.facts}
        self.play()
        # The last of all that is done after a test.
        self.addCleanup(lambda: self.assertEqual(processes_with(self.folder + "/"), [], "nobody is left after a test"))

    def play(self, **facts):
        with open(self.facts, "w", encoding="utf-8") as file:
            json.dump({"default": facts}, file)

    def serve(self, *words):
        seconds = [] if "--seconds" in words else ["--seconds", "60"]
        serving = harness.Process([PROBE, "rdma-serve", "--bind", HERE, *DEVICE, "--test-seconds", "1", *seconds, *words],
                                  self.environment, stdout=subprocess.PIPE)
        self.addCleanup(serving.child.stdout.close)
        self.addCleanup(serving.stop)
        return serving, json.loads(serving.child.stdout.readline())

    def ports(self, *words):
        _, told = self.serve(*words)
        self.assertEqual(told["failed"], [])
        return told["ports"]

    def ask(self, *words, code=0):
        done = subprocess.run([PROBE, *words, "--seconds", "1"], capture_output=True, text=True, check=False, timeout=60, env=self.environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def measure(self, ports, *words, code=0):
        return self.ask("rdma-measure", "--to", HERE, "--bind", HERE, *DEVICE, "--port", ",".join(map(str, ports)), *words, code=code)

    def loopback(self, *words, code=0):
        return self.ask("rdma-loopback", *(words or DEVICE), code=code)


class Healthy(RdmaProbeTest):
    def test_both_ways_and_the_latency_are_measured(self):
        self.play(rates={"ib_write_bw": 391.4, "ib_read_bw": 388.25, "ib_send_lat": 1.5})
        serving, told = self.serve("--queues", "4")
        self.assertEqual((told["role"], told["address"], told["device"], told["device_port"], told["failed"]), ("serve", HERE, "mlx5_0", 1, []))
        self.assertEqual(len(set(told["ports"])), 3)
        report = self.measure(told["ports"], "--queues", "4")
        self.assertEqual((report["to"], report["address"], report["seconds"], report["queues"]), (HERE, HERE, 1, 4))
        self.assertEqual(report["directions"], [
            {"direction": "to_peer", "sent_bits_per_second": 391_400_000_000, "received_bits_per_second": 391_400_000_000, "samples": [391_400_000_000]},
            {"direction": "from_peer", "sent_bits_per_second": 388_250_000_000, "received_bits_per_second": 388_250_000_000, "samples": [388_250_000_000]}])
        self.assertEqual(report["latency"], {"typical_microseconds": 1.5, "p99_microseconds": 1.65, "max_microseconds": 6.0})
        self.assertEqual(serving.child.wait(10), 0, "all had their test")

    def test_a_device_and_itself(self):
        self.play(rates={"ib_write_bw": 200})
        report = self.loopback("--device", "mlx5_1/2")
        self.assertEqual((report["role"], report["to"], report["address"], report["device"], report["device_port"]),
                         ("measure", HERE, HERE, "mlx5_1", 2))
        [way] = report["directions"]
        self.assertEqual((way["direction"], way["received_bits_per_second"]), ("to_peer", 200_000_000_000))
        self.assertNotIn("latency", report)

    def test_the_memory_of_a_gpu(self):
        self.play(has_cuda=True, rates={"ib_write_bw": 390, "ib_read_bw": 388}, gpu_rates={"ib_write_bw": 370.5, "ib_read_bw": 180})
        gpu = ("--gpu", "1B:0.0")
        report = self.loopback(*DEVICE, *gpu)
        self.assertEqual((report["gpu"], [way["received_bits_per_second"] for way in report["directions"]]), ("0000:1b:00.0", [370_500_000_000]))
        self.assertNotIn("gpu", self.loopback())
        report = self.measure(self.ports(*gpu), *gpu)
        self.assertEqual([way["received_bits_per_second"] for way in report["directions"]], [370_500_000_000, 180_000_000_000])

    def test_no_more_is_taken_than_was_allowed(self):
        report = self.measure(self.ports(), "--limit", "9.9G")
        self.assertEqual(report["limit_bits_per_second"], 9_900_000_000)
        self.assertEqual([way["received_bits_per_second"] for way in report["directions"]], [9_900_000_000] * 2)

    def test_a_newer_version_is_told_its_address_otherwise(self):
        self.play(version="newer")
        self.assertEqual(len(self.measure(self.ports())["directions"]), 2)

    def test_servers_may_come_up_late(self):
        ports = self.ports()
        # The servers are not running yet when the client connects.
        self.measure(ports)
        child = subprocess.Popen([PROBE, "rdma-measure", "--to", HERE, "--bind", HERE, *DEVICE, "--seconds", "1", "--port", ",".join(map(str, ports))],
                                 stdout=subprocess.PIPE, text=True, env=self.environment)
        time.sleep(0.5)
        late = harness.Process([os.path.join(self.folder, "ib_write_bw"), "-d", "mlx5_0", "-p", str(ports[0]), "-D", "3", "-s", "65536", "-q", "1",
                                f"--source_ip={HERE}"], self.environment)
        out, _ = child.communicate(timeout=30)
        late.stop()
        self.assertEqual([way["direction"] for way in json.loads(out)["directions"]], ["to_peer"])


class Faults(RdmaProbeTest):
    def not_measured(self, *ways, **facts):
        """The reason, and the directions that have results nevertheless."""
        self.play(**facts)
        report = self.measure(self.ports(), code=3)
        self.assertEqual([way["direction"] for way in report["directions"]], list(ways))
        self.assertNotIn("latency", report)
        self.assertLessEqual(len(report["error"]), 300)
        return report["reason"]

    def test_what_a_client_says_has_its_reason(self):
        for how, reason in (("garbage", "garbage"), ("other_unit", "garbage"), ("two_rows", "garbage"), ("crash", "killed"), ("exit", "internal"),
                            ("flood", "garbage"), ("no_memory", "denied"), ("no_device", "no_address"), ("wrong_version", "wrong_version"),
                            ("status_10", "peer_vanished")):
            with self.subTest(how):
                self.assertEqual(self.not_measured(client={"ib_write_bw": how}), reason)

    def test_what_was_measured_before_is_kept(self):
        self.assertEqual(self.not_measured("to_peer", client={"ib_read_bw": "crash"}), "killed")
        self.assertEqual(self.not_measured("to_peer", "from_peer", client={"ib_send_lat": "garbage"}), "garbage")

    def test_a_server_that_dies_in_the_middle(self):
        self.assertEqual(self.not_measured(server={"ib_write_bw": "vanish"}), "timed_out")

    def test_both_ends_must_mean_the_same(self):
        report = self.measure(self.ports("--queues", "2"), code=3)
        self.assertEqual(report["reason"], "peer_vanished")

    def test_nobody_listens(self):
        began = time.monotonic()
        report = self.measure([1, 2, 3], code=3)
        self.assertEqual((report["reason"], report["directions"]), ("refused", []))
        self.assertGreater(time.monotonic() - began, 4, "it is asked again for some time")

    def test_what_is_not_of_this_machine_is_not_used(self):
        report = self.ask("rdma-measure", "--to", HERE, "--bind", "192.0.2.7", *DEVICE, "--port", "1,2,3", code=3)
        self.assertEqual(report["reason"], "no_address")

    def test_servers_that_do_not_come_up_are_told_with_their_reason(self):
        for how, reason in (("early_hang", "timed_out"), ("no_device", "no_address"), ("exit", "internal")):
            with self.subTest(how):
                self.play(server={"ib_read_bw": how})
                serving, told = self.serve()
                self.assertEqual(len(told["ports"]), 2)
                [failed] = told["failed"]
                self.assertEqual(failed["reason"], reason)
                self.assertIn(f"ib_read_bw at {HERE} port {failed['port']}: ", failed["error"])
                self.assertEqual(serving.stop(), 128 + signal.SIGTERM, "the other servers stay nevertheless")

    def test_a_version_that_would_listen_everywhere_is_no_server(self):
        self.play(version="older")
        _, told = self.serve()
        self.assertEqual([failed["reason"] for failed in told["failed"]], ["wrong_version"] * 3)
        self.assertEqual(self.loopback(code=3)["reason"], "wrong_version")

    def test_without_the_programs_it_says_what_to_install(self):
        self.environment["PATH"] = "/nosuch"
        report = self.measure([1, 2, 3], code=3)
        self.assertEqual(report["reason"], "no_program")
        self.assertIn("install perftest", report["error"])
        done = subprocess.run([PROBE, "rdma-serve", "--bind", HERE, *DEVICE], capture_output=True, text=True, check=False, timeout=60,
                              env=self.environment)
        self.assertEqual(done.returncode, 3)
        self.assertEqual([failed["reason"] for failed in json.loads(done.stdout)["failed"]], ["no_program"] * 3)

    def test_what_is_wrong_is_said(self):
        measure = ["rdma-measure", "--to", HERE, "--bind", HERE, *DEVICE, "--port"]
        for words, said in (
            ([*measure, "1,2"], "expected three ports"),
            ([*measure, "1,2,3", "--limit", "10K"], "not a rate of at least 1M"),
            (["rdma-serve", "--bind", "::1", *DEVICE], "need IPv4"),
            (["rdma-serve", "--bind", HERE, "--device", "-x"], "not a device such as mlx5_0"),
            (["rdma-loopback"], "--device"),
            (["rdma-loopback", *DEVICE, "--gpu", "gpu0"], "not a PCI address such as 0000:1b:00.0"),
        ):
            with self.subTest(words):
                done = subprocess.run([PROBE, *words], capture_output=True, text=True, check=False, timeout=60)
                self.assertEqual(done.returncode, 64)
                self.assertIn(said, done.stderr)

    def test_perftest_without_cuda_and_gpus_out_of_reach(self):
        gpu = ("--gpu", "0000:1b:00.0")
        report = self.loopback(*DEVICE, *gpu, code=3)
        self.assertEqual(report["reason"], "no_cuda")
        self.assertIn("perftest has to be built with CUDA", report["error"])
        _, told = self.serve(*gpu)
        self.assertEqual([one["reason"] for one in told["failed"]], ["no_cuda"] * 2, "messages have two bytes, and take none of a GPU")
        self.play(has_cuda=True, unreachable_gpus=["0000:1b:00.0"])
        report = self.loopback(*DEVICE, *gpu, code=3)
        self.assertEqual(report["reason"], "denied")
        self.assertIn("is the module nvidia_peermem loaded?", report["error"])

    def test_perftest_itself_without_a_device(self):
        for name in PROGRAMS:
            harness.need_program(name)
        if os.path.isdir("/sys/class/infiniband") and os.listdir("/sys/class/infiniband"):
            self.skipTest("this machine has an RDMA device")
        self.environment["PATH"] = os.environ["PATH"]
        report = self.loopback(code=3)
        self.assertEqual(report["reason"], "no_address")
        self.assertIn("this machine has no device mlx5_0", report["error"])


class Ends(RdmaProbeTest):
    def test_a_signal_leaves_nobody_behind(self):
        self.play(client="hang", speed=0.01)
        serving, told = self.serve()
        client = harness.Process([PROBE, "rdma-measure", "--to", HERE, "--bind", HERE, *DEVICE, "--port", ",".join(map(str, told["ports"]))],
                                 self.environment, stdout=subprocess.PIPE)
        self.addCleanup(client.child.stdout.close)
        harness.wait_until(lambda: len(processes_with(self.folder + "/")) == 4, "three servers and a client run")
        self.assertEqual(client.stop(signal.SIGINT), 128 + signal.SIGINT)
        report = json.loads(client.child.stdout.read())
        self.assertEqual((report["stopped"], report["reason"], report["directions"]), (True, "killed", []))
        self.assertEqual(serving.stop(), 128 + signal.SIGTERM)
        self.assertEqual(processes_with(self.folder + "/"), [])

    def test_a_probe_that_is_killed_leaves_nobody_behind(self):
        serving, _ = self.serve()
        serving.stop(signal.SIGKILL)
        harness.wait_until(lambda: not processes_with(self.folder + "/"), "the servers are gone with it")

    def test_servers_end_with_their_time(self):
        serving, told = self.serve("--seconds", "8")
        self.assertEqual((len(told["ports"]), serving.child.wait(20)), (3, 0))


if __name__ == "__main__":
    unittest.main(verbosity=2)
