# SPDX-License-Identifier: Apache-2.0
"""How findings go away again: a reset, a reboot, a card in another slot, another card, a person."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
from fed_kernel_log import FedKernelLog

MACHINE = "hgx-h100-8"


def look(agent, check):
    """A fresh result of a check: the findings, each by its reason and the key of its subject."""
    status, body = agent.request("POST", f"/v1/checks/{check}", unix=True, timeout=60)
    assert status == 200, body
    return {(one["reason"], one["subject"]["key"]): one for one in json.loads(body)["findings"]}


def wait_for(agent, check, reason, gpu):
    return harness.wait_until(lambda: look(agent, check).get((reason, gpu)), f"{check} says {reason}", 60)


def wait_without(agent, check, reason, gpu):
    harness.wait_until(lambda: (reason, gpu) not in look(agent, check), f"{reason} of {check} is gone", 60)


def slots(agent):
    """The PCI addresses of the GPUs, in the driver's order."""
    return sorted({one["subject"]["key"] for one in agent.result("gpu.row_remap")["observations"]})


def state(agent, check, gpu):
    """The result of a new run of a check for a GPU."""
    look(agent, check)
    states = [one.get("value") for one in agent.result(check)["observations"]
              if one["name"] == "gpu.state" and one["subject"]["key"] == gpu]
    return states[0] if states else None


def replace(path, text):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".new", path)


def events(agent):
    return json.loads(agent.request("GET", "/v1/events", headers={"Accept": "application/json"})[1])["items"]


def inject(agent, *arguments):
    code, _, errors = harness.run("inject", *arguments, "--socket", agent.socket)
    assert code == 0, errors


class OneBootTest(unittest.TestCase):
    def test_a_reset_ends_what_waits_for_it_on_that_gpu_alone(self):
        with harness.Agent("--simulate", MACHINE) as agent:
            agent.wait_ready()
            inject(agent, "row_remap_pending", "--subject", "gpu/2")
            inject(agent, "xid", "--subject", "gpu/2", "--magnitude", "95")
            inject(agent, "row_remap_pending", "--subject", "gpu/5")
            reset, other = slots(agent)[2], slots(agent)[5]
            for gpu in (reset, other):
                wait_for(agent, "gpu.xid", "xid_memory", gpu)
                wait_for(agent, "gpu.row_remap", "row_remap_pending", gpu)
            inject(agent, "gpu_reset", "--subject", "gpu/2")
            wait_without(agent, "gpu.xid", "xid_memory", reset)
            wait_without(agent, "gpu.row_remap", "row_remap_pending", reset)
            self.assertIn(("xid_memory", other), look(agent, "gpu.xid"))
            left = look(agent, "gpu.row_remap")[("row_remap_pending", other)]
            self.assertIn("reset", left["clearsWhen"])
            closed = harness.wait_until(
                lambda: [one for one in events(agent) if one["kind"] == "incident_closed"], "an incident is closed")
            self.assertEqual({one["details"]["closedBy"] for one in closed}, {"gpu_reset"})

    def test_a_reset_that_no_line_tells_is_seen_by_whichever_checks_look(self):
        with FedKernelLog() as log, tempfile.TemporaryDirectory(prefix="autopilot-test-") as folder:
            with harness.Agent("--root", log.tree, folder=folder) as agent:
                agent.wait_ready()
                gpu = slots(agent)[2]
                log.write(f"NVRM: Xid (PCI:{gpu[:-2]}): 95, pid=4200, name=python3, Uncontained: LTC TAG (0x2, 0x1). "
                          "RST: Yes, D-RST: No")
                wait_for(agent, "gpu.xid", "xid_memory", gpu)
                path = os.path.join(log.tree, "nvml.yaml")
                with open(path, encoding="utf-8") as file:
                    whole = file.read()
                without = re.sub(rf'(?ms)^  "{re.escape(gpu)}":\n.*?(?=^  "|^\S|\Z)', "", whole)
                self.assertNotEqual(without, whole)
                # One check finds it lost, another one well again.
                replace(path, without)
                harness.wait_until(lambda: state(agent, "gpu.ecc", gpu) == "lost", "gpu.ecc finds it lost", 60)
                replace(path, whole)
                harness.wait_until(lambda: state(agent, "gpu.throttle", gpu) == "ok", "gpu.throttle finds it well", 60)
                wait_without(agent, "gpu.xid", "xid_memory", gpu)
            with harness.Agent("--root", log.tree, folder=folder) as agent:
                agent.wait_ready()
                self.assertNotIn(("xid_memory", gpu), look(agent, "gpu.xid"), "the log is read again")

    def test_what_is_held_says_when_it_clears(self):
        with harness.Agent("--simulate", MACHINE) as agent:
            agent.wait_ready()
            inject(agent, "row_remap_failed", "--subject", "gpu/2", "--for", "2s")
            sick = ("row_remap_failed", slots(agent)[2])
            wait_for(agent, "gpu.row_remap", *sick)
            held = harness.wait_until(lambda: (lambda found: found if found and found.get("held") else None)(
                look(agent, "gpu.row_remap").get(sick)), "the finding is held", 60)
            self.assertGreaterEqual(held["lastSeen"], held["since"])
            _, table, _ = harness.run("status", "--all", "--socket", agent.socket)
            self.assertIn("clears when the part is replaced (another serial number)", " ".join(table.split()))
            self.assertLessEqual(max(map(len, table.splitlines())), 80)


