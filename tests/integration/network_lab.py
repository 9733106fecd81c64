# SPDX-License-Identifier: Apache-2.0
"""Hosts in network namespaces that are plugged into bridges, with real agents on them, and faults of the network between them.
To be used inside network and mount namespaces of its own (own_namespaces.enter with NAMESPACES and TRIAL)."""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile

import harness

NAMESPACES = ["--net", "--mount"]
PROGRAMS = ["ip", "bash", "nft"]
TRIAL = ["bash", "-c", "mkdir -p /run/netns && mount -t tmpfs none /run/netns && ip netns add trial && "
         "ip link add va type veth peer name vb"]
PORT = 3333
JUMBO = 9000


def text_of(subject):
    return f"{subject['kind']}/{subject['key']}"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def try_to(*command):
    """Ignores objects that exist already, or are missing."""
    return subprocess.run(command, capture_output=True, text=True, check=False)


def limit(interface, megabits, host=None):
    """Limits the rate of sending; without a host it is an interface of the switches."""
    (host.run if host else run)("tc", "qdisc", "replace", "dev", interface, "root", "tbf", "rate", f"{megabits}mbit", "burst", "64kb",
                                "latency", "200ms")


class LabHost:
    """One host: a namespace with an interface at each rail, and an agent when it is started."""

    def __init__(self, lab, number, leaf, families):
        self.lab = lab
        self.number = number
        self.leaf = leaf
        self.families = families
        self.name = f"h{number}"
        self.agent = None
        self.forwarder = None
        self.folder = os.path.join(lab.folder, self.name)
        os.makedirs(self.folder)
        run("ip", "netns", "add", self.name)
        self.run("ip", "link", "set", "lo", "up")
        self.run("sysctl", "-qw", "net.ipv4.ping_group_range=0 2147483647")

    def run(self, *command, **options):
        return run("ip", "netns", "exec", self.name, *command, **options)

    def address(self, rail):
        return f"10.{rail + 1}.0.{self.number}"

    def address6(self, rail):
        return f"fd00:{rail + 1}::{self.number}"

    def interface(self, rail):
        return f"net{rail}"

    def outer(self, rail):
        """The other end of an interface, at its bridge."""
        return f"{self.name}r{rail}"

    def limit_sending(self, rail, megabits):
        limit(self.interface(rail), megabits, self)

    def limit_receiving(self, rail, megabits):
        """Limits the rate at which the switch sends to the host."""
        limit(self.outer(rail), megabits)

    @property
    def peer(self):
        """The address in the format of the agents' peer list."""
        return f"{self.name}=[{self.address6(0)}]:{PORT}" if self.lab.ipv6_only else f"{self.name}={self.address(0)}:{PORT}"

    def plug_in(self, rail):
        inner, outer = self.interface(rail), self.outer(rail)
        run("ip", "link", "add", outer, "mtu", str(JUMBO), "type", "veth", "peer", "name", inner, "mtu", str(JUMBO), "netns", self.name)
        run("ip", "link", "set", outer, "master", self.lab.bridge(rail, self.leaf), "up")
        self.give_addresses(rail)

    def give_addresses(self, rail):
        inner = self.interface(rail)
        if 4 in self.families:
            self.run("ip", "addr", "add", self.address(rail) + "/24", "dev", inner)
        if 6 in self.families:
            self.run("ip", "-6", "addr", "add", self.address6(rail) + "/64", "dev", inner, "nodad")
        self.run("ip", "link", "set", inner, "up")

    def start(self, peers, prefix=(), settings="", network=""):
        """network: further settings of that section."""
        config = os.path.join(self.folder, "config.yaml")
        interfaces = ", ".join(self.interface(rail) for rail in range(self.lab.rails))
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"node: {self.name}\nlisten: ':{PORT}'\n"
                       f"peers: [{', '.join(json.dumps(peer) for peer in peers)}]\n"
                       f"network: {{interfaces: [{interfaces}], leaf: '{self.leaf if self.lab.are_leaves_told else ''}', {network}}}\nping: {{every: 0s}}\n{settings}")
        environment = {**os.environ, "AUTOPILOT_STATE_DIR": os.path.join(self.folder, "state"), "AUTOPILOT_SOCKET": self.socket}
        self.agent = harness.Process(["ip", "netns", "exec", self.name, *prefix, harness.AUTOPILOT, "agent", "--config", config],
                                     environment)

    def findings(self, check):
        """Findings of the last run, as (subject, reason)."""
        return sorted((text_of(finding["subject"]), finding["reason"]) for finding in self.get(f"/v1/checks/{check}")["findings"])

    @property
    def socket(self):
        return os.path.join(self.folder, "run", "agent.sock")

    def wait_ready(self):
        harness.wait_until(lambda: self.agent.find("agent ready") or self.agent.child.poll() is not None, f"the agent of {self.name} is ready")
        if self.agent.child.poll() is not None:
            raise AssertionError(f"the agent of {self.name} ended:\n" + "\n".join(self.agent.log))

    def command(self, *arguments, timeout=60):
        """An autopilot command that asks this host's agent: exit code, standard output, standard error."""
        return harness.run(*arguments, environment={"AUTOPILOT_SOCKET": self.socket}, timeout=timeout)

    def request(self, method, path, body=None):
        connection = harness.UnixConnection(self.socket, 30)
        try:
            connection.request(method, path, body=body)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def get(self, path):
        status, body = self.request("GET", path)
        if status != 200:
            raise AssertionError(f"GET {path} of {self.name}: {status} {body[:500]}")
        return json.loads(body)

    def stop(self):
        for process in (self.agent, self.forwarder):
            if process is not None:
                process.stop()
        self.agent = self.forwarder = None


