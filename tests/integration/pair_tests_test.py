#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`autopilot test network.bandwidth` over eight hosts with real agents and the real network probe: a healthy fabric gives no suspect, a
planted slow line is named. Every line has the same limit, far below what the machine carries, so that all pairs of a round fit in."""

import json
import os
import re
import signal
import tempfile
import unittest

import harness
import network_lab
import own_namespaces

HOSTS = 8
RAIL = 0
LINE = 40  # Mbit/s of every line
SLOW = 24
CHECK = "network.bandwidth"
OPEN = "compat: {open_actions: true}\n"


class PairTestsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.need_program("tc")
        if harness.is_sanitized(harness.AUTOPILOT):
            raise unittest.SkipTest("eight agents with sanitizers are too much for two processors; bandwidth_test has two")
        cls.lab = network_lab.Lab(hosts=HOSTS, rails=1)
        cls.addClassCleanup(cls.lab.close)
        cls.lab.limit_lines(RAIL, LINE)
        # Every client that reaches an agent's port can start tests: these hosts have no certificates, and no other client reaches them.
        cls.lab.start(settings=OPEN)

    def measure(self, host, *words, codes=(0, 1)):
        """Output of the verb, and the new findings of the check."""
        code, out, err = host.command("network", "test", *words, timeout=240)
        self.assertIn(code, codes, out + err)
        self.said = out + err
        return out, host.findings(CHECK)

    def suspect(self, host, subject):
        [found] = [one for one in host.get(f"/v1/checks/{CHECK}")["findings"] if network_lab.text_of(one["subject"]) == subject]
        return found["evidence"]

    def test_a_healthy_fabric_gives_no_suspect(self):
        host = self.lab[1]
        shown, found = self.measure(host)
        self.assertEqual(found, [], self.said)
        self.assertIn("net0, Gbit/s\nFROM \\ TO  1     2 ", shown)
        self.assertIn("Suspects: none\n", shown)
        self.assertIn("no suspect found", shown)
        self.assertIn("network.bandwidth: round 1: 4 pairs are measured", self.said)
        measured = [one for one in host.get(f"/v1/checks/{CHECK}")["observations"] if one["name"] == "bandwidth.received"]
        self.assertEqual({one["attributes"]["source"] for one in measured}, {host.name for host in self.lab.hosts.values()})
        for one in measured:
            self.assertAlmostEqual(one["value"] / (LINE * 1e6), 0.99, delta=0.05)  # without headers

    def test_slow_interfaces_are_named_with_their_direction_and_a_dead_agent_is_left_out(self):
        slow, deaf, dead = self.lab[5], self.lab[2], self.lab[8]
        for limit in (slow.limit_sending, slow.limit_receiving, deaf.limit_receiving):
            limit(RAIL, SLOW)
            self.addCleanup(limit, RAIL, LINE)
        dead.stop()
        self.addCleanup(self.start_again, dead)
        host = self.lab[3]
        shown, found = self.measure(host, codes=(3,))
        self.assertEqual(found, [("nic_port/h2:net0", "nic_slower_than_others"), ("nic_port/h5:net0", "nic_slower_than_others"),
                                 ("peer/h8", "could_not_look")], self.said)
        self.assertRegex(shown, r"\nNOT TESTED +REASON\npeer/h8 ")
        self.assertIn("without h8", " ".join(self.said.split()))
        self.assertEqual(self.suspect(host, "nic_port/h2:net0")["kind"], "nic_receives")
        self.assertEqual(self.suspect(host, "nic_port/h5:net0")["kind"], "nic")
        self.assertIn("\nSUSPECT", shown)
        self.assertIn("nic_port/h5:net0", shown)

    def test_every_pair_is_tested_where_that_is_wanted(self):
        host = self.lab[6]
        self.start_again(host, network="all_pairs: true")
        self.addCleanup(self.start_again, host)
        nodes = ("--nodes", "h1,h2,h3,h4,h6")
        code, plan, err = host.command("network", "test", "--plan", *nodes)
        self.assertEqual(code, 0, plan + err)
        self.assertIn("All pairs are tested, in 5 rounds of about ", plan)
        shown, found = self.measure(host, *nodes)
        self.assertEqual(found, [], self.said)
        self.assertIn("network.bandwidth: round 5: 2 pairs are measured", self.said)
        rows = re.findall(r"\n\d h\d +(.*)", shown)
        self.assertEqual(len(rows), 5, shown)
        for row in rows:
            self.assertEqual(len([rate for rate in row.split() if rate not in ("-", ".", "?")]), 4, shown)

    def start_again(self, host, **options):
        host.stop()
        host.start(self.lab.peers(), settings=OPEN, **options)
        host.wait_ready()

    def plant_slow(self, host):
        """A first round shows that a pair is slow, and a second round must find the culprit of the two."""
        for limit in (host.limit_sending, host.limit_receiving):
            limit(RAIL, SLOW)
            self.addCleanup(limit, RAIL, LINE)

    def check_is_not_complete(self, host, shown):
        """How many tests of a run that was ended were measured."""
        self.assertIn("net0, Gbit/s\nFROM \\ TO  1     2 ", shown)
        told = re.search(r"\nNOT COMPLETE: the test was ended before it was complete: (\d+) of (\d+) ", shown)
        self.assertTrue(told, shown)
        pairs, tests = map(int, told.groups())
        self.assertGreater(pairs, 0, shown)
        self.assertLess(pairs, tests, shown)
        result = host.get(f"/v1/checks/{CHECK}")
        self.assertEqual(result["health"], "unknown", result["findings"])
        measured = [one for one in result["observations"] if one["name"] == "bandwidth.received" and one.get("value") is not None]
        self.assertEqual(len(measured), 2 * pairs, "both ways of each")
        self.wait_idle()
        return pairs

    def test_at_its_deadline_a_run_tells_what_was_measured_until_then(self):
        self.plant_slow(self.lab[5])
        host = self.lab[4]
        code, plan, err = host.command("network", "test", "--plan", "-o", "json")
        self.assertEqual(code, 0, plan + err)
        deadline = 1.5 * json.loads(plan)["firstRoundSeconds"]
        code, out, err = host.command("network", "test", "--deadline", f"{deadline:.0f}s", timeout=120)
        self.assertEqual(code, 3, out + err)
        self.assertIn("timed_out", out)
        self.assertNotIn("round 3", err)
        self.check_is_not_complete(host, out)

    def test_who_ends_a_run_sees_what_was_measured_until_then(self):
        self.plant_slow(self.lab[5])
        host = self.lab[2]
        with tempfile.TemporaryFile("w+") as shown:
            verb = harness.Process([harness.AUTOPILOT, "network", "test"], {**os.environ, "AUTOPILOT_SOCKET": host.socket}, shown)
            harness.wait_until(lambda: verb.find("round 2: "), "the second round begins", 120)
            self.assertEqual(verb.stop(signal.SIGINT), 3, verb.log)
            shown.seek(0)
            out = shown.read()
        self.assertIn("cancelled by ", out)
        self.assertEqual(self.check_is_not_complete(host, out), HOSTS / 2, "the pairs of the first round")
        self.assertRegex(out, r"\n5 h5 .* \?")  # a pair whose test was running
        self.assertRegex(out, r"\nlink/h\d/net0\|h\d/net0 +undecided ")
        self.assertEqual({reason for _, reason in host.findings(CHECK)}, {"could_not_look"}, "nobody is named for what was not measured")

    def is_listening(self, host):
        """True if the host listens for a test, besides its agent."""
        return any(not line.split()[3].endswith(f":{network_lab.PORT}") for line in host.run("ss", "-Hltn").splitlines())

    def wait_idle(self):
        harness.wait_until(lambda: not any(map(self.is_listening, self.lab.hosts.values())), "nobody listens", 10)

    def test_a_run_that_is_interrupted_leaves_nothing_in_use(self):
        host = self.lab[7]
        verb = harness.Process([harness.AUTOPILOT, "network", "test"], {**os.environ, "AUTOPILOT_SOCKET": host.socket})
        harness.wait_until(lambda: any(map(self.is_listening, self.lab.hosts.values())), "a pair is measured")
        self.assertEqual(verb.stop(signal.SIGINT), 3, verb.log)
        # Each would go on for 36 seconds and more.
        self.wait_idle()

        def is_measured_at_once():
            self.measure(host, "--nodes", "h1,h2,h3")
            return "again" not in self.said
        # An agent takes a moment to see that what listened has ended; one run takes ten seconds and more.
        harness.wait_until(is_measured_at_once, "the lines of h1 and h2 are not in use", 60)

    def test_the_nodes_can_be_named(self):
        host = self.lab[6]
        code, out, err = host.command("network", "test", "--nodes", "h1,h4", "-o", "json", timeout=120)
        self.assertEqual(code, 3, "with one pair there is nothing to compare: " + out + err)
        [test] = json.loads(out)["items"]
        self.assertEqual([one["message"] for one in test["result"]["findings"]], ["too few pairs to compare them"])
        self.assertEqual(sorted(one["key"] for one in test["operation"]["reservation"]), ["h1", "h4"])
        measured = [one for one in test["result"]["observations"] if one["name"] == "bandwidth.received"]
        self.assertEqual({one["attributes"]["source"] for one in measured}, {"h1", "h4"})

    def test_a_plan_tests_nothing(self):
        host = self.lab[6]
        code, out, err = host.command("network", "test", "--plan", "-o", "json", "--nodes", "h1,h4,h6")
        self.assertEqual(code, 0, out + err)
        plan = json.loads(out)
        self.assertEqual(plan["rails"], [{"rail": "net0", "nodes": ["h1", "h4", "h6"]}])
        [pair] = plan["firstRound"]
        self.assertLessEqual({pair["source"], pair["destination"]}, {"h1", "h4", "h6"})
        self.assertEqual(plan["leftOut"], [])
        code, out, err = host.command("network", "test", "--plan")
        self.assertEqual(code, 0, out + err)
        self.assertIn("net0  8 ", out)
        self.assertIn("Nothing was measured.", out)
        self.assertFalse(any(map(self.is_listening, self.lab.hosts.values())))

    def test_it_is_tested_again_until_somebody_ends_it(self):
        host = self.lab[7]
        with tempfile.TemporaryFile("w+") as shown:
            verb = harness.Process([harness.AUTOPILOT, "network", "test", "--watch", "--nodes", "h1,h4,h6"],
                                   {**os.environ, "AUTOPILOT_SOCKET": host.socket}, shown)
            harness.wait_until(lambda: sum("started as" in line for line in verb.log) == 2, "the second test begins", 120)
            self.assertEqual(verb.stop(signal.SIGINT), 0, verb.log)
            shown.seek(0)
            self.assertIn("Suspects: none", shown.read())
        self.wait_idle()

    def test_named_nodes_are_pinged(self):
        host = self.lab[6]
        code, out, err = host.command("network", "test", "--kind", "ping", "--nodes", "h1,h4", "-o", "json")
        self.assertEqual(code, 0, out + err)
        [test] = json.loads(out)["items"]
        self.assertEqual({one["subject"]["key"] for one in test["result"]["observations"] if one["subject"]["kind"] == "peer"}, {"h1", "h4"})

    def test_what_makes_no_sense_is_refused(self):
        host = self.lab[6]
        for words, code, why in ((["--nodes", "h1"], 64, "name two or more"),
                                 (["--kind", "smoke"], 64, "--kind"),
                                 (["--kind", "ping", "--plan"], 64, "--plan"),
                                 (["--watch", "--node", "h1"], 64, "--watch"),
                                 (["--plan", "--nodes", "h1,nobody"], 64, "no agent is known on a node nobody"),
                                 (["--plan", "--nodes", "h1"], 70, "pair"),
                                 (["--job", "train"], 64, "NAMESPACE:SELECTOR"),
                                 (["--nodes", "h1,nobody"], 3, "no agent is known on a node nobody")):
            with self.subTest(words):
                got, out, err = host.command("network", "test", *words)
                self.assertEqual(got, code, out + err)
                self.assertIn(why, out + err)


class FastLinesTest(unittest.TestCase):
    """Lines that one process cannot fill, by the word of the kernel: a program carries their frames."""
    FAST = 50_000  # Mbit/s

    def setUp(self):
        self.lab = network_lab.Lab(hosts=2, rails=1)
        self.addCleanup(self.lab.close)
        for host in self.lab.hosts.values():
            network_lab.begin_forwarder(host, RAIL)
            self.addCleanup(host.forwarder.stop)
            network_lab.call_it(host, RAIL, self.FAST)
        self.lab.start(settings=OPEN)

    def listening(self, host):
        """Ports, beside that of its agent."""
        return {port for line in host.run("ss", "-Hltn").splitlines()
                if (port := line.split()[3].rpartition(":")[2]) != str(network_lab.PORT)}

    def test_a_pair_is_measured_by_several_processes(self):
        host = self.lab[1]
        verb = harness.Process([harness.AUTOPILOT, "network", "test"], {**os.environ, "AUTOPILOT_SOCKET": host.socket})
        harness.wait_until(lambda: max(len(self.listening(one)) for one in self.lab.hosts.values()) == 3, "three processes listen")
        harness.wait_until(lambda: verb.child.poll() is not None, "the test has ended", 120)
        measured = [one for one in host.get(f"/v1/checks/{CHECK}")["observations"] if one["name"] == "bandwidth.received"]
        self.assertEqual(len(measured), 2, verb.log)
        for one in measured:
            self.assertGreater(one["value"], 1e6, one)


if __name__ == "__main__":
    own_namespaces.enter(network_lab.NAMESPACES, [*network_lab.PROGRAMS, "tc"], network_lab.TRIAL)
    unittest.main(verbosity=2)
