# SPDX-License-Identifier: Apache-2.0
"""`autopilot explain` of anything that the program prints, and of a machine."""

import json
import os
import unittest

import harness


def explained(*words, code=0):
    answer = harness.run("explain", *words)
    assert answer[0] == code, answer
    return answer[1] if code == 0 else answer[2]


class WordsTest(unittest.TestCase):
    def test_an_error_of_a_driver_is_found_by_each_spelling(self):
        for words in (("79",), ("xid79",), ("xid", "79"), ("XID-79",), ("xid_79",), ("Xid", "79:"), ("(xid 79)",)):
            with self.subTest(words):
                self.assertTrue(explained(*words).startswith("Xid 79: "))
        self.assertTrue(explained("sxid12028").startswith("SXid 12028"))
        self.assertIn("not in the catalog", explained("xid", "99999"))

    def test_words_of_every_place_are_explained(self):
        for words, expected in (
            (("row_remap_failed",), "row_remap_failed: "), (("power_cycle",), "Action power_cycle"), (("EVICT",), "out of service"),
            (("evict",), "out of service"), (("gpu.xid",), "gpu.xid: "), (("gpu.sdc",), "autopilot test gpu.sdc"), (("self_test",), "processor"),
            (("AutopilotAgentDown",), "does not answer"), (("AutopilotJobHang",), "No step"), (("memory.edac_uncorrected",), "Example"),
            (("gate", "could_not_look"), "proven"), (("infrastructure",), "storage"), (("cuda_out_of_memory",), "smaller batch"),
            (("bad_memory",), "memory"), (("kernel_record",), "rule"), (("exit", "3"), "could not be checked"), (("exit", "code", "78"), "configuration"),
        ):
            with self.subTest(words):
                self.assertIn(expected, explained(*words))

    def test_a_word_with_several_meanings_lists_them_and_its_kind_selects_one(self):
        page = explained("failed")
        self.assertIn("failed can mean:", page)
        self.assertIn("autopilot explain reason could_not_look", explained("could_not_look"))
        self.assertIn("Reported by", explained("reason", "could_not_look"))
        for selection in ("health failed", "gate failed", "diagnostic failed"):
            self.assertIn("autopilot explain " + selection, page)
        self.assertIn("failed (health)", explained("health", "failed"))
        self.assertNotIn("can mean", explained("health failed"))

    def test_a_line_needs_no_quotes(self):
        line = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus"
        self.assertEqual(explained(*line.split()), explained(line))
        self.assertIn("gpu.xid reports failed", explained(line))

    def test_marks_of_the_output_are_explained(self):
        self.assertIn("does not exist", explained("SIMULATED"))
        self.assertIn("neither healthy nor failed", " ".join(explained("not", "checked").split()))
        self.assertIn("GPUs for jobs", " ".join(explained("PASS").split()))

    def test_a_gpu_of_the_machine_is_explained(self):
        for words in (("GPU", "2"), ("gpu/2",), ("0000:52:00.0",)):
            with self.subTest(words):
                self.assertIn("GPU 2 (0000:52:00.0): no problem", explained(*words, "--simulate", "hgx-h100-8"))
        self.assertIn("this machine has no 'GPU 99'", explained("GPU", "99", "--simulate", "hgx-h100-8", code=64))

    def test_help_of_a_verb(self):
        self.assertEqual(harness.run("help", "explain"), harness.run("explain", "--help"))
        self.assertEqual(harness.run("help")[0], 0)

    def test_an_unknown_word_names_the_nearest(self):
        self.assertIn("row_remap_failed", explained("row_remap_faild", code=64))
        self.assertIn("a whole log line in quotes", explained("qqqqqqqqqqqq", code=64))

    def test_json_has_all_meanings(self):
        answer = json.loads(explained("-o", "json", "failed"))
        self.assertEqual(answer["query"], "failed")
        self.assertIn("health failed", [item["id"] for item in answer["items"]])
        [xid] = json.loads(explained("xid", "79", "-o", "json"))["items"]
        self.assertEqual((xid["kind"], xid["id"]), ("Xid", "xid 79"))
        self.assertIn("Do now", [one["label"] for one in xid["paragraphs"]])


class MachineTest(unittest.TestCase):
    def test_nothing_is_what_is_wrong_now(self):
        page = explained("--simulate", "no-gpu")
        self.assertIn("checks ran", page)
        self.assertIn("checks that ran now", page)

    def test_the_agent_states_what_is_wrong_and_what_an_incident_is(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            environment = {**os.environ, "AUTOPILOT_SOCKET": agent.socket, "AUTOPILOT_STATE_DIR": os.path.join(agent.folder, "state")}
            code, page, _ = harness.run("explain", environment=environment)
            self.assertEqual(code, 0)
            self.assertIn("Nothing is wrong", page)
            harness.run("inject", "row_remap_failed", "--subject", "gpu/2", "--socket", agent.socket)
            harness.wait_until(lambda: agent.node()["verdict"] == "EVICT", "the verdict is EVICT")
            incident = agent.node()["incidents"][0]["id"]
            code, page, _ = harness.run("explain", environment=environment)
            self.assertEqual(code, 2)  # as check
            for words in ("verdict EVICT", f"Incident {incident}: ", "Do now ", "Clears ", "the agent at unix:" + agent.socket):
                self.assertIn(words, page)
            code, page, _ = harness.run("explain", incident, environment=environment)
            self.assertEqual(code, 0)
            self.assertIn(f"autopilot ack {incident}", page)
            answer = json.loads(harness.run("explain", "-o", "json", environment=environment)[1])
            self.assertIn(incident, [item["id"] for item in answer["items"]])
            self.assertEqual((answer["verdict"], answer["source"]), ("EVICT", "the agent at unix:" + agent.socket))
            code, _, errors = harness.run("explain", "00000000-7", environment=environment)
            self.assertEqual(code, 70)
            self.assertIn("no incident 00000000-7", errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