class AcknowledgeTest(unittest.TestCase):
    def acknowledge(self, agent, *arguments):
        return harness.run("ack", *arguments, "--socket", agent.socket)

    def test_an_operator_says_why_and_it_is_remembered(self):
        folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        with harness.Agent("--simulate", MACHINE, folder=folder) as agent:
            agent.wait_ready()
            inject(agent, "row_remap_failed", "--subject", "gpu/2")
            wait_for(agent, "gpu.row_remap", "row_remap_failed", slots(agent)[2])
            incident = agent.node()["incidents"][0]["id"]
            path = f"/v1/incidents/{incident}/ack"
            self.assertEqual(agent.request("POST", path, '{"reason": "x"}')[0], 403, "over TCP")
            self.assertEqual(agent.request("POST", path, unix=True)[0], 400, "without a reason")
            self.assertEqual(self.acknowledge(agent, incident)[0], 64)
            self.assertEqual(self.acknowledge(agent, incident, "--reason", " ")[0], 64)
            self.assertEqual(self.acknowledge(agent, "../node", "--reason", "x")[0], 64)
            code, _, errors = self.acknowledge(agent, "00000000-99", "--reason", "x")
            self.assertEqual(code, 70)
            self.assertIn("no open incident 00000000-99", errors)

            code, out, errors = self.acknowledge(agent, incident, "--reason", "card ordered", "-o", "json")
            self.assertEqual(code, 0, errors)
            answer = json.loads(out)
            self.assertTrue(answer["durable"])
            self.check(answer)
            self.check(agent.node()["incidents"][0])
            told = [one for one in events(agent) if one["kind"] == "acknowledged"]
            self.assertEqual(len(told), 1)
            self.assertEqual(told[0]["details"]["incident"], incident)
            self.assertEqual(told[0]["details"]["why"], "card ordered")
            self.assertGreater(told[0]["details"]["pid"], 0)
            self.assertEqual(agent.process.stop(harness.signal.SIGKILL), -harness.signal.SIGKILL)
        with harness.Agent("--simulate", MACHINE, folder=folder) as agent:
            self.check(harness.wait_until(lambda: agent.node()["incidents"], "the incident is back")[0])
            _, page, _ = harness.run("status", "--socket", agent.socket)
            self.assertRegex(" ".join(page.split()), r"Acknowledged by .*uid \d+\): card ordered")

    def check(self, incident):
        self.assertTrue(incident["acknowledged"])
        self.assertIn(f"uid {os.getuid()}", incident["acknowledgedBy"])
        self.assertEqual(incident["acknowledgeReason"], "card ordered")
        self.assertGreaterEqual(incident["acknowledgedAt"], incident["opened"])


class BootsTest(unittest.TestCase):
    """One node over several boots: each is a machine tree, the state folder stays."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.boots = 0

    def boot(self, *changes):
        """The next boot of the machine with these changes."""
        self.boots += 1
        tree = os.path.join(self.folder, f"boot{self.boots}")
        subprocess.run([harness.AUTOPILOT_SIM, "create", MACHINE, "--out", tree], check=True, stdout=subprocess.DEVNULL)
        for change, subject in changes:
            subprocess.run([harness.AUTOPILOT_SIM, "inject", tree, change, "--subject", subject], check=True,
                           stdout=subprocess.DEVNULL)
        number = f"{self.boots:08x}-0000-4000-8000-000000000000"
        for name, pattern, text in (("machine.yaml", r"(?m)^boot_id: .*$", f"boot_id: {number}"),
                                    ("root/proc/sys/kernel/random/boot_id", r".+", number)):
            path = os.path.join(tree, name)
            with open(path, encoding="utf-8") as file:
                changed, times = re.subn(pattern, text, file.read())
            self.assertEqual(times, 1, path)
            with open(path, "w", encoding="utf-8") as file:
                file.write(changed)
        return tree

    def start(self, tree):
        agent = harness.Agent("--root", tree, folder=os.path.join(self.folder, "state"))
        self.addCleanup(agent.close)
        agent.wait_ready()
        return agent

    def test_faults_over_restart_reboot_another_slot_and_another_card(self):
        sick = self.boot(("row_remap_failed", "gpu/2"), ("row_remap_pending", "gpu/5"))
        agent = self.start(sick)
        gpus = slots(agent)
        failed = wait_for(agent, "gpu.row_remap", "row_remap_failed", gpus[2])
        wait_for(agent, "gpu.row_remap", "row_remap_pending", gpus[5])
        found = set(look(agent, "gpu.row_remap"))
        incidents = {one["id"] for one in agent.node()["incidents"]}
        agent.process.stop()

        agent = self.start(sick)
        self.assertEqual(set(look(agent, "gpu.row_remap")), found, "a restart ends nothing")
        self.assertEqual({one["id"] for one in agent.node()["incidents"]}, incidents)
        agent.process.stop()

        agent = self.start(self.boot())
        wait_without(agent, "gpu.row_remap", "row_remap_pending", gpus[5])
        held = look(agent, "gpu.row_remap")[("row_remap_failed", gpus[2])]
        self.assertTrue(held["held"], "a reboot does not heal the card")
        agent.process.stop()

        agent = self.start(self.boot(("card_swapped", "gpu/2")))
        moved = look(agent, "gpu.row_remap")[("row_remap_failed", gpus[3])]
        self.assertEqual(moved["subject"]["serial"], failed["subject"]["serial"], "the finding follows its card")
        agent.process.stop()

        agent = self.start(self.boot(("card_swapped", "gpu/2"), ("card_replaced", "gpu/3")))
        wait_without(agent, "gpu.row_remap", "row_remap_failed", gpus[3])
        harness.wait_until(lambda: [one for one in events(agent) if one["kind"] == "finding_cleared" and
                                    one["reason"] == "row_remap_failed" and
                                    one["details"]["clearRule"] == "replaced"], "the replacement is told")


if __name__ == "__main__":
    unittest.main()
