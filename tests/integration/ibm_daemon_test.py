# SPDX-License-Identifier: Apache-2.0
"""The program called as the daemon of IBM Autopilot is: its flags and variables, its three ports. In a network of its own."""

import os
import signal
import subprocess
import unittest
import urllib.request

import harness
import own_namespaces


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return answer.status, answer.read().decode()


class IbmDaemonTest(unittest.TestCase):
    def start(self, *flags, **variables):
        environment = {**os.environ, **variables}
        environment.pop("KUBERNETES_SERVICE_HOST", None)
        daemon = harness.Process([harness.AUTOPILOT, *flags], environment)
        self.addCleanup(daemon.stop)
        harness.wait_until(lambda: daemon.find("agent ready") or daemon.child.poll() is not None, "it is ready")
        self.assertIsNone(daemon.child.poll(), daemon.log)
        return daemon

    def test_flags_variables_and_ports_are_those_of_the_original(self):
        daemon = self.start("-port", "4444", "--bw=15", "--loglevel=2", "--logfile=/tmp/log", "--w", "1h", "--invasive-check-timer=0",
                            NODE_NAME="gpu-7", PERIODIC_CHECKS="remapped", INVASIVE_JOB_TTLSEC="30")
        self.assertEqual(get(8080, "/readinessprobe"), (201, '{"Name":"readinessProbe","Body":"ready"}\n'))
        self.assertIn("autopilot_node_health", get(8081, "/metrics")[1])
        # PERIODIC_CHECKS defines `all`, and NODE_NAME the node.
        status, text = get(4444, "/status?check=all&host=gpu-7")
        self.assertEqual(status, 200)
        self.assertNotIn("pciebw", text)
        for name in ("--logfile", "INVASIVE_JOB_TTLSEC"):
            daemon.wait_says(f"{name} is accepted and has no effect")
        daemon.child.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.child.wait(timeout=20), 0)

    def test_what_it_cannot_take_ends_it_with_the_reason(self):
        for flags, words in ((("--bw", "fast"), "--bw: expected a number from 1 to 9999, not 'fast'"),
                             (("--port",), "--port needs a value"), (("--w=1h", "--help"), "'--help' is not a flag of IBM Autopilot's daemon")):
            code, _, error = harness.run(*flags)
            self.assertEqual(code, 64, error)
            self.assertIn(words, error)
        code, _, error = harness.run("--port=3333", environment={"PVC_TEST_STORAGE_CLASS": "x" * 300})
        self.assertEqual(code, 78, error)
        self.assertIn("flags and variables", error)


if __name__ == "__main__":
    own_namespaces.enter(["--net"], ["ip"], ["ip", "link", "set", "lo", "up"])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    unittest.main(verbosity=2)
