# SPDX-License-Identifier: Apache-2.0
"""autopilot-net-probe and the program iperf3 over real links: measured values, path, and output."""

import datetime
import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import harness
import net_probe_case
import pages
from net_probe_case import HERE, HERE_6, NetProbeCase, PROBE, SECOND_THERE, THERE, THERE_6, listeners_at, moved_over, run, there, way_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "net-probe.md"

setUpModule = net_probe_case.make_networks


class BothEnds(NetProbeCase):
    def test_a_report_has_what_both_ends_know(self):
        self.serve()
        report = self.measure("--seconds", "2", "--samples", "4", "--bind", HERE)
        self.assert_measured(report, "to_peer")
        self.assertEqual((report["to"], report["address"], report["interface"]), (THERE, HERE, "va"))
        self.assertEqual(len(way_of(report)["samples"]), 4)
        self.assertGreaterEqual(way_of(report)["retransmits"], 0)
        [process] = report["processes"]
        self.assertEqual((process["port"], process["mss_bytes"]), (5201, 8948))
        self.assertRegex(process["version"], r"^iperf 3\.")
        self.assertEqual(process["peer_version"], process["version"])
        self.assertGreater(process["cpu_percent"], 0)
        self.assertGreater(process["peer_cpu_percent"], 0)

    def test_the_program_iperf3_serves_and_every_way_is_measured(self):
        self.iperf3_server()
        for words, directions in (([], ["to_peer"]), (["--reverse"], ["from_peer"]), (["--both", "--streams", "2"], ["to_peer", "from_peer"])):
            with self.subTest(words):
                self.assert_measured(self.measure(*words), *directions)

    def test_the_program_iperf3_asks_again_and_again(self):
        serving = self.serve("--seconds", "120")
        for words in ([], ["-R"], ["--bidir"], ["-P", "3", "--get-server-output"]):
            with self.subTest(words):
                before = listeners_at(*there())
                done = subprocess.run(["iperf3", "-c", THERE, "-t", "1", "-J", *words], capture_output=True, text=True, check=False, timeout=60)
                report = json.loads(done.stdout)
                self.assertNotIn("error", report)
                self.assertGreater(report["end"]["sum_received"]["bits_per_second"], 0)
                # A client ends before its server does: the test is over there once another socket listens.
                harness.wait_until(lambda: listeners_at(*there()) - before, "the server listens for the next test")
        self.assertEqual(serving.stop(), 128 + signal.SIGTERM)
        self.assertTrue(serving.process.find(r"port 5201: finished tests: 4"), serving.process.log)

    def test_several_processes_and_streams_are_one_bandwidth(self):
        self.serve("--count", "3")
        report = self.measure("--processes", "3", "--streams", "2", "--both")
        self.assert_measured(report, "to_peer", "from_peer")
        self.assertEqual([process["port"] for process in report["processes"]], [5201, 5202, 5203])
        for index in range(2):
            parts = [process["directions"][index]["received_bits_per_second"] for process in report["processes"]]
            self.assertAlmostEqual(way_of(report, index)["received_bits_per_second"], sum(parts), delta=3)

    def test_seconds_that_are_omitted_are_in_no_sample(self):
        self.serve()
        report = self.measure("--seconds", "2", "--omit", "1")
        self.assertEqual(len(way_of(report)["samples"]), 2)

    def test_over_ipv6_and_over_an_address_of_one_link(self):
        self.serve("--bind", THERE_6)
        self.assert_measured(self.measure(to=THERE_6), "to_peer")
        self.assertEqual(self.measure("--interface", "va", to=THERE_6)["address"], HERE_6)

        told = json.loads(subprocess.run(there("ip", "-j", "-6", "address", "show", "dev", "vb", "scope", "link"), capture_output=True,
                                         text=True, check=True).stdout)
        address = next(one["local"] for entry in told for one in entry.get("addr_info", []) if "local" in one)
        self.serve("--bind", f"{address}%vb", "--port", "5301")
        self.assert_measured(self.measure("--port", "5301", to=f"{address}%va"), "to_peer")


