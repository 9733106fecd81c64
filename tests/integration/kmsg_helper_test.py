# SPDX-License-Identifier: Apache-2.0
"""An agent without any right reads the kernel log of this machine through `autopilot helper kmsg`, run by root."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness

NOBODY = 65534
STRANGER = 65533
CHECK = "host.lockups"


class KmsgHelperTest(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root to become another user")
        try:
            with open("/dev/kmsg", "rb", buffering=0) as log:
                os.set_blocking(log.fileno(), False)
                log.read(8192)
        except OSError as error:
            raise unittest.SkipTest(f"needs a kernel log: {error}")
        self.folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)
        # The build folder may be closed to others.
        self.program = shutil.copy(harness.AUTOPILOT, self.folder)
        os.chmod(self.program, 0o755)
        self.socket = os.path.join(self.folder, "kmsg.sock")

    def start_helper(self, *arguments):
        helper = harness.Process([self.program, "helper", "kmsg", "--listen", self.socket, *arguments])
        self.addCleanup(helper.stop, signal.SIGKILL)
        harness.wait_until(lambda: helper.find("listens on"), "the helper listens")
        return helper

    def look(self, user):
        """The result of one run by a user without permissions."""
        done = subprocess.run([self.program, "check", "--no-agent", "--window", "0s", "-o", "json"], user=user, group=user,
                              extra_groups=[], cwd="/", capture_output=True, text=True, timeout=60, check=False,
                              env={"PATH": "/usr/bin:/bin", "HOME": "/nowhere",
                                   "AUTOPILOT_KERNEL_LOG_HELPER_SOCKET": self.socket})
        node = json.loads(done.stdout)
        return next(result for result in node["results"] if result["check"] == CHECK)

    def test_a_user_without_rights_sees_what_root_sees(self):
        self.start_helper("--allow-uid", str(NOBODY))
        seen = self.look(NOBODY)
        code, text, _ = harness.run("check", "--no-agent", "--window", "0s", "-o", "json")
        self.assertIn(code, (0, 1, 2, 3))
        by_root = next(result for result in json.loads(text)["results"] if result["check"] == CHECK)
        self.assertNotEqual(seen["health"], "unknown", seen)
        self.assertEqual(seen["health"], by_root["health"])
        self.assertEqual(seen.get("witnesses"), by_root.get("witnesses"))

    def test_of_the_rights_of_root_it_keeps_the_one_to_read_the_log(self):
        helper = self.start_helper()
        with open(f"/proc/{helper.child.pid}/status", encoding="ascii") as file:
            rights = dict(line.split(":\t") for line in file.read().splitlines() if line.startswith(("Cap", "NoNewPrivs")))
        syslog = f"{1 << 34:016x}"
        self.assertEqual((rights["CapPrm"], rights["CapEff"], rights["CapInh"]), (syslog, syslog, "0" * 16))
        self.assertEqual(rights["NoNewPrivs"], "1")

    def test_a_user_who_is_not_allowed_is_told_so(self):
        self.start_helper("--allow-uid", str(NOBODY))
        refused = self.look(STRANGER)
        self.assertEqual(refused["health"], "unknown")
        self.assertIn(f"user {STRANGER} is not allowed", refused["findings"][0]["message"])
        self.assertIn("--allow-uid", refused["findings"][0]["message"])

    def test_a_socket_of_somebody_else_is_not_believed(self):
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        os.chmod(self.folder, 0o777)
        liar = subprocess.Popen([self.program, "helper", "kmsg", "--listen", self.socket, "--allow-uid", str(NOBODY)],
                                user=STRANGER, group=STRANGER, extra_groups=[], stderr=subprocess.DEVNULL)
        try:
            harness.wait_until(lambda: os.path.exists(self.socket), "somebody listens")
            harness.wait_until(lambda: "neither root nor this user" in
                               self.look(NOBODY)["findings"][0]["message"], "the agent does not believe it")
        finally:
            liar.kill()
            liar.wait()

    def test_a_helper_that_is_killed_is_no_witness_until_it_is_back(self):
        helper = self.start_helper("--allow-uid", str(NOBODY))
        settings = os.path.join(self.folder, "config.yaml")
        with open(settings, "w", encoding="ascii") as file:
            file.write(f"kernel_log: {{helper_socket: {self.socket}}}\nchecks: {{{CHECK}: {{period: 1s}}}}\n")
        with harness.Agent("--config", settings) as agent:
            agent.wait_ready()
            before = agent.result(CHECK)
            self.assertNotEqual(before["health"], "unknown", before)
            records = metric(agent, "autopilot_kernel_records_read_total")
            self.assertGreater(records, 0)

            helper.stop(signal.SIGKILL)
            lost = harness.wait_until(lambda: unknown(agent), "the check is unknown")
            self.assertIn(self.socket, lost["findings"][0]["message"])

            self.start_helper("--allow-uid", str(NOBODY))
            harness.wait_until(lambda: not unknown(agent), "the check looks again", deadline=60)
            # The machine can log new records meanwhile, but never all old records again.
            with open("/dev/kmsg", "rb", buffering=0) as log:
                os.set_blocking(log.fileno(), False)
                there = count_records(log)
            self.assertLess(metric(agent, "autopilot_kernel_records_read_total"), records + max(there / 2, 1))


def unknown(agent):
    result = agent.result(CHECK)
    return result if result["health"] == "unknown" else None


def metric(agent, name):
    for line in agent.get("/metrics").splitlines():
        if line.startswith(name) and not line.startswith("#"):
            return float(line.split()[-1])
    raise AssertionError(f"no metric {name}")


def count_records(log):
    count = 0
    while True:
        try:
            if log.read(8192) is None:
                return count
            count += 1
        except BlockingIOError:
            return count
        except BrokenPipeError:
            continue


if __name__ == "__main__":
    unittest.main(verbosity=2)