class HostBehindRouter(LabHost):
    """A host with a router between its only interface and the first switch. The MTU of the router's link can be smaller than its own; only
    the router reports that."""

    ROUTER = 254

    def __init__(self, lab, number, mtu):
        self.mtu = mtu
        self.router = f"router{number}"
        super().__init__(lab, number, "", (4, 6))

    def address(self, rail):
        return f"10.10{rail + 1}.0.{self.number}"

    def address6(self, rail):
        return f"fd00:10{rail + 1}::{self.number}"

    def plug_in(self, rail):
        run("ip", "netns", "add", self.router)
        self.on_router("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        run("ip", "link", "add", self.outer(rail), "mtu", str(JUMBO), "type", "veth", "peer", "name", "near", "mtu", str(JUMBO),
            "netns", self.router)
        run("ip", "link", "set", self.outer(rail), "master", self.lab.bridge(rail), "up")
        run("ip", "link", "add", "far", "mtu", str(JUMBO), "netns", self.router, "type", "veth", "peer", "name", self.interface(rail),
            "mtu", str(JUMBO), "netns", self.name)
        for interface, network, network6 in (("near", f"10.{rail + 1}.0", f"fd00:{rail + 1}"), ("far", f"10.10{rail + 1}.0", f"fd00:10{rail + 1}")):
            self.on_router("ip", "addr", "add", f"{network}.{self.ROUTER}/24", "dev", interface)
            self.on_router("ip", "-6", "addr", "add", f"{network6}::{self.ROUTER}/64", "dev", interface, "nodad")
            self.on_router("ip", "link", "set", interface, "up")
        self.on_router("ip", "link", "set", "far", "mtu", str(self.mtu))
        self.give_addresses(rail)
        self.run("ip", "route", "add", "default", "via", f"10.10{rail + 1}.0.{self.ROUTER}")
        self.run("ip", "-6", "route", "add", "default", "via", f"fd00:10{rail + 1}::{self.ROUTER}")

    def on_router(self, *command):
        return run("ip", "netns", "exec", self.router, *command)

    def set_route(self, host, *more):
        """How another host reaches it, with `more` about the route."""
        host.run("ip", "route", "replace", "10.101.0.0/24", "via", f"10.1.0.{self.ROUTER}", *more)
        host.run("ip", "-6", "route", "replace", "fd00:101::/64", "via", f"fd00:1::{self.ROUTER}", *more)