class Limits(NetProbeCase):
    def limit(self, rate):
        run("tc", "qdisc", "add", "dev", "va", "root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms")
        self.addCleanup(run, "tc", "qdisc", "delete", "dev", "va", "root")

    def test_a_link_of_990_megabits_is_one_of_0_99_gigabits(self):
        self.limit("990mbit")
        self.iperf3_server()

        def by_probe():
            way = way_of(self.measure("--seconds", "3", "--omit", "1"))
            return [way["received_bits_per_second"], *way["samples"]]

        def by_iperf3():
            done = subprocess.run(["iperf3", "-c", THERE, "-t", "3", "-O", "1", "-J"], capture_output=True, text=True, check=True)
            return [json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]]

        # Of 9014 bytes of a frame 8948 are payload. A busy machine measures less, so the test can try again.
        for figures in (by_probe, by_iperf3):
            harness.wait_until(lambda: all(abs(bits / 1e9 - 0.99) < 0.03 for bits in figures()), f"0.99 Gbit/s {figures.__name__}", deadline=180)

    def test_a_slow_link_slows_one_way_only(self):
        self.limit("100mbit")
        self.serve()
        report = self.measure("--both", "--seconds", "2")
        self.assertLess(way_of(report, 0)["received_bits_per_second"], 110e6)
        self.assertGreater(way_of(report, 1)["received_bits_per_second"], 200e6)

    def test_processes_measure_at_the_same_time_though_a_server_is_late(self):
        self.limit("200mbit")
        self.serve()
        child = self.start("--to", THERE, "--processes", "2", "--seconds", "1")
        harness.wait_until(lambda: "ESTAB" in subprocess.run(["ss", "-Htn"], capture_output=True, text=True, check=True).stdout,
                           "the first process has its server")
        time.sleep(0.5)
        self.serve("--port", "5202")
        out, errors = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 0, errors)
        # Half a second alone each would make it 300.
        self.assertAlmostEqual(way_of(json.loads(out))["received_bits_per_second"] / 200e6, 1, delta=0.12)

    def test_no_more_is_taken_than_was_allowed(self):
        self.serve("--count", "2")
        for way in ([], ["--reverse"]):
            with self.subTest(way):
                report = self.measure("--limit", "80M", "--processes", "2", "--streams", "2", "--seconds", "2", *way)
                self.assertEqual(report["limit_bits_per_second"], 80_000_000)
                self.assertLess(way_of(report)["received_bits_per_second"], 88e6)
                self.assertGreater(way_of(report)["received_bits_per_second"], 40e6)


class Paths(NetProbeCase):
    def test_an_interface_that_is_named_is_the_only_way(self):
        run(*there("ip", "address", "add", "10.78.0.1/32", "dev", "lo"))
        self.addCleanup(run, *there("ip", "address", "delete", "10.78.0.1/32", "dev", "lo"))
        run("ip", "route", "add", "10.78.0.1/32", "via", THERE)
        self.addCleanup(run, "ip", "route", "delete", "10.78.0.1/32", "via", THERE)
        run("ip", "route", "add", "10.78.0.1/32", "via", SECOND_THERE, "metric", "100")
        self.addCleanup(run, "ip", "route", "delete", "10.78.0.1/32", "via", SECOND_THERE, "metric", "100")
        self.serve("--bind", "10.78.0.1")
        for name, other in (("va", "vc"), ("vc", "va")):
            before = moved_over(name), moved_over(other)
            report = self.measure("--interface", name, "--limit", "50M", to="10.78.0.1")
            self.assertEqual(report["interface"], name)
            self.assertGreater(moved_over(name) - before[0], 1_000_000)
            self.assertLess(moved_over(other) - before[1], 1_000_000)

    def test_an_interface_whose_neighbours_the_kernel_reaches_by_another_one_is_not_measured(self):
        # Both links have the neighbours 10.77.0.*; what is sent from the second one's address goes over the first.
        run("ip", "address", "add", "10.77.0.51/24", "dev", "vc")
        self.addCleanup(run, "ip", "address", "delete", "10.77.0.51/24", "dev", "vc")
        self.serve()
        report = self.measure("--bind", "10.77.0.51", code=3)
        self.assertEqual(report["reason"], "no_route")
        self.assertIn("from 10.77.0.51 of vc the kernel sends to 10.77.0.2 by va", report["error"])
        serving = subprocess.run([PROBE, "serve", "--bind", "10.77.0.51", "--port", "5301", "--allow", THERE], capture_output=True, text=True,
                                 check=False, timeout=60)
        self.assertIn("the kernel sends to 10.77.0.2 by va", serving.stdout)
        # A routing rule gives it the printed value.
        run("ip", "route", "add", "10.77.0.0/24", "dev", "vc", "table", "77")
        run("ip", "rule", "add", "from", "10.77.0.51", "table", "77")
        self.addCleanup(run, "ip", "rule", "delete", "from", "10.77.0.51", "table", "77")
        run(*there("ip", "address", "add", "10.77.0.52/24", "dev", "vd"))
        self.addCleanup(run, *there("ip", "address", "delete", "10.77.0.52/24", "dev", "vd"))
        self.assertNotEqual(self.measure("--bind", "10.77.0.51", to="10.77.0.52", code=3)["reason"], "no_route")

    def test_what_is_not_of_this_machine_is_not_used(self):
        self.assertEqual(self.not_measured("--interface", "nosuch0"), "no_address")
        self.assertEqual(self.not_measured("--bind", "10.77.0.99"), "no_address")

    def test_processes_stay_on_the_processors_that_were_named(self):
        processors = sorted(os.sched_getaffinity(0))[-2:]
        serving = self.serve("--count", "2", "--seconds", "60", "--cpus", str(processors[0]))
        for pid in serving.servers():
            self.assertEqual(os.sched_getaffinity(pid), {processors[0]})
        child = self.start("--to", THERE, "--processes", "2", "--seconds", "1", "--cpus", ",".join(map(str, processors)))
        seen = set()
        while child.poll() is None:
            for pid in harness.children_of(child.pid) if os.path.exists(f"/proc/{child.pid}/task") else []:
                try:
                    seen.add(tuple(os.sched_getaffinity(pid)))
                except ProcessLookupError:
                    pass
            time.sleep(0.01)
        out, _ = child.communicate()
        self.assertLessEqual({(one,) for one in processors}, seen)
        self.assertEqual([process["processors"] for process in json.loads(out)["processes"]],
                         [[processors[0]], [processors[-1]]])
        self.assertEqual(self.not_measured("--cpus", "100000"), "denied")

    def test_near_an_interface_without_an_adapter_is_anywhere(self):
        self.serve("--numa", "auto")
        report = self.measure("--interface", "va", "--numa", "auto")
        self.assertNotIn("numa_node", report)
        self.assertNotIn("processors", report["processes"][0])


