# SPDX-License-Identifier: Apache-2.0
"""Log rules of the operator: in files, against a fed kernel log and against logs that were written down."""

import json
import pathlib
import subprocess
import tempfile
import time
import unittest

import harness
from fed_kernel_log import FedKernelLog

RULES = """log_rules:
  - id: array.battery
    pattern: 'raid (?P<device>\\S+): battery (?P<state>low|dead)'
    title: Replace the battery of the array
    subject: disk
    health: degraded
    examples: ['raid md9: battery low']
  - id: array.battery_new
    pattern: 'raid (?P<device>\\S+): battery good'
    title: The battery of the array is good
    subject: disk
    takes_back: [array.battery]
  - id: array.noise
    pattern: 'raid \\S+: patrol read'
    title: The array reads itself
"""


KERNEL, USER = 4, 12  # facility * 8 + level


def log_of(*lines):
    return "".join(f"4,{number},{number * 1000000},-;{text}\n" for number, text in enumerate(lines))


class LogRulesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-rules-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rules = self.write("rules.yaml", RULES)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def config(self, *files, **more):
        return self.write("config.yaml", json.dumps({"log_rules": list(files), "state_dir": str(self.folder), **more}))

    def autopilot(self, *arguments, text=None):
        return subprocess.run([harness.AUTOPILOT, *arguments], input=text, capture_output=True, text=True, timeout=60,
                              check=False)

    def decode(self, text, *files):
        answer = self.autopilot("decode", "-o", "json", *(word for file in files for word in ("--rules", file)), text=text)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return [json.loads(line) for line in answer.stdout.splitlines()]

    def look(self, priority, *lines):
        """Exit code and the result of the check, on a machine whose kernel log ends with these lines."""
        tree = self.folder / "machine"
        subprocess.run([harness.AUTOPILOT_SIM, "create", "no-gpu", "--now", "--out", str(tree)], check=True,
                       stdout=subprocess.DEVNULL)
        with open(tree / "kmsg.jsonl", "a", encoding="utf-8") as log:
            for text in lines:
                log.write(json.dumps({"prio": priority, "time": time.monotonic(), "text": text}) + "\n")
        answer = self.autopilot("check", "custom.log_rules", "--root", str(tree), "--config", self.config(self.rules),
                                "-o", "json")
        return answer.returncode, json.loads(answer.stdout)["results"][0]

    def test_decode_tries_rules_on_a_log(self):
        text = log_of("raid md0: battery low", "raid md0: patrol read", "nothing")
        found = self.decode(text, self.rules)
        self.assertEqual([(one["kind"], one["rule"], one["line"]) for one in found],
                         [("other", "array.battery", 1), ("other", "array.noise", 2)])
        self.assertEqual((found[0]["device"], found[0]["state"]), ("md0", "low"))
        self.assertEqual(self.decode(text), [])

    def test_a_line_with_health_is_a_finding_about_its_device_and_another_takes_it_back(self):
        code, result = self.look(KERNEL, "raid md0: battery low", "raid md1: battery dead", "raid md1: battery good",
                                 "raid md0: patrol read")
        self.assertEqual(code, 1)
        self.assertEqual([(one["subject"]["key"], one["reason"]) for one in result["findings"]],
                         [("md0", "log_rule_degraded")])
        self.assertIn("Replace the battery of the array", result["findings"][0]["message"])

    def test_a_line_is_seen_without_waiting_for_the_next_round(self):
        config = self.config(self.rules, checks={"custom.log_rules": {"period": "1d"}})
        with FedKernelLog() as log, harness.Agent("--root", log.tree, "--config", config) as agent:
            agent.wait_ready()
            self.assertEqual(agent.result("custom.log_rules")["health"], "healthy")
            log.write("raid md0: battery low")
            harness.wait_until(lambda: agent.result("custom.log_rules")["health"] == "degraded", "the line is judged")

    def test_what_a_program_wrote_never_acts(self):
        code, result = self.look(USER, "raid md0: battery low")
        self.assertEqual((code, result["health"]), (0, "healthy"))

    def test_problems_are_named_with_file_and_line(self):
        bad = self.write("bad.yaml", "log_rules:\n  - id: array.x\n    pattern: '('\n    title: t\n"
                                     "  - id: gpu.off_bus\n    pattern: x\n    title: t\n    helth: failed\n"
                                     "  - {id: array.y, pattern: abc, title: t, examples: [abd], takes_back: [array.z]}\n")
        for arguments in (("check", "--config", self.config(bad)), ("decode", "--rules", bad, "/dev/null"),
                          ("agent", "--config", self.config(bad), "--listen", "127.0.0.1:0")):
            answer = self.autopilot(*arguments)
            self.assertEqual(answer.returncode, 78, arguments)
            for part in (f"{bad}:3: `pattern`: missing )", f"{bad}:5: `id`: `gpu.off_bus` belongs",
                         f"{bad}:8: log rule: unknown key `helth`; did you mean `health`?", f"{bad}:9: `examples`"):
                self.assertIn(part, answer.stderr, arguments)

    def refusal(self, text):
        bad = self.write("bad.yaml", text)
        for arguments in (("check", "--config", self.config(bad)), ("decode", "--rules", bad, "/dev/null"),
                          ("agent", "--config", self.config(bad), "--listen", "127.0.0.1:0")):
            answer = self.autopilot(*arguments)
            self.assertEqual(answer.returncode, 78, (arguments, answer.stderr))
        return answer.stderr.replace(bad, "FILE")

    def test_rules_that_need_too_much_memory_are_refused_where_the_first_too_many_stands(self):
        many = "".join(f"  - {{id: a.b{i}, title: t, pattern: 'start{i} .{{0,1000}} end{i}'}}\n" for i in range(128))
        self.assertRegex(self.refusal("log_rules:\n" + many), r"FILE:\d+: `pattern`: with `a\.b\d+` all rules together")
        self.assertIn("FILE:2: `pattern`: ", self.refusal(
            "log_rules:\n  - {id: a.b, title: t, pattern: '((a{0,100}){0,100}){0,100}'}\n"))

    def test_a_pattern_is_tried_on_bytes_as_it_will_be_matched(self):
        self.assertIn("FILE:2: `pattern`: ", self.refusal("log_rules:\n  - {id: a.b, title: t, pattern: '\\x{100}'}\n"))

    def test_the_action_of_a_rule_is_that_of_its_finding(self):
        self.rules = self.write("rules.yaml", RULES.replace("health: degraded", "health: failed\n    action: replace"))
        code, result = self.look(KERNEL, "raid md0: battery low")
        self.assertEqual((code, result["findings"][0]["action"]), (2, "replace"))

    def test_a_line_that_another_check_knows_counts_as_well(self):
        line = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus."
        self.rules = self.write("rules.yaml", "log_rules:\n  - id: own.xid\n    title: Call the night shift\n"
                                              "    pattern: 'Xid .*: 79,'\n    health: degraded\n")
        code, result = self.look(KERNEL, line)
        self.assertEqual((code, [one["reason"] for one in result["findings"]]), (1, ["log_rule_degraded"]))
        self.assertEqual([one["rule"] for one in self.decode(log_of(line), self.rules)], ["xid.79", "own.xid"])

    def test_a_missing_file_and_a_check_without_rules_are_configuration_errors(self):
        answer = self.autopilot("check", "--config", self.config("/nonexistent/rules.yaml"))
        self.assertEqual(answer.returncode, 78)
        self.assertIn("cannot read log rules /nonexistent/rules.yaml", answer.stderr)
        answer = self.autopilot("check", "--config", self.config(required_checks=["custom.log_rules"]))
        self.assertEqual(answer.returncode, 78)
        self.assertIn("`log_rules` is empty", answer.stderr)


if __name__ == "__main__":
    unittest.main()
