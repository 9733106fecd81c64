# SPDX-License-Identifier: Apache-2.0
"""autopilot-gpu-probe nccl-serve and nccl-measure against libraries in the place of CUDA's and NCCL's, or of HIP's and RCCL's: several
processes that really talk with each other, and how each of them ends where another one, or its machine, fails. No test here has seen
NCCL or RCCL."""

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
import kfd

PROBE = os.path.join(harness.BIN, "autopilot-gpu-probe")
CUDA = os.path.join(harness.BIN, "libcuda-sim.so")
NCCL = os.path.join(harness.BIN, "libnccl-sim.so")
HIP = os.path.join(harness.BIN, "libamdhip64-sim.so")
RCCL = os.path.join(harness.BIN, "librccl-sim.so")
NVML = os.path.join(harness.BIN, "libnvidia-ml-sim.so")
HERE = "127.0.0.1"
# Bandwidth of the bus, so that an iteration takes much longer than the exchange itself, also with sanitizers.
GIGABITS = 1.0 if harness.is_sanitized(PROBE) else 2.0
NOTHING_LEFT = {"contexts": 0, "allocations": 0, "pinned": 0, "modules": 0, "streams": 0, "events": 0}
# Beside other tests, and with sanitizers, the measured rates are lower than those of the table.
LEAST_SHARE = 0.5


def gpu(number, **fields):
    """A row of the driver's table; JSON is YAML."""
    return {"uuid": f"GPU-{number:08x}-0000-0000-0000-000000000000", "pci_address": f"0000:{number:02X}:00.0", "memory_mib": 16} | fields


def sockets_of(pid):
    """Inodes of the sockets of that process."""
    folder = f"/proc/{pid}/fd"
    links = []
    for name in os.listdir(folder):
        try:
            links.append(os.readlink(os.path.join(folder, name)))
        except FileNotFoundError:
            pass  # closed meanwhile
    return {link[8:-1] for link in links if link.startswith("socket:[")}


