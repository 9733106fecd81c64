# SPDX-License-Identifier: Apache-2.0
"""autopilot why: what ended a program or went wrong, on simulated machines without an agent."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import harness

UPTIME = 36 * 3600
BOOTED = 1768464000 - UPTIME  # the time of a simulated machine is 2026-01-15T08:00:00Z
EARLIER_BOOT = "a" * 32
STOPPED_ENTRY = "d93fb3c9c24d451a97cea615ce59c00b"
XID = "NVRM: Xid (PCI:0000:61:00): {}, pid=4242, name=python3, {}"
KILLED = ("Memory cgroup out of memory: Killed process 4242 (python3) total-vm:105624kB, anon-rss:102400kB, "
          "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:256kB oom_score_adj:0")
OF_JOB = ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
          "oom_memcg=/system.slice/slurmstepd.scope/job_4711,"
          "task_memcg=/system.slice/slurmstepd.scope/job_4711/step_0,task=python3,pid=4242,uid=1000")
STAT = "4242 (python3) {} 1 4242 4242 0 -1 4194304 100 0 0 0 10 5 0 0 20 0 1 0 6000000 1000 100 1 1 1" + " 0" * 26
JOB_CGROUP = "0::/system.slice/slurmstepd.scope/job_4711/step_0\n"


def entry(before_boot, message, **members):
    stamp = str((BOOTED - before_boot) * 1_000_000)
    return {"__REALTIME_TIMESTAMP": stamp, "_BOOT_ID": EARLIER_BOOT, "_TRANSPORT": "journal", "_UID": "0",
            "PRIORITY": "3", "MESSAGE": message, **members}


def of_kernel(before_boot, message):
    return entry(before_boot, message, _TRANSPORT="kernel", SYSLOG_FACILITY="0")


class Why(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="autopilot-why-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.bases = {}

    def tree(self, base="no-gpu", faults=()):
        """A machine tree, created once for each machine and emptied of what the last test added."""
        key = (base, *faults)
        if key not in self.bases:
            built = pathlib.Path(self.folder) / f"machine-{len(self.bases)}"
            self.sim("create", base, "--out", str(built))
            for fault in faults:
                self.sim("inject", str(built), *fault)
            self.bases[key] = (built, (built / "kmsg.jsonl").read_text(encoding="utf-8"), [])
        built, log, added = self.bases[key]
        (built / "kmsg.jsonl").write_text(log, encoding="utf-8")
        for file in added:
            file.unlink()
        added.clear()
        return built, added

    def sim(self, *words):
        subprocess.run([harness.AUTOPILOT_SIM, *words], check=True, capture_output=True, timeout=60)

    def machine(self, lines=(), journal=(), files=None, **kind):
        """`lines`: (seconds ago, text) of the kernel log."""
        tree, added = self.tree(**kind)
        with open(tree / "kmsg.jsonl", "a", encoding="utf-8") as log:
            for ago, text in lines:
                log.write(json.dumps({"prio": 3, "time": UPTIME - ago, "text": text}) + "\n")
        texts = {f"root/{path}": text for path, text in (files or {}).items()}
        if journal:
            texts["journal.jsonl"] = "".join(json.dumps(one) + "\n" for one in journal)
        for path, text in texts.items():
            file = tree / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            added.append(file)
        return tree

    def why(self, tree, *words, code=0):
        done = subprocess.run([harness.AUTOPILOT, "why", *words, "--root", str(tree), "-o", "json"], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def page(self, tree, *words):
        done = subprocess.run([harness.AUTOPILOT, "why", *words, "--root", str(tree)], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertLess(len(done.stdout.splitlines()), 24, done.stdout)
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)
        return done.stdout

    def assert_cause(self, answer, reason, certainty, fault=None):
        self.assertTrue(answer["causes"], answer)
        first = answer["causes"][0]
        self.assertEqual((first["reason"], first["certainty"]), (reason, certainty), answer["causes"])
        if fault:
            self.assertEqual(first["fault"], fault)
        return first


class OfGpus(Why):
    def of_xid(self, *lines):
        return self.machine([(600 - at, XID.format(code, text)) for at, (code, text) in enumerate(lines)], base="hgx-h100-8")

    def test_xid_79_is_the_hardware(self):
        tree = self.of_xid((79, "GPU has fallen off the bus."), (45, "Ch 00000008"))
        first = self.assert_cause(self.why(tree), "gpu_fallen_off_bus", "likely", "hardware")
        self.assertEqual([one["code"] for one in first["consequences"]], [45])
        self.assertEqual(first["next"], "autopilot explain xid 79")
        self.assert_cause(self.why(tree, "4242"), "gpu_fallen_off_bus", "certain", "hardware")

    def test_xid_94_is_the_hardware(self):
        tree = self.of_xid((94, "Contained: SM (0x1). RST: No, D-RST: No"))
        self.assertEqual(self.why(tree, "4242")["causes"][0]["code"], 94)
        self.assertEqual(self.why(tree, "4242")["causes"][0]["fault"], "hardware")

    def test_xid_31_is_the_program(self):
        tree = self.of_xid((31, "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted"))
        self.assert_cause(self.why(tree, "4242"), "xid_app", "certain", "application")
        self.assertIn("the program is at fault", self.page(tree, "4242"))

    def test_xid_48_explains_the_row_remap_and_the_end_of_the_program(self):
        tree = self.of_xid((48, "An uncorrectable double bit error (DBE) has been detected on GPU"),
                           (63, "Row Remapper: New row marked for remapping, reset gpu to activate."), (45, "Ch 00000008"))
        answer = self.why(tree, "4242")
        self.assertEqual([one["code"] for one in answer["inOrder"]], [48, 63, 45])
        self.assertEqual(len(answer["causes"]), 1)

    def test_a_failed_row_remap_needs_another_action(self):
        tree = self.of_xid((64, "Row Remapper: Error: failed to record the remapping"))
        self.assertEqual(self.why(tree)["causes"][0]["code"], 64)

    def test_xid_74_names_the_nvlink(self):
        tree = self.of_xid((74, "NVLink: fatal error detected on link 3(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"))
        self.assertEqual(self.why(tree)["causes"][0]["subject"], "nvlink/0000:61:00.0/3")

    def test_a_hot_gpu_is_named(self):
        tree = self.machine(base="hgx-h100-8", faults=[("temperature", "--subject", "gpu/3")])
        self.assertEqual(self.why(tree)["causes"][0]["subject"], "gpu/0000:61:00.0")

    def test_a_lost_infiniband_link_is_named(self):
        tree = self.machine(base="hgx-h100-8", faults=[("ib_port_down", "--subject", "nic_port/mlx5_0/1")])
        self.assert_cause(self.why(tree), "ib_port_down", "likely")

    def test_full_disks_and_inodes_are_named(self):
        for fault, reason in (("filesystem_full", "filesystem_full"), ("inodes_full", "inodes_exhausted")):
            tree = self.machine(base="hgx-h100-8", faults=[(fault, "--subject", "mount//raid")])
            self.assert_cause(self.why(tree), reason, "likely")
            self.assertEqual(self.why(tree, "4242", code=4)["seen"][0]["reason"], reason)

    def test_an_error_of_three_hours_ago_is_found_and_one_of_two_days_ago_is_not(self):
        lost = XID.format(79, "GPU has fallen off the bus.")
        self.assertIn("3h ago (05:00:00 UTC)", self.page(self.machine([(3 * 3600, lost)], base="hgx-h100-8")))
        self.why(self.machine([(30 * 3600, lost)], base="hgx-h100-8"), code=4)
        self.why(self.machine([(30 * 3600, lost)], base="hgx-h100-8"), "--since", "2d")


class OfMemory(Why):
    def test_the_machine_ran_out_of_memory(self):
        tree = self.machine([(60, "Out of memory: Killed process 4242 (python3) total-vm:105624kB, anon-rss:102400kB")])
        self.assert_cause(self.why(tree, "4242"), "oom_kills", "certain")

    def test_a_limit_names_process_and_job(self):
        tree = self.machine([(60, OF_JOB), (60, KILLED)])
        for words in (["4242"], ["4711"], ["slurm 4711"], ["python3"], []):
            self.assert_cause(self.why(tree, *words), "memory_limit", "certain")
        self.assertIn("sacct -j 4711", self.page(tree, "4711"))
        self.assertEqual(self.why(tree, "4712", code=4)["causes"], [])

    def test_a_limit_of_an_older_kernel_names_the_job(self):
        tree = self.machine([
            (60, "Task in /slurm/uid_1000/job_4711/step_0 killed as a result of limit of /slurm/uid_1000/job_4711"),
            (60, "Memory cgroup out of memory: Kill process 4242 (python3) score 912 or sacrifice child")])
        self.assert_cause(self.why(tree, "4711"), "memory_limit", "certain")

    def test_without_the_kernel_log_the_counters_of_groups_remain(self):
        group = "sys/fs/cgroup/system.slice/slurmstepd.scope"
        of_version_2 = {f"{group}/job_4711/memory.events": "oom_kill 2\n", f"{group}/memory.events": "oom_kill 2\n",
                        "sys/fs/cgroup/system.slice/memory.events": "oom_kill 2\n"}
        of_version_1 = {f"sys/fs/cgroup/memory/slurm{path}/memory.oom_control": f"under_oom 0\noom_kill {kills}\n"
                        for path, kills in (("", 0), ("/uid_1000", 0), ("/uid_1000/job_4711", 1))}
        for files in (of_version_2, of_version_1):
            tree = self.machine(files=files)
            (tree / "kmsg.jsonl").write_text('{"error": "denied"}\n', encoding="utf-8")
            self.assert_cause(self.why(tree, "4711"), "memory_limit", "possible")
            self.assertIn("NOT READ  kernel log", self.page(tree, "4711"))


class OfProcesses(Why):
    def test_a_stopped_rank_is_named(self):
        tree = self.machine(files={"proc/4242/stat": STAT.format("T"), "proc/4242/cgroup": JOB_CGROUP})
        for words in (["4242"], ["4711"], []):
            first = self.assert_cause(self.why(tree, *words), "process_stopped", "certain")
            self.assertEqual(first["next"], "kill -CONT 4242")

    def test_a_process_that_waits_for_a_file_server(self):
        tree = self.machine([(310, "nfs: server filer1 not responding, still trying"),
                             (180, "INFO: task python3:4242 blocked for more than 120 seconds.")],
                            files={"proc/4242/stat": STAT.format("D")})
        self.assert_cause(self.why(tree, "4242"), "filesystem.nfs_not_responding", "likely")

    def hung(self, *functions, before=()):
        trace = ["Call Trace:", " <TASK>", " __schedule+0x2eb/0x8d0", " schedule+0x4f/0xc0", *functions]
        return self.machine([*before, (180, "INFO: task python3:4242 blocked for more than 120 seconds."),
                             *((180, line) for line in trace)])

    def test_the_call_trace_names_what_a_blocked_process_waits_for(self):
        for function, what in ((" rpc_wait_bit_killable+0x1e/0xb0 [sunrpc]", "an NFS server"), (" xfs_buf_lock+0x1/0x2 [xfs]", "a disk"),
                               (" os_acquire_mutex+0x1/0x2 [nvidia]", "the driver of a GPU"),
                               (" mlx5_cmd_exec+0x1/0x2 [mlx5_core]", "an RDMA adapter"),
                               (" request_wait_answer+0x1/0x2 [fuse]", "FUSE"), (" ptlrpc_set_wait+0x1/0x2 [ptlrpc]", "a Lustre server"),
                               (" mem_cgroup_handle_over_high+0x1/0x2", "memory")):
            first = self.assert_cause(self.why(self.hung(function), "4242"), "task_hung", "certain")
            self.assertIn(what, first["what"])

    def test_a_blocked_process_is_not_blamed_on_a_disk_that_it_does_not_wait_for(self):
        disk_error = (310, "blk_update_request: critical medium error, dev sdb, sector 7 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0")
        waits_for_gpu = self.hung(" os_acquire_mutex+0x1/0x2 [nvidia]", before=[disk_error])
        self.assert_cause(self.why(waits_for_gpu, "4242"), "task_hung", "certain")
        waits_for_nfs = self.hung(" rpc_wait_bit_killable+0x1e/0xb0 [sunrpc]", before=[disk_error])
        self.assert_cause(self.why(waits_for_nfs, "4242"), "task_hung", "certain")
        waits_for_disk = self.why(self.hung(" xfs_buf_lock+0x1/0x2 [xfs]", before=[disk_error]), "4242")
        self.assertNotEqual(waits_for_disk["causes"][0]["reason"], "task_hung")
        self.assertEqual(waits_for_disk["causes"][0]["certainty"], "likely")

    def test_a_process_that_waits_for_its_gpu_is_explained_by_the_error_of_the_gpu(self):
        trace = ["Call Trace:", " os_acquire_mutex+0x1/0x2 [nvidia]"]
        tree = self.machine([(400, XID.format(79, "GPU has fallen off the bus.").replace("pid=4242, name=python3, ", "")),
                             (180, "INFO: task python3:4242 blocked for more than 120 seconds."), *((180, line) for line in trace)],
                            base="hgx-h100-8")
        self.assert_cause(self.why(tree, "4242"), "gpu_fallen_off_bus", "likely", "hardware")

    def test_a_limit_of_processes(self):
        group = "/kubepods.slice/kubepods-pod8b7c1f8e_0d55_4f9c_a2a3_1d2f3a4b5c6d.slice"
        tree = self.machine([(60, f"cgroup: fork rejected by pids controller in {group}")])
        first = self.assert_cause(self.why(tree, "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d"), "pids_limit", "certain")
        self.assertIn("limit of processes", first["what"])
        counters = self.machine(files={"sys/fs/cgroup/system.slice/slurmstepd.scope/job_4711/pids.events": "max 3\n",
                                       "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4711/pids.max": "512\n",
                                       "sys/fs/cgroup/system.slice/slurmstepd.scope/pids.events": "max 0\n",
                                       "sys/fs/cgroup/system.slice/pids.events": "max 0\n"})
        (counters / "kmsg.jsonl").write_text('{"error": "denied"}\n', encoding="utf-8")
        first = self.assert_cause(self.why(counters, "4711"), "pids_limit", "possible")
        self.assertIn("its limit is 512", first["what"])

    def test_a_system_call_that_seccomp_forbids(self):
        line = ("audit: type=1326 audit(1768464000.123:45): auid=1000 uid=1000 gid=1000 ses=1 pid=4242 comm=\"python3\" "
                "exe=\"/usr/bin/python3\" sig={} arch=c000003e syscall=250 compat=0 ip=0x7f1c code=0x80000000")
        first = self.assert_cause(self.why(self.machine([(60, line.format(31))]), "4242"), "seccomp_kill", "certain")
        self.assertIn("system call 250", first["what"])
        self.why(self.machine([(60, line.format(0))]), "4242", code=4)

    def test_full_shared_memory_explains_a_bus_error(self):
        tree = self.machine()
        mounts = tree / "root/proc/self/mountinfo"
        description = tree / "machine.yaml"
        for file in (mounts, description):
            self.addCleanup(file.write_text, file.read_text(encoding="utf-8"), encoding="utf-8")
        with open(mounts, "a", encoding="utf-8") as file:
            file.write("900 1 0:99 / /dev/shm rw,nosuid - tmpfs shm rw,size=65536k\n")
        usage = "  /dev/shm: {total_bytes: 67108864, free_bytes: 0, available_bytes: 0, total_inodes: 1000, free_inodes: 900}\n"
        description.write_text(description.read_text(encoding="utf-8").replace("filesystems:\n", "filesystems:\n" + usage),
                               encoding="utf-8")
        self.assertEqual(self.why(tree)["causes"][0]["reason"], "shared_memory_full")
        dump = entry(-60, "Process 4242 (python3) dumped core.", MESSAGE_ID="fc2e22bc6ee647b6b90729ab34a250b1", COREDUMP_PID="4242",
                     COREDUMP_COMM="python3", COREDUMP_SIGNAL_NAME="SIGBUS", _BOOT_ID=self.boot_of(tree))
        journal = tree / "journal.jsonl"
        self.addCleanup(journal.unlink)
        journal.write_text(json.dumps(dump) + "\n", encoding="utf-8")
        first = self.assert_cause(self.why(tree, "4242"), "shared_memory_full", "likely")
        self.assertEqual([one["signal"] for one in first["consequences"]], ["SIGBUS"])

    @staticmethod
    def boot_of(tree):
        for line in (tree / "machine.yaml").read_text(encoding="utf-8").splitlines():
            if line.startswith("boot_id:"):
                return line.split(":")[1].strip().strip('"').replace("-", "")
        raise AssertionError("machine.yaml without boot_id")

    def test_limits_in_the_log_of_the_program(self):
        tree = self.machine()
        log = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "slurm-4711.out"
        for line, reason in (("OSError: [Errno 24] Too many open files", "open_files_limit"),
                             ("ibv_reg_mr failed with error Cannot allocate memory", "locked_memory_limit"),
                             ("bash: fork: retry: Resource temporarily unavailable", "pids_limit"),
                             ("raise the stack limit (ulimit -s)", "stack_limit"),
                             ("DataLoader worker (pid 17) is killed by signal: Bus error.", "shared_memory_full")):
            log.write_text(f"step 1\n{line}\n", encoding="utf-8")
            first = self.assert_cause(self.why(tree, "4711", "--log", str(log)), reason, "certain")
            self.assertEqual(first["line"], line)
        self.assertIn("--shm-size", self.page(tree, "4711", "--log", str(log)))
        done = subprocess.run([harness.AUTOPILOT, "why", "--log", str(log) + "x", "--root", str(tree)], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 70)
        self.assertIn("slurm-4711.outx", done.stderr)

    def test_a_crash_names_the_library(self):
        tree = self.machine([(60, "python3[4242]: segfault at 10 ip 00007f1c sp 00007ffd error 4 in libnccl.so.2.19.3[7f1c+8]")])
        first = self.assert_cause(self.why(tree, "4242"), "program_crashed", "certain")
        self.assertEqual(first["library"], "libnccl.so.2.19.3")
        self.assertIn("crashed in libnccl.so.2.19.3", self.page(tree, "4242"))

    def test_a_core_dump_names_the_library(self):
        stack = ("Process 4242 (python3) of user 1000 dumped core.\n\nStack trace of thread 4242:\n"
                 "#0  0x00007f2b5c1a3e2c raise (libc.so.6 + 0x42520)\n#1  0x00007f2a11223344 ncclCommAbort (libnccl.so.2 + 0x12344)\n")
        dump = entry(300, stack, MESSAGE_ID="fc2e22bc6ee647b6b90729ab34a250b1", COREDUMP_PID="4242", COREDUMP_COMM="python3",
                     COREDUMP_SIGNAL_NAME="SIGABRT")
        tree = self.machine(journal=[of_kernel(4000, "Linux version 6.1"), dump,
                                     entry(100, "Journal stopped", MESSAGE_ID=STOPPED_ENTRY)])
        first = self.assert_cause(self.why(tree, "4242"), "program_crashed", "possible")
        self.assertIn("in ncclCommAbort of libnccl.so.2", first["what"])

    def test_a_segmentation_fault(self):
        tree = self.machine([(60, "python3[4242]: segfault at 10 ip 00007f1c sp 00007ffd error 4 in libfoo.so[7f1c+8]")])
        self.assert_cause(self.why(tree, "4242"), "program_crashed", "certain", "unclear")


class OfMachines(Why):
    def test_a_machine_check(self):
        tree = self.machine([(60, "mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 5: be00000000800400")])
        self.assert_cause(self.why(tree), "machine_check_uncorrected", "likely", "hardware")

    def of_previous_boot(self, *journal):
        return self.machine(journal=[of_kernel(4000, "Linux version 6.1"), *journal])

    def test_the_previous_boot_lost_power(self):
        tree = self.of_previous_boot(entry(100, "Started Session 4"))
        self.assert_cause(self.why(tree, "--since", "3d"), "no_shutdown", "certain")
        self.assertIn("in the previous boot", self.page(tree, "--since", "3d"))

    def test_the_previous_boot_panicked(self):
        tree = self.of_previous_boot(of_kernel(100, "Kernel panic - not syncing: Fatal exception in interrupt"))
        self.assert_cause(self.why(tree, "--since", "3d"), "kernel_panic", "certain")

    def test_heat_ended_the_previous_boot(self):
        tree = self.of_previous_boot(of_kernel(120, "thermal thermal_zone0: critical temperature reached (105 C), shutting down"))
        self.assert_cause(self.why(tree, "--since", "3d"), "machine_overheats", "likely")

    def test_a_clean_shutdown_is_no_cause(self):
        tree = self.of_previous_boot(entry(100, "Journal stopped", MESSAGE_ID=STOPPED_ENTRY))
        self.why(tree, "--since", "3d", code=4)

    def test_a_process_of_the_previous_boot(self):
        tree = self.of_previous_boot(of_kernel(200, OF_JOB), of_kernel(200, KILLED),
                                     entry(100, "Journal stopped", MESSAGE_ID=STOPPED_ENTRY))
        first = self.assert_cause(self.why(tree, "4242"), "memory_limit", "possible")
        self.assertEqual(first["bootsAgo"], 1)

    def test_an_action_of_an_earlier_boot_is_not_stated_as_one_of_now(self):
        tree = self.of_previous_boot(of_kernel(200, "Kernel panic - not syncing: Fatal exception in interrupt"))
        answer = self.why(tree, "--since", "3d")
        self.assertFalse(answer["causes"][0]["stillHolds"])
        self.assertIn("Not reported in this boot. If it returns:", " ".join(self.page(tree, "--since", "3d").split()))

    def test_a_fault_of_an_earlier_boot_that_is_still_there_is_stated_as_such(self):
        lost = of_kernel(200, "NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.")
        tree = self.machine(journal=[of_kernel(4000, "Linux version 6.1"), lost, entry(100, "Journal stopped", MESSAGE_ID=STOPPED_ENTRY)],
                            base="hgx-h100-8", faults=[("temperature", "--subject", "gpu/3")])
        of_xid = [one for one in self.why(tree, "--since", "3d")["causes"] if one.get("code") == 79]
        self.assertEqual([one["stillHolds"] for one in of_xid], [True])

    def test_a_healthy_machine_has_no_cause(self):
        tree = self.machine(base="hgx-h100-8")
        self.assertEqual(self.why(tree, code=4)["causes"], [])
        self.assertIn("No cause found", self.page(tree, "4242"))


class OnThisMachine(unittest.TestCase):
    def test_it_works_without_an_agent_and_states_what_it_read(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([harness.AUTOPILOT, "why", "1", "-o", "json"], capture_output=True, text=True, timeout=120,
                                  check=False, env={"HOME": folder, "PATH": "/usr/bin:/bin"})
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertIn("kernel log", [source["name"] for source in json.loads(done.stdout)["sources"]])

    def test_it_asks_the_agent_of_this_machine(self):
        agent = harness.Agent()
        self.addCleanup(agent.close)
        agent.wait_ready()
        _, out, error = harness.run("why", "-o", "json", environment=agent.environment)
        self.assertIn(f"agent at unix:{agent.socket}", [one["name"] for one in json.loads(out)["sources"] if one["read"]], error)

    def test_an_agent_of_another_machine_states_nothing_about_this_one(self):
        agent = harness.Agent("--simulate", "hgx-h100-8")
        self.addCleanup(agent.close)
        agent.wait_ready()
        _, out, error = harness.run("why", "-o", "json", environment=agent.environment)
        answer = json.loads(out)
        self.assertIn("it watches another machine", [source.get("problem") for source in answer["sources"]], error)
        self.assertFalse(answer["simulated"])

    def with_journal(self, script):
        """The answer where journalctl is that script of a shell."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        program = folder / "journalctl"
        program.write_text("#!/bin/sh\n" + script, encoding="utf-8")
        program.chmod(0o755)
        _, out, error = harness.run("why", "--no-agent", "-o", "json", environment={"PATH": f"{folder}:/usr/bin:/bin"})
        self.assertTrue(out, error)
        return json.loads(out)

    def test_journalctl_has_earlier_boots(self):
        now = int(time.time())
        lines = [entry(0, "Started Session 4", __REALTIME_TIMESTAMP=str((now - 60) * 1_000_000)),
                 of_kernel(0, KILLED) | {"__REALTIME_TIMESTAMP": str((now - 90) * 1_000_000)}]
        answer = self.with_journal("cat << 'END'\n" + "".join(json.dumps(line) + "\n" for line in lines) + "END\n")
        found = {one["reason"]: one for one in answer["causes"] if one["bootsAgo"] == 1}
        self.assertIn("no_shutdown", found)
        self.assertEqual((found["memory_limit"]["pid"], found["memory_limit"]["count"]), (4242, 1))

    def test_a_journal_of_the_user_alone_is_not_read(self):
        answer = self.with_journal("echo 'Hint: You are currently not seeing messages from other users and the system.' >&2\n")
        problems = [one.get("problem", "") for one in answer["sources"]]
        self.assertTrue(any("systemd-journal" in problem for problem in problems), problems)

    def test_a_user_without_an_agent_finds_one_on_the_loopback(self):
        agent = harness.Agent()
        self.addCleanup(agent.close)
        agent.wait_ready()
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "config.yaml"
            config.write_text(f"listen: 127.0.0.1:{agent.port}\n", encoding="utf-8")
            alone = {"XDG_RUNTIME_DIR": folder, "RUNTIME_DIRECTORY": folder}
            _, out, error = harness.run("why", "-o", "json", "--config", str(config), environment=alone)
        self.assertIn(f"the agent at 127.0.0.1:{agent.port} answers", error)
        self.assertIn(f"agent at 127.0.0.1:{agent.port}", [one["name"] for one in json.loads(out)["sources"] if one["read"]])

    def test_usage_errors(self):
        empty = subprocess.run([harness.AUTOPILOT, "why", ""], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(empty.returncode, 64, empty.stdout)
        for words in (["--since", "soon"], ["--socket", "/x:y:z", "--root", "/nowhere"], ["a", "b"]):
            done = subprocess.run([harness.AUTOPILOT, "why", *words], capture_output=True, text=True, timeout=60, check=False)
            self.assertIn(done.returncode, (64, 70, 78), done.stdout)


if __name__ == "__main__":
    unittest.main()