class Lab:
    """A switch for each rail, and hosts at each of them; with leaves: their switches below it, each with as many hosts, or one for each host.
    ipv6_only: numbers of hosts without an address of IPv4: then agents are known to each other by IPv6. are_leaves_told: agents know theirs.
    Use as a context manager."""

    def __init__(self, hosts, rails=2, leaves=(), ipv6_only=(), are_leaves_told=True):
        self.rails = rails
        self.leaves = leaves
        self.are_leaves_told = are_leaves_told
        self.ipv6_only = ipv6_only
        self.folder = tempfile.mkdtemp(prefix="autopilot-lab-")
        self.hosts = {}
        mount_own_names()
        for rail in range(rails):
            run("ip", "link", "add", self.bridge(rail), "mtu", str(JUMBO), "type", "bridge")
            run("ip", "link", "set", self.bridge(rail), "up")
            for leaf in dict.fromkeys(leaves):
                self.add_leaf(rail, leaf)
        for number in range(1, hosts + 1):
            self.add(number, leaves[(number - 1) * len(leaves) // hosts] if leaves else "", (6,) if number in ipv6_only else (4, 6))

    def bridge(self, rail, leaf=""):
        return f"rail{rail}{leaf}"

    def uplink(self, rail, leaf):
        """Its end at the switch of the leaf, and the one above."""
        return f"up{rail}{leaf}", f"down{rail}{leaf}"

    def add_leaf(self, rail, leaf):
        end, above = self.uplink(rail, leaf)
        run("ip", "link", "add", self.bridge(rail, leaf), "mtu", str(JUMBO), "type", "bridge")
        run("ip", "link", "add", end, "mtu", str(JUMBO), "type", "veth", "peer", "name", above, "mtu", str(JUMBO))
        run("ip", "link", "set", end, "master", self.bridge(rail, leaf), "up")
        run("ip", "link", "set", above, "master", self.bridge(rail), "up")
        run("ip", "link", "set", self.bridge(rail, leaf), "up")

    def limit_lines(self, rail, megabits):
        """The links of all hosts, in both directions."""
        for host in self.hosts.values():
            host.limit_sending(rail, megabits)
            host.limit_receiving(rail, megabits)

    def limit_uplink(self, rail, leaf, megabits):
        for end in self.uplink(rail, leaf):
            limit(end, megabits)

    def add(self, number, leaf="", families=(4, 6)):
        host = LabHost(self, number, leaf, families)
        self.hosts[number] = host
        for rail in range(self.rails):
            host.plug_in(rail)
        return host

    def add_behind_router(self, number, mtu):
        """All earlier hosts get a route to it."""
        host = HostBehindRouter(self, number, mtu)
        host.plug_in(0)
        for other in self.hosts.values():
            host.set_route(other)
        self.hosts[number] = host
        return host

    def __getitem__(self, number):
        return self.hosts[number]

    def peers(self):
        return [host.peer for host in self.hosts.values()]

    def start(self, **options):
        for host in self.hosts.values():
            host.start(self.peers(), **options)
        for host in self.hosts.values():
            host.wait_ready()

    def close(self):
        for host in self.hosts.values():
            host.stop()
            try_to("ip", "netns", "del", host.name)
            try_to("ip", "netns", "del", getattr(host, "router", ""))
            for rail in range(self.rails):
                try_to("ip", "link", "del", host.outer(rail))
        for rail in range(self.rails):
            for leaf in self.leaves:
                try_to("ip", "link", "del", self.uplink(rail, leaf)[0])
                try_to("ip", "link", "del", self.bridge(rail, leaf))
            try_to("ip", "link", "del", self.bridge(rail))
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@functools.cache
def mount_own_names():
    """Names of namespaces that no other process sees, whatever is mounted there already."""
    os.makedirs("/run/netns", exist_ok=True)
    run("mount", "-t", "tmpfs", "none", "/run/netns")


def lose(host, every, rule=""):
    """Drops every Nth packet that the host receives."""
    host.run("nft", "add table inet lab; add chain inet lab lose { type filter hook input priority 0; }; "
             f"add rule inet lab lose {rule} numgen inc mod {every} 0 drop")


def refuse(host, rule):
    """The host answers matching packets like a router without a route to it."""
    host.run("nft", "add table inet lab; add chain inet lab refuse { type filter hook input priority 0; }; "
             f"add rule inet lab refuse {rule} reject with icmp type host-unreachable")


def stop_losing(host):
    host.run("nft", "delete", "table", "inet", "lab")


def begin_forwarder(host, rail, *faults):
    """Replaces the cable by a program that forwards frames late, twice or out of order (frame_forwarder.py)."""
    run("ip", "link", "del", host.outer(rail))
    inner, outer = host.interface(rail), host.outer(rail)
    here = os.path.join(os.path.dirname(__file__), "frame_forwarder.py")
    host.forwarder = harness.Process([sys.executable, "-B", here, host.name, inner, outer, *faults])
    harness.wait_until(lambda: host.forwarder.find("forwarding") or host.forwarder.child.poll() is not None, "the forwarder is ready")
    if not host.forwarder.find("forwarding"):
        raise AssertionError("the forwarder ended:\n" + "\n".join(host.forwarder.log))
    run("ip", "link", "set", outer, "mtu", str(JUMBO), "master", host.lab.bridge(rail, host.leaf), "up")
    host.run("ip", "link", "set", inner, "mtu", str(JUMBO))
    host.give_addresses(rail)


def call_it(host, rail, megabits):
    """Sets the rate that the kernel of the host reports for a link with a forwarder; no other link accepts a rate."""
    here = os.path.join(os.path.dirname(__file__), "line_rate.py")
    host.run(sys.executable, "-B", here, host.interface(rail), str(megabits))


def end_forwarder(host, rail):
    """The cable is back."""
    host.forwarder.stop()
    host.forwarder = None
    host.plug_in(rail)