class WordsAndTime(NetProbeCase):
    def test_what_is_wrong_is_said(self):
        for words, said in (
            ([], "A subcommand is required"),
            (["measure"], "--to"),
            (["measure", "--to", "node-a"], "'node-a' is not an address"),
            (["measure", "--to", THERE, "--limit", "fast"], "'fast' is not a rate such as 900M"),
            (["measure", "--to", THERE, "--limit", "1K", "--streams", "8"], "less than 1000 bits per second for each stream"),
            (["measure", "--to", THERE, "--reverse", "--both"], "excludes"),
            (["measure", "--to", THERE, "--bind", HERE_6], "of another family"),
            (["measure", "--to", THERE, "--cpus", "3-1"], "not an id or a range of ids"),
            (["measure", "--to", THERE, "--samples", "100"], "a sample lasts between 0.1 s and 60 s"),
            (["measure", "--to", THERE, "--port", "5201,5202"], "one for each of --processes"),
            (["serve", "--bind", THERE, "--allow", HERE_6], "of another family"),
            (["serve", "--bind", THERE, "--port", "5201-5202", "--count", "3"], "fewer ports than --count"),
        ):
            with self.subTest(words):
                done = subprocess.run([PROBE, *words], capture_output=True, text=True, check=False, timeout=60)
                self.assertEqual(done.returncode, 64)
                self.assertIn(said, done.stderr)

    def test_a_date_that_jumps_changes_nothing(self):
        if harness.is_sanitized(PROBE):
            self.skipTest("a sanitizer wants to be loaded before anything else")
        jumping = {"LD_PRELOAD": os.path.join(os.path.abspath(harness.BIN), "libclock-step.so")}
        self.serve("--seconds", "120", environment={**os.environ, **jumping})
        report = self.measure("--seconds", "3", "--limit", "100M", environment=jumping)
        began = datetime.datetime.fromisoformat(report["began"])
        self.assertGreater(abs((began - datetime.datetime.now(datetime.timezone.utc)).total_seconds()), 3000, "the date jumps")
        self.assertEqual(len(way_of(report)["samples"]), 3)
        for bits in (way_of(report)["received_bits_per_second"], *way_of(report)["samples"]):
            self.assertAlmostEqual(bits / 1e6, 100, delta=30)

    def test_it_explains_itself_in_80_columns(self):
        for words in (["--help"], ["serve", "--help"], ["measure", "--help"]):
            done = subprocess.run([PROBE, *words], capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual(done.returncode, 0)
            self.assertFalse([line for line in done.stdout.splitlines() if len(line) > 80], done.stdout)
        self.assertIn("Examples:", subprocess.run([PROBE, "--help"], capture_output=True, text=True, check=True).stdout)

    def test_the_page_does_what_it_says(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-")))
        harness.need_program("jq")
        shell = pages.Shell(folder, {**os.environ, "PATH": f"{os.path.abspath(harness.BIN)}:{os.environ['PATH']}"})
        self.addCleanup(shell.close)
        self.assertGreater(pages.Reader("machine", shell).follow(PAGE), 0)


if __name__ == "__main__":
    net_probe_case.main()
