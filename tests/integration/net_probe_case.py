# SPDX-License-Identifier: Apache-2.0
"""autopilot-net-probe and the program iperf3 as both ends of real links of the kernel, in networks of their own: what the tests
net_probe_*_test.py share."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import unittest

import harness
import own_namespaces

PROBE = os.path.join(harness.BIN, "autopilot-net-probe")
PEER = "peer"  # the name of its network
HERE, THERE = "10.77.0.1", "10.77.0.2"
STRANGER = "10.77.0.3"  # another address of this end
HERE_6, THERE_6 = "2001:db8:77::1", "2001:db8:77::2"
SECOND_HERE, SECOND_THERE = "10.77.1.1", "10.77.1.2"  # another link
QUICK = ["--seconds", "1"]


def run(*command):
    subprocess.run(command, check=True, capture_output=True, text=True)


def there(*command):
    return ["ip", "netns", "exec", PEER, *command]


def ports_at(*where):
    """Addresses and ports with a listener, in a network."""
    listed = subprocess.run([*where, "ss", "-Hltn"], capture_output=True, text=True, check=True).stdout
    return {line.split()[3] for line in listed.splitlines()}


def listeners_at(*where):
    """The inodes of the sockets that listen in a network."""
    listed = subprocess.run([*where, "ss", "-Hltne"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\bino:(\d+)", listed))


def moved_over(interface):
    """Bytes over the interface in both directions."""
    total = 0
    for name in ("rx_bytes", "tx_bytes"):
        with open(f"/sys/class/net/{interface}/statistics/{name}", encoding="ascii") as file:
            total += int(file.read())
    return total


def is_alive(pid):
    """True if the process exists and is not a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def link(name, peer_name, address, peer_address):
    run("ip", "link", "add", name, "type", "veth", "peer", "name", peer_name, "netns", PEER)
    run("ip", "address", "add", f"{address}/24", "dev", name)
    run(*there("ip", "address", "add", f"{peer_address}/24", "dev", peer_name))
    # Every frame as large as it was sent, so that a limit of the link counts what a limit of a cable would.
    for end in (["ip"], there("ip")):
        run(*end, "link", "set", name if end == ["ip"] else peer_name, "mtu", "9000", "up")


def make_networks():
    run("mount", "-t", "tmpfs", "none", "/run")
    run("mount", "-t", "sysfs", "none", "/sys")  # of this network
    run("ip", "netns", "add", PEER)
    for place in ([], there()):
        run(*place, "ip", "link", "set", "lo", "up")
    link("va", "vb", HERE, THERE)
    link("vc", "vd", SECOND_HERE, SECOND_THERE)
    run("ip", "address", "add", f"{STRANGER}/24", "dev", "va")
    run("ip", "address", "add", f"{HERE_6}/64", "dev", "va", "nodad")
    run(*there("ip", "address", "add", f"{THERE_6}/64", "dev", "vb", "nodad"))


class Serving:
    """autopilot-net-probe serve, after it has printed its listener."""

    def __init__(self, *arguments, prefix=(), environment=None):
        self.process = harness.Process([*prefix, PROBE, "serve", *arguments], environment, stdout=subprocess.PIPE)
        self.told = json.loads(self.process.child.stdout.readline())
        self.pid = self.process.child.pid

    def servers(self):
        return harness.children_of(self.pid)

    def wait(self):
        self.process.child.wait(60)
        return self.stop()

    def stop(self, number=signal.SIGTERM):
        code = self.process.stop(number)
        self.process.child.stdout.close()
        return code


class NetProbeCase(unittest.TestCase):
    def setUp(self):
        # The last of all that is done after a test.
        self.addCleanup(lambda: self.assertEqual(ports_at(*there()), set(), "nobody listens after a test"))

    def serve(self, *arguments, **options):
        serving = Serving(*(arguments if "--bind" in arguments else ("--bind", THERE, *arguments)), prefix=there(), **options)
        self.addCleanup(serving.stop)
        return serving

    def iperf3_server(self, *arguments, port=5201):
        server = harness.Process(there("iperf3", "-s", "-p", str(port), *arguments))
        self.addCleanup(server.stop, signal.SIGKILL)
        harness.wait_until(lambda: any(place.endswith(f":{port}") for place in ports_at(*there())), "iperf3 listens")
        return server

    def stand_in(self, script, port=5201):
        """A program in place of iperf3: `client` is the connected peer."""
        text = f"import socket, time\nserver = socket.create_server(('{THERE}', {port}))\nwhile True:\n    client, _ = server.accept()\n"
        server = harness.Process(there(sys.executable, "-c", text + textwrap.indent(script, "    ")))
        self.addCleanup(server.stop, signal.SIGKILL)
        harness.wait_until(lambda: ports_at(*there()), "the stand-in listens")

    def start(self, *arguments):
        return subprocess.Popen([PROBE, "measure", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def measure(self, *arguments, code=0, to=THERE, environment=None):
        """The report of a measurement that ends with the code."""
        quick = [] if "--seconds" in arguments else QUICK
        done = subprocess.run([PROBE, "measure", "--to", to, *quick, *arguments], capture_output=True, text=True, check=False, timeout=120,
                              env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return json.loads(done.stdout)

    def not_measured(self, *arguments, **options):
        """Why, of a measurement that must fail."""
        report = self.measure(*arguments, code=3, **options)
        self.assertEqual(report["directions"], [], "nothing is better than a wrong figure")
        self.assertGreater(len(report["error"]), len(report["reason"]))
        return report["reason"]

    def forbid(self, **rules):
        """Rules of the peer's firewall for `input` and `output`, until they are allowed again or the test ends."""
        run(*there("nft", "add", "table", "inet", "test"))
        self.addCleanup(self.allow)
        for hook, rule in rules.items():
            run(*there("nft", "add", "chain", "inet", "test", hook, f"{{ type filter hook {hook} priority 0 ; }}"))
            run(*there("nft", "add", "rule", "inet", "test", hook, *rule.split()))

    def allow(self):
        subprocess.run(there("nft", "delete", "table", "inet", "test"), capture_output=True, check=False)

    def assert_measured(self, report, *directions):
        self.assertEqual([way["direction"] for way in report["directions"]], list(directions))
        for way in report["directions"]:
            self.assertGreater(way["received_bits_per_second"], 0)
            self.assertGreater(way["sent_bits_per_second"], 0)


def way_of(report, index=0):
    return report["directions"][index]


def main():
    """Runs the tests of the program that is run, inside namespaces."""
    own_namespaces.enter(["--net", "--mount"], ["ip", "tc", "nft", "ss", "setpriv", "iperf3"],
                         ["bash", "-c", "mount -t tmpfs none /run && mount -t sysfs none /sys && ip netns add trial && "
                          "ip link add va type veth peer name vb netns trial && tc qdisc add dev va root tbf rate 1mbit burst 10kb latency 1ms && "
                          "ip netns exec trial nft add table inet trial && ip netns delete trial"])
    unittest.main(verbosity=2)