def listening_ports(inodes=None):
    """Listening ports of this machine, or of the sockets with these inodes."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and (inodes is None or row[9] in inodes)}


class End:
    """One process: a node with its own tables."""

    def __init__(self, test, *words, gpus=None, calls=None, nccl=None, libraries=True, environment=None):
        self.folder = test.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))
        self.record = os.path.join(self.folder, "record.json")
        files = {"AUTOPILOT_SIM_CUDA": {"gpus": [gpu(1), gpu(2)] if gpus is None else gpus} | ({"calls": calls} if calls else {}),
                 "AUTOPILOT_SIM_NCCL": {"bus_gigabits_per_second": GIGABITS} | (nccl or {})}
        paths = {}
        for name, table in files.items():
            paths[name] = os.path.join(self.folder, name)
            with open(paths[name], "w", encoding="utf-8") as file:
                json.dump(table, file)
        usual = [] if "--seconds" in words else ["--seconds", "0.5"]
        named = {"--library": CUDA, "--nccl-library": NCCL, "--nvml-library": "/nowhere/nvml.so"} if libraries else {}
        for option, path in named.items():
            usual += [] if option in words else [option, path]
        # The default is a separate table, so that no other settings change a test.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("NCCL_")}
        self.process = harness.Process([PROBE, *words, *usual], {**inherited, **paths, "AUTOPILOT_SIM_CUDA_RECORD": self.record, **(environment or {})},
                                       stdout=subprocess.PIPE)
        self.child = self.process.child
        test.addCleanup(self.close)

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
        self.process.stop()
        self.child.stdout.close()

    def line(self):
        return json.loads(self.child.stdout.readline())

    def end(self, deadline=40):
        """The exit code and what it wrote since."""
        code = self.child.wait(deadline)
        lines = [json.loads(line) for line in self.child.stdout.read().splitlines()]
        return code, lines

    def recorded(self):
        with open(self.record, encoding="utf-8") as file:
            return json.load(file)


class NcclProbeTest(unittest.TestCase):
    def serve(self, *words, ranks=4, **tables):
        end = End(self, "nccl-serve", "--ranks", str(ranks), "--bind", HERE, *words, **tables)
        return end, end.line()

    def join(self, identity, *words, ranks=4, first=2, **tables):
        return End(self, "nccl-measure", "--id", identity, "--ranks", str(ranks), "--first", str(first), *words, **tables)

    def report(self, end, code=0):
        ended, lines = end.end()
        self.assertEqual(ended, code, (lines, end.process.log))
        [report] = lines
        return report

    def assert_reason(self, end, reason, text, code=3, wrong_rank=None):
        report = self.report(end, code)
        self.assertEqual(report["reason"], reason, report)
        self.assertRegex(report["error"], text)
        self.assertNotIn("bus_bits_per_second", report)
        self.assertEqual(report.get("wrong_rank"), wrong_rank)
        return report

    def assert_rate(self, report, gigabits):
        for name, factor in (("bus_bits_per_second", 1), ("algorithm_bits_per_second", report["ranks"] / (2 * (report["ranks"] - 1)))):
            self.assertLess(report[name], gigabits * 1e9 * factor * 1.01)
            self.assertGreater(report[name], gigabits * 1e9 * factor * LEAST_SHARE)
        # It goes on until the end that took longest has the half second that was asked for.
        self.assertGreater(report["seconds"], 0.4)
        self.assertGreater(len(report["samples"]), 0)
        rate = report["bytes"] * 8 * report["iterations"] / report["seconds"]
        self.assertAlmostEqual(rate / report["algorithm_bits_per_second"], 1, delta=0.001)

    def wait_measuring(self, *ends):
        for end in ends:
            end.process.wait_says("all ranks have joined")


class Healthy(NcclProbeTest):
    def test_a_pair_of_machines(self):
        serving, told = self.serve()
        self.assertEqual((told["program"], told["format"], told["simulated"], told["gpus"], told["nccl_version"]),
                         ("autopilot-gpu-probe", 1, True, 2, "2.21.5"))
        self.assertRegex(told["id"], "^[0-9a-f]{256}$")
        joining = self.join(told["id"], "--bind", HERE)
        reports = [self.report(serving), self.report(joining)]
        for report in reports:
            self.assertEqual((report["program"], report["format"], report["simulated"], report["address"], report["ranks"], report["gpus"]),
                             ("autopilot-gpu-probe", 1, True, HERE, 4, 2))
            self.assert_rate(report, GIGABITS)
        self.assertGreaterEqual(max(report["seconds"] for report in reports), 0.5)
        self.assertEqual(reports[0]["iterations"], reports[1]["iterations"])
        self.assertEqual(reports[0]["bytes"], reports[1]["bytes"])
        for end in (serving, joining):
            record = end.recorded()
            self.assertEqual({name: record[name] for name in NOTHING_LEFT}, NOTHING_LEFT)

    def test_three_machines_with_different_numbers_of_gpus(self):
        serving, told = self.serve("--count", "1", ranks=4)
        others = [self.join(told["id"], first=1), self.join(told["id"], "--gpus", "1", first=3)]
        reports = [self.report(end) for end in (serving, *others)]
        self.assertEqual([report["gpus"] for report in reports], [1, 2, 1])
        for report in reports:
            self.assert_rate(report, GIGABITS)

    def test_the_slower_end_slows_both(self):
        serving, told = self.serve()
        joining = self.join(told["id"], nccl={"bus_gigabits_per_second": GIGABITS / 4})
        for end in (serving, joining):
            self.assert_rate(self.report(end), GIGABITS / 4)

    def test_the_smaller_memory_and_the_longer_time_count(self):
        serving, told = self.serve("--seconds", "0.2")
        joining = self.join(told["id"], gpus=[gpu(1), gpu(2, memory_mib=10)])
        reports = [self.report(serving), self.report(joining)]
        self.assertEqual(reports[0]["bytes"], reports[1]["bytes"])
        self.assertLess(reports[0]["bytes"], 5 << 20)
        self.assertGreaterEqual(reports[0]["seconds"], 0.5)

    def test_no_more_memory_is_taken_than_was_said(self):
        serving, told = self.serve("--megabytes", "1")
        joining = self.join(told["id"])
        self.assertEqual([self.report(end)["bytes"] for end in (serving, joining)], [1 << 20] * 2)

    def slow_pair(self, gigabits):
        large = {"gpus": [gpu(1, memory_mib=96), gpu(2, memory_mib=96)], "nccl": {"bus_gigabits_per_second": gigabits}}
        serving, told = self.serve("--megabytes", "16", **large)
        joining = self.join(told["id"], "--megabytes", "16", **large)
        reports = [self.report(end) for end in (serving, joining)]
        self.assertEqual(reports[0]["bytes"], reports[1]["bytes"])
        for report in reports:
            self.assert_rate(report, gigabits)
        return reports[0]["bytes"]

    def test_a_very_slow_network_is_a_low_figure(self):
        begin = time.monotonic()
        self.assertEqual(self.slow_pair(0.05), 1 << 20, "16 MiB would take four seconds each time")
        self.assertLess(time.monotonic() - begin, 15)

    def test_iterations_of_a_slow_network_have_what_it_carries_in_good_time(self):
        size = self.slow_pair(0.4)
        self.assertEqual(size % 4096, 0)
        self.assertLess(size, 10 << 20, "8 MiB are a quarter of a second")
        self.assertGreater(size, 1 << 20)

    def test_a_figure_survives_an_end_that_hangs(self):
        serving, _ = self.serve("--patience", "1", ranks=2, nccl={"calls": {"ncclCommDestroy": {"result": "hang"}}})
        self.assert_rate(self.report(serving), GIGABITS)

    def test_one_machine_alone(self):
        serving, _ = self.serve(ranks=2)
        self.assert_rate(self.report(serving), GIGABITS)

    def test_strangers_at_the_port_change_nothing(self):
        serving, told = self.serve()
        [port] = listening_ports(sockets_of(serving.child.pid))
        strangers = [socket.create_connection((HERE, port)) for _ in range(3)]
        try:
            strangers[0].sendall(b"GET / HTTP/1.1\r\nHost: a-stranger-who-says-much\r\n\r\n" * 10)
            strangers[1].sendall(b"\xff\x00")
            joining = self.join(told["id"])
            for end in (serving, joining):
                self.assert_rate(self.report(end), GIGABITS)
        finally:
            for stranger in strangers:
                stranger.close()

    def test_libraries_are_found_by_their_usual_names(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))
        for name, path in (("libcuda.so.1", CUDA), ("libnccl.so.2", NCCL)):
            os.symlink(os.path.abspath(path), os.path.join(folder, name))
        serving, _ = self.serve(ranks=2, libraries=False, environment={"LD_LIBRARY_PATH": folder})
        self.assertEqual(self.report(serving)["gpus"], 2)


class Machines(NcclProbeTest):
    """Faults of one machine, which are reported before it waits for the others."""

    def alone(self, *words, **tables):
        return End(self, "nccl-serve", "--ranks", "4", *words, **tables)

    def test_no_nccl(self):
        report = self.assert_reason(self.alone("--nccl-library", "/nowhere/libnccl.so.2"), "no_library", "NCCL is not installed; install NCCL")
        self.assertEqual((report["gpus"], report["ranks"]), (2, 4), "what is known is told")

    def test_a_library_that_lacks_functions(self):
        self.assert_reason(self.alone("--nccl-library", CUDA), "no_library", "older than 2.4: it lacks ncclGetVersion .*; install NCCL")

    def test_no_driver(self):
        report = self.assert_reason(self.alone("--library", "/nowhere/libcuda.so.1"), "no_driver", "CUDA driver is not installed")
        self.assertNotIn("gpus", report)
        self.assert_reason(self.alone(gpus=[]), "no_driver", "CUDA_ERROR_NO_DEVICE")
        self.assert_reason(self.alone("--gpus", "7"), "no_driver", "expected 0 to 1")

    def machine(self, *change):
        """Tables of a machine with GPUs in NVML, with changes for the first GPU."""
        tree = os.path.join(self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-")), "machine")
        subprocess.run([harness.AUTOPILOT_SIM, "create", "l40s-4", "--out", tree], check=True, stdout=subprocess.DEVNULL)
        path = os.path.join(tree, "nvml.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(*change, 1) if change else text)
        return {"gpus": [gpu(1, pci_address="0000:4a:00.0"), gpu(2, pci_address="0000:61:00.0")], "environment": {"AUTOPILOT_SIM_MACHINE": tree}}

    def test_a_gpu_that_others_use(self):
        tables = self.machine("processes.count: 0", "processes.count: 1")
        busy = self.alone("--nvml-library", NVML, **tables)
        self.assert_reason(busy, "busy", r"gpu 0 \(0000:4a:00.0\) is in use by 4200; use --beside-others")
        self.assertEqual(busy.recorded()["peak_bytes"], [0, 0], "nothing was put on them")
        self.assertRegex(self.alone("--nvml-library", NVML, "--beside-others", **tables).line()["id"], "^[0-9a-f]{256}$")

    def test_the_server_of_mps_is_named(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))
        program = os.path.join(folder, "nvidia-cuda-mps-server")
        shutil.copy(shutil.which("sleep"), program)
        with subprocess.Popen([program, "60"]) as server:
            self.addCleanup(server.kill)
            tables = self.machine("processes.count: 0", f'processes.count: 1\n      processes.pids: "{server.pid}"')
            self.assert_reason(self.alone("--nvml-library", NVML, **tables), "busy",
                               f"in use by {server.pid}; .*; {server.pid} is nvidia-cuda-mps-server, which shares the GPU with other processes")
            server.kill()

    def test_a_gpu_of_which_it_is_known_that_nobody_uses_it(self):
        idle = self.alone("--nvml-library", NVML, "--require-idle", **self.machine())
        self.assertRegex(idle.line()["id"], "^[0-9a-f]{256}$")

    def test_a_gpu_of_which_nobody_tells_who_uses_it_is_busy_where_that_must_be_known(self):
        cases = [(["--nvml-library", "/nowhere/nvml.so"], {}, "/nowhere/nvml.so"),
                 (["--nvml-library", NVML], self.machine() | {"gpus": [gpu(1), gpu(2)]}, "NVML does not know 0000:01:00.0"),
                 (["--nvml-library", NVML], self.machine("processes.count: 0", "processes.count: not_supported"), "does not list its processes")]
        for words, tables, why in cases:
            with self.subTest(why):
                told = r"^gpu 0 \(0000:..:00.0\) can be in use by an unknown process; .* driver capability `utility`.*"
                self.assert_reason(self.alone("--require-idle", *words, **tables), "busy", told + why)
                self.assertIn("id", self.alone(*words, **tables).line(), "who does not ask for it gets it as before")

    def test_a_divided_gpu_is_busy_where_its_use_must_be_known(self):
        tables = self.machine("mig: false", "mig: true")
        self.assert_reason(self.alone("--nvml-library", NVML, "--require-idle", **tables), "busy", r"gpu 0 \(0000:4a:00.0\) is divided \(MIG\)")
        self.assertIn("id", self.alone("--nvml-library", NVML, **tables).line())

    def test_too_little_memory(self):
        self.assert_reason(self.alone(gpus=[gpu(1), gpu(2, memory_mib=1000, free_mib=3)]), "no_memory", "gpu 1: too little memory: 3 of 1000 MiB")

    def test_an_address_of_others(self):
        report = self.assert_reason(self.alone("--bind", "192.0.2.77"), "no_address", "192.0.2.77")
        self.assertEqual(report["address"], "192.0.2.77")

    def test_a_driver_that_hangs_is_blamed_itself(self):
        self.assert_reason(self.alone("--patience", "1", calls={"cuInit": {"result": "hang"}}), "internal", "cuInit has not returned for 1 s")

    def test_what_nccl_says_is_told(self):
        self.assert_reason(self.alone(nccl={"calls": {"ncclGetUniqueId": {"result": 5}}}), "internal", r"ncclGetUniqueId: .*\(5\).*as configured in its table")


class WithoutHip(NcclProbeTest):
    def test_amd_is_refused_and_the_option_of_the_build_is_named(self):
        if harness.has_hip():
            self.skipTest("needs a build without AUTOPILOT_EXPERIMENTAL_HIP")
        self.assert_reason(End(self, "nccl-serve", "--ranks", "2", "--vendor", "amd"), "no_driver", "-DAUTOPILOT_EXPERIMENTAL_HIP=ON$")


class Amd(NcclProbeTest):
    """The same with HIP, RCCL and the kernel driver that reports the users of a GPU (KFD)."""
    GPUS = ("0000:01:00.0", "0000:02:00.0")

    def setUp(self):
        harness.need_hip()
        self.root = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))
        self.kfd = os.path.join(self.root, "sys", "class", "kfd", "kfd")
        kfd.make(self.kfd, *self.GPUS)
        self.words = ["--vendor", "amd", "--library", HIP, "--nccl-library", RCCL]

    def alone(self, *words, ranks=4, **tables):
        root = [] if "--root" in words else ["--root", self.root]
        return End(self, "nccl-serve", "--ranks", str(ranks), *self.words, *root, *words, **tables)

    def pair(self, *words, **tables):
        machine = [*self.words, "--root", self.root, "--require-idle"]
        serving, told = self.serve(*machine)
        joining = self.join(told["id"], *machine, *words, **tables)
        return told, serving, joining

    def test_a_pair_of_machines(self):
        told, serving, joining = self.pair()
        self.assertEqual((told["simulated"], told["gpus"], told["rccl_version"]), (True, 2, "2.21.5"))
        self.assertNotIn("nccl_version", told)
        for end in (serving, joining):
            report = self.report(end)
            self.assertEqual((report["gpus"], report["rccl_version"]), (2, "2.21.5"))
            self.assert_rate(report, GIGABITS)
            left = {name: count for name, count in end.recorded().items() if name in NOTHING_LEFT and name != "contexts"}
            self.assertEqual(set(left.values()), {0}, "HIP's contexts stay to the end of the process")

    def test_a_wrong_sum_is_named_and_all_ends_know_it(self):
        _, serving, joining = self.pair(nccl={"wrong_rank": 3})
        self.assert_reason(joining, "wrong_result", r"^gpu 1 \(0000:02:00.0\): byte \d+ of the sum is -10, not 10$", code=2, wrong_rank=3)
        self.assert_reason(serving, "wrong_result", "^rank 3, of another machine", code=2, wrong_rank=3)

    def test_numbers_that_ranks_cannot_have_agreed_on_are_said_to_be_sums_of_rccl(self):
        end = self.alone(ranks=2, nccl={"wrong_word": {"rank": 1, "call": 0, "value": 0}})
        self.assertIn("id", end.line())
        self.assert_reason(end, "wrong_result", "sums of RCCL are wrong here$", code=2, wrong_rank=1)

    def test_libraries_are_found_by_their_usual_names(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))
        for name, path in (("libamdhip64.so.6", HIP), ("librccl.so.1", RCCL)):
            os.symlink(os.path.abspath(path), os.path.join(folder, name))
        self.words = ["--vendor", "amd"]
        alone = self.alone(ranks=2, libraries=False, environment={"LD_LIBRARY_PATH": folder})
        self.assertIn("id", alone.line())
        self.assertEqual(self.report(alone)["gpus"], 2)

    def test_what_is_missing_is_told_by_its_name(self):
        self.words = ["--vendor", "amd"]
        self.assert_reason(self.alone("--library", HIP, "--nccl-library", "/nowhere/librccl.so.1"), "no_library",
                           r"RCCL is not installed; install RCCL \(rccl\)")
        self.assert_reason(self.alone("--library", "/nowhere/libamdhip64.so.6"), "no_driver", "HIP is not installed")
        self.assert_reason(self.alone("--library", CUDA), "no_driver", "is not HIP, or is older than 4.2: it lacks hipInit")
        self.assert_reason(self.alone("--library", HIP, calls={"hipInit": {"result": 101}}), "no_driver", "hipInit: hipErrorInvalidDevice")
        self.assert_reason(self.alone("--library", HIP, calls={"hipMalloc": {"result": 2}}), "no_memory", "hipMalloc: hipErrorOutOfMemory")

    def test_a_gpu_that_others_use(self):
        kfd.use(self.kfd, 4200, number=1)
        for words in ([], ["--require-idle"]):
            busy = self.alone(*words)
            self.assert_reason(busy, "busy", r"gpu 1 \(0000:02:00.0\) is in use by 4200; use --beside-others")
            self.assertEqual(busy.recorded()["peak_bytes"], [0, 0], "nothing was put on them")
        self.assertIn("id", self.alone("--beside-others").line())
        self.assertIn("id", self.alone("--require-idle", "--count", "1").line(), "only those that take part have to be idle")

    def test_a_process_that_has_just_ended_is_waited_for(self):
        kfd.use(self.kfd, 4200)
        end = self.alone("--require-idle")
        harness.wait_until(lambda: any("waiting for some seconds" in line for line in end.process.log), "it waits")
        kfd.leave(self.kfd, 4200)
        self.assertIn("id", end.line())

    def test_its_own_process_is_nobody_else(self):
        end = self.alone("--require-idle", environment={"AUTOPILOT_SIM_KFD": self.kfd})
        self.assertIn("id", end.line())
        self.assertTrue(os.listdir(os.path.join(self.kfd, "proc")), "HIP has told the kernel driver of it")

    def test_a_gpu_of_which_nobody_tells_who_uses_it_is_busy_where_that_must_be_known(self):
        empty = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))
        for root, why in ((empty, "/sys/class/kfd/kfd/topology/nodes"), (self.root, r"\(KFD\) does not list it")):
            with self.subTest(why):
                tables = {"gpus": [gpu(7)]}
                self.assert_reason(self.alone("--require-idle", "--root", root, **tables), "busy", f"can be in use by an unknown process: .*{why}")
                self.assertIn("id", self.alone("--root", root, **tables).line(), "who does not ask for it gets it")

    def test_a_divided_gpu_is_busy_where_its_use_must_be_known(self):
        kfd.make(self.kfd, *self.GPUS, self.GPUS[1])
        self.assert_reason(self.alone("--require-idle"), "busy", r"gpu 1 \(0000:02:00.0\) is divided \(compute partitions\)")
        self.assertIn("id", self.alone().line())


class Others(NcclProbeTest):
    """Faults of the other machines, or between them."""

    def test_nobody_comes(self):
        serving, _ = self.serve("--patience", "1")
        self.assert_reason(serving, "not_joined", "not all ranks joined: ncclGroupEnd has not returned for 1 s")

    def test_one_of_three_does_not_come(self):
        serving, told = self.serve("--patience", "2", ranks=6)
        joining = self.join(told["id"], "--patience", "2", ranks=6)
        self.assert_reason(serving, "not_joined", "not all ranks joined")
        self.assertIn(self.report(joining, 3)["reason"], ("not_joined", "peer_vanished"))

    def test_the_peer_is_killed_in_the_middle(self):
        for victim in (0, 1):
            serving, told = self.serve("--seconds", "60")
            ends = [serving, self.join(told["id"], "--seconds", "60")]
            self.wait_measuring(*ends)
            os.kill(ends[victim].child.pid, signal.SIGKILL)
            self.assert_reason(ends[1 - victim], "peer_vanished", "another rank has ended")

    def test_a_peer_that_stops_in_the_middle(self):
        serving, told = self.serve("--patience", "2")
        joining = self.join(told["id"], nccl={"calls": {"ncclAllReduce": {"result": "hang", "after": 7}}})
        self.assert_reason(serving, "peer_vanished", "ncclGroupEnd has not returned for 2 s")
        joining.process.stop()

    def test_a_machine_that_stands_still_in_the_middle(self):
        serving, told = self.serve()
        joining = self.join(told["id"], "--seconds", "1.5")
        self.wait_measuring(serving, joining)
        joining.child.send_signal(signal.SIGSTOP)
        self.assert_reason(serving, "peer_vanished", "has not ended after 1[01] s")

    def test_a_call_that_fails_on_one_side_ends_both(self):
        serving, told = self.serve()
        joining = self.join(told["id"], nccl={"calls": {"ncclAllReduce": {"result": 1, "after": 7}}})
        self.assert_reason(joining, "internal", r"ncclAllReduce: .*\(1\)")
        self.assert_reason(serving, "peer_vanished", "another rank has ended")

    def test_what_failed_first_is_told_though_nccl_hangs_afterwards(self):
        serving, told = self.serve()
        joining = self.join(told["id"], "--patience", "1",
                            nccl={"calls": {"ncclAllReduce": {"result": 1, "after": 7}, "ncclCommAbort": {"result": "hang"}}})
        self.assert_reason(joining, "internal", r"ncclAllReduce: .*\(1\)")
        self.assert_reason(serving, "peer_vanished", "another rank has ended")

    def test_numbers_that_ranks_cannot_have_agreed_on_are_wrong_sums(self):
        # Values of size, time, trial, iterations of a batch, elapsed time, and the rank with a wrong sum.
        cases = ((0, 1 << 40, 0), (0, 2048, 1), (1, 1, 0), (1, 3_600_000_001, 1), (2, 0, 0), (2, 1 << 60, 1), (3, 0, 0), (3, 1 << 40, 1),
                 (4, 0, 0), (4, 0, 1), (5, 1 << 40, 1))
        ends = [self.serve("--seconds", "0.1", ranks=2, nccl={"wrong_word": {"rank": rank, "call": call, "value": value}})[0]
                for call, value, rank in cases]
        for (call, value, rank), end in zip(cases, ends):
            with self.subTest(call=call, value=value, rank=rank):
                told = f"^rank {rank} sent .* as the agreed value {value}: sums of NCCL are wrong here"
                self.assert_reason(end, "wrong_result", told, code=2, wrong_rank=rank)

    def test_a_size_of_no_whole_pages_is_a_wrong_sum_though_nccl_hangs_afterwards(self):
        table = {"wrong_word": {"rank": 0, "call": 0, "value": 4096 + 2048}, "calls": {"ncclCommAbort": {"result": "hang"}}}
        serving, told = self.serve("--count", "1", "--patience", "1", ranks=2, nccl=table)
        joining = self.join(told["id"], "--count", "1", "--patience", "3", ranks=2, first=1)
        self.assert_reason(serving, "wrong_result", "^rank 0 sent .* as the agreed value 6144: sums of NCCL", code=2, wrong_rank=0)
        self.assert_reason(joining, "peer_vanished", "another rank has ended|has not returned")

    def test_ranks_of_a_machine_that_are_told_different_numbers(self):
        alone, _ = self.serve(ranks=2, nccl={"wrong_word": {"rank": 1, "call": 1, "value": 3_000_000}})
        # It is not known which of them is wrong.
        self.assert_reason(alone, "wrong_result", "^rank 0 received as the agreed value 500000, rank 1 received 3000000: sums of NCCL", code=2)

    def test_a_process_that_crashes_in_nccl(self):
        serving, told = self.serve()
        joining = self.join(told["id"], nccl={"calls": {"ncclAllReduce": {"result": "abort", "after": 7}}})
        self.assertEqual(joining.end()[0], -signal.SIGABRT)
        self.assert_reason(serving, "peer_vanished", "another rank has ended")

    def test_a_wrong_sum_is_named_and_all_ends_know_it(self):
        serving, told = self.serve()
        joining = self.join(told["id"], nccl={"wrong_rank": 3})
        self.assert_reason(joining, "wrong_result", r"^gpu 1 \(0000:02:00.0\): byte \d+ of the sum is -10, not 10$", code=2, wrong_rank=3)
        self.assert_reason(serving, "wrong_result", "^rank 3, of another machine, got a wrong sum$", code=2, wrong_rank=3)

    def test_of_several_wrong_sums_all_ends_know_the_first(self):
        serving, told = self.serve("--seconds", "0.1", nccl={"wrong_rank": 1})
        joining = self.join(told["id"], "--seconds", "0.1", nccl={"wrong_rank": 2})
        for end, own in ((serving, "gpu 1 "), (joining, "gpu 0 ")):
            report = self.assert_reason(end, "wrong_result", "^" + own, code=2, wrong_rank=1)
            self.assertEqual(report["wrong_last_rank"], 2)

    def test_a_wrong_sum_is_told_though_another_rank_goes_then(self):
        serving, told = self.serve("--seconds", "60", nccl={"wrong_rank": 1})
        joining = self.join(told["id"], nccl={"calls": {"ncclAllReduce": {"result": 1, "after": 40}}})
        self.assert_reason(serving, "wrong_result", "^gpu 1 ", code=2, wrong_rank=1)
        self.assert_reason(joining, "internal", "ncclAllReduce")

    def test_a_wrong_sum_is_told_though_another_rank_stops_then(self):
        serving, told = self.serve("--seconds", "60", "--patience", "1", nccl={"wrong_rank": 1})
        joining = self.join(told["id"], nccl={"calls": {"ncclAllReduce": {"result": "hang", "after": 40}}})
        self.assert_reason(serving, "wrong_result", "^gpu 1 ", code=2, wrong_rank=1)
        joining.process.stop()

    def test_a_machine_with_fewer_gpus_than_were_counted_says_so_at_once(self):
        self.assert_reason(End(self, "nccl-serve", "--ranks", "6", "--count", "3"), "no_driver", "the driver lists only 2 GPUs of 3 requested")

    def test_two_versions_of_nccl(self):
        serving, told = self.serve()
        joining = self.join(told["id"], nccl={"version": 21903})
        for end in (serving, joining):
            self.assert_reason(end, "wrong_version", "same version of NCCL: .*version 21903")

    def test_the_id_of_somebody_who_is_gone(self):
        serving, told = self.serve()
        serving.child.kill()
        serving.child.wait(10)
        self.assert_reason(self.join(told["id"]), "refused", "the process that created the id no longer listens: .*Connection refused")

    def test_an_id_that_nobody_made(self):
        self.assert_reason(self.join("00" * 128), "internal", "ncclGroupEnd: .*the id is from another library")


class Program(NcclProbeTest):
    def test_sigterm_ends_it_at_once_wherever_it_is(self):
        waiting, told = self.serve(ranks=6)
        waiting.process.wait_says("joining as ranks")
        inodes = sockets_of(waiting.child.pid)
        self.assertEqual(len(listening_ports(inodes)), 1)
        self.ends_by_a_signal(waiting)
        self.assertEqual(listening_ports(inodes), set(), "nobody listens any more")
        serving, told = self.serve("--seconds", "60")
        joining = self.join(told["id"], "--seconds", "60")
        self.wait_measuring(serving, joining)
        self.ends_by_a_signal(serving)
        record = serving.recorded()
        self.assertEqual({name: record[name] for name in NOTHING_LEFT}, NOTHING_LEFT)
        self.assert_reason(joining, "peer_vanished", "another rank has ended")

    def ends_by_a_signal(self, end):
        begin = time.monotonic()
        end.child.send_signal(signal.SIGTERM)
        code, [report] = end.end(10)
        self.assertLess(time.monotonic() - begin, 2, "a second, on a machine that does nothing else")
        self.assertEqual((code, report["reason"], report["error"]), (128 + 15, "killed", "signal 15 ended it"))

    def test_nothing_but_reports_goes_to_standard_output(self):
        serving, told = self.serve(environment={"NCCL_DEBUG": "VERSION"})
        joining = self.join(told["id"])
        self.assertEqual([len(end.end()[1]) for end in (serving, joining)], [1, 1])
        serving.process.wait_says("all ranks have joined")
        serving.process.wait_says("a line of the simulated library on standard output")

    def run_probe(self, *arguments, environment=None):
        return subprocess.run([PROBE, *arguments], capture_output=True, text=True, check=False, timeout=60, env=os.environ | (environment or {}))

    def test_the_id_is_read_from_the_environment_and_shown_to_nobody(self):
        serving, told = self.serve()
        joining = self.join("-", environment={"AUTOPILOT_NCCL_ID": told["id"]})
        joining.process.wait_says("joining as ranks")
        for file in ("cmdline", "environ"):
            with open(f"/proc/{joining.child.pid}/{file}", "rb") as shown:
                self.assertNotIn(told["id"].encode(), shown.read())
        for end in (serving, joining):
            self.assert_rate(self.report(end), GIGABITS)

    def test_a_variable_that_is_no_id_is_usage_and_not_repeated(self):
        for text in ("", "f00d" * 63, "g" * 256):
            done = self.run_probe("nccl-measure", "--ranks", "2", "--first", "1", "--id", "-", environment={"AUTOPILOT_NCCL_ID": text})
            self.assertEqual((done.returncode, done.stdout), (64, ""), done.stderr)
            self.assertIn("--id: AUTOPILOT_NCCL_ID is not the 256 hexadecimal digits", done.stderr)
            self.assertNotIn("f00d", done.stderr)

    def test_help_has_examples_and_exit_codes(self):
        for command in ("nccl-serve", "nccl-measure"):
            done = self.run_probe(command, "--help")
            self.assertEqual(done.returncode, 0)
            for text in ("Examples", "Exit codes:", "--ranks", "--nccl-library"):
                self.assertIn(text, done.stdout)
        self.assertIn("nccl-serve", self.run_probe("--help").stdout)

    def test_wrong_usage_is_64_and_names_the_option(self):
        identity = ["--id", "ab" * 128]
        serve = ["nccl-serve", "--ranks", "2"]
        measure = ["nccl-measure", "--ranks", "2"]
        for option, words in (("--ranks", ["nccl-serve"]),
                              ("--ranks", ["nccl-serve", "--ranks", "1"]),
                              ("--bind", [*serve, "--bind", "eth0"]),
                              ("--seconds", [*serve, "--seconds", "0"]),
                              ("--vendor", [*serve, "--vendor", "intel"]),
                              ("--count", [*serve, "--count", "0"]),
                              ("--megabytes", [*serve, "--megabytes", "-5"]),
                              ("--id", [*measure, "--first", "1"]),
                              ("--id", [*measure, "--first", "1", "--id", ""]),
                              ("AUTOPILOT_NCCL_ID, from which - reads it, is not set", [*measure, "--first", "1", "--id", "-"]),
                              ("--require-idle", [*serve, "--require-idle", "--beside-others"]),
                              ("--id", [*measure, "--first", "1", "--id", "g" * 256]),
                              ("--id", [*measure, "--first", "1", "--id", "a" * 100_000]),
                              ("--first", [*measure, *identity]),
                              ("--first", [*measure, *identity, "--first", "2"]),
                              ("--gpus", ["--gpus", "0", *serve])):
            with self.subTest(words[:6]):
                done = self.run_probe(*words)
                self.assertEqual((done.returncode, done.stdout), (64, ""), done.stderr)
                self.assertIn(option, done.stderr)
                self.assertLess(len(done.stderr), 1000)

    def test_more_gpus_than_ranks_are_usage(self):
        serving = End(self, "nccl-serve", "--ranks", "2", gpus=[gpu(1), gpu(2), gpu(3)])
        self.assertEqual(serving.end(), (64, []))
        serving.process.wait_says("--ranks: 3 GPUs from rank 0 exceed 2 ranks; reduce --count")


if __name__ == "__main__":
    unittest.main()
