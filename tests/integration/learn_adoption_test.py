# SPDX-License-Identifier: Apache-2.0
"""`autopilot learn propose|show|adopt|revert` on histories that this file generates: healthy fleets, poisoned ones, wrong clocks, renamed
nodes, and damaged files."""

import datetime
import json
import os
import random
import tempfile
import unittest
from pathlib import Path

import harness

MODEL = "NVIDIA H100 80GB HBM3"
KIND = f"gpu={MODEL};driver=570"
NOW = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
DAYS = 20
MEMORY = "memory_bandwidth.triad"


def at(day):
    """A time that many days before now."""
    return (NOW - datetime.timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")


def measured(node, gpu, day, value, run, metric=MEMORY, kind=KIND):
    return {"type": "measurement", "id": f"{run}/{metric}/{gpu}", "node": node, "gpu": gpu, "time": at(day), "kind": kind,
            "check": f"gpu.{metric.split('.')[0]}", "metric": metric, "values": [round(value, 3)]}


def fleet(seed=1, nodes=30, bad=0.0, slow=0.8, prefix="n", level=2600.0, runs=DAYS, kind=KIND):
    """Measurements of a fleet with four GPUs a node, one diagnostic a day; a share of the nodes is slow."""
    dice = random.Random(seed)
    records = []
    for node in range(nodes):
        is_bad = node < bad * nodes
        for gpu in range(4):
            own = level * dice.gauss(1, 0.004) * (slow if is_bad else 1)
            for run in range(runs):
                records.append(measured(f"{prefix}{node}", f"{prefix}{node}-{gpu}", runs - run, own * dice.gauss(1, 0.002),
                                        f"{prefix}{node}/{run}", kind=kind))
    return records


class LearnAdoptionTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-")))

    def history(self, records, name="history.db"):
        lines = self.folder / f"{name}.jsonl"
        lines.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
        status, _, errors = harness.run("history", "import", str(lines), "--history", str(self.folder / name))
        self.assertEqual(status, 0, errors)
        return str(self.folder / name)

    def learn(self, *words):
        return harness.run("learn", *words)

    def found(self, *words):
        status, output, errors = self.learn(*words, "-o", "json")
        self.assertEqual(status, 0, errors)
        return json.loads(output), errors

    def propose(self, *histories, words=()):
        return self.found("propose", "--history", *histories, *words)

    def adopt(self, one, history, *words):
        return self.learn("adopt", one, "--history", history, *words)

    def state(self, one, history):
        return self.found("show", one, "--history", history)[0]["versions"][0]["state"]

    def proposal(self, found, kind):
        return next(one for one in found["proposals"] if one["kind"] == kind)

    def test_a_fleet_gets_a_baseline_and_a_threshold_with_what_they_are_based_on(self):
        found, errors = self.propose(self.history(fleet()))
        self.assertEqual(errors, "")
        baseline, threshold = self.proposal(found, "baseline"), self.proposal(found, "threshold")
        self.assertEqual(baseline["basis"]["places"], 120)
        self.assertEqual(threshold["threshold"]["id"], "gpu.memory_bandwidth.peak_share")
        self.assertGreater(threshold["threshold"]["value"], 0.7)
        self.assertLess(threshold["threshold"]["value"], 2600 / 3350)
        self.assertEqual(threshold["replay"]["before"], 0)
        self.assertLess(threshold["replay"]["after"], 10)
        self.assertIn("instead of 0.6", threshold["sentence"])

    def test_the_replay_counts_what_the_check_would_have_found(self):
        records = fleet() + [measured("n0", "n0-0", 1.5, 2200.0, "n0/late")]
        found, _ = self.propose(self.history(records))
        threshold = self.proposal(found, "threshold")
        self.assertGreater(threshold["replay"]["after"], threshold["replay"]["before"])

    def test_the_same_records_give_the_same_ids_in_any_order_and_on_any_day(self):
        records = fleet(3)
        first, _ = self.propose(self.history(records, "a.db"), words=("--dry-run",))
        random.Random(5).shuffle(records)
        again, _ = self.propose(self.history(records[:1000], "b.db"), self.history(records[1000:], "c.db"), words=("--dry-run",))
        self.assertEqual([one["id"] for one in first["proposals"]], [one["id"] for one in again["proposals"]])
        self.assertFalse((self.folder / "learned").exists())

    def test_a_proposal_goes_through_shadow_and_canary_and_back(self):
        history = self.history(fleet())
        one = self.proposal(self.propose(history)[0], "threshold")["id"]
        self.assertEqual(self.adopt(one, history, "--by", "ops")[0], 0)
        self.assertEqual(self.state(one, history), "shadow")
        status, _, errors = self.adopt(one, history)
        self.assertEqual(status, 70)
        self.assertIn("stays in shadow until", errors)
        status, _, errors = self.adopt(one, history, "--now")
        self.assertIn("--reason", errors)
        self.assertNotEqual(status, 0)
        for expected in ("canary", "adopted"):
            status, output, errors = self.adopt(one, history, "--now", "--reason", "tried before")
            self.assertEqual(status, 0, errors)
            self.assertEqual(self.state(one, history), expected)
        shown, _ = self.found("show", "current", "--history", history)
        self.assertEqual([(step["state"], step.get("note")) for step in shown["versions"][0]["steps"]],
                         [("shadow", None), ("canary", "tried before"), ("adopted", "tried before")])
        self.assertEqual(shown["versions"][0]["steps"][0]["author"], "ops")
        self.assertEqual(self.learn("revert", "--history", history)[0], 0)
        self.assertEqual(self.state(one, history), "reverted")
        self.assertEqual(self.found("show", "current", "--history", history)[0]["versions"], [])

    def test_what_is_in_use_is_not_proposed_again(self):
        history = self.history(fleet())
        for one in self.propose(history)[0]["proposals"]:
            for _ in range(2):
                self.assertEqual(self.adopt(one["id"], history, "--now", "--reason", "test")[0], 0)
        found, _ = self.propose(history)
        self.assertEqual(found["proposals"], [])
        self.assertEqual(len(found["unchanged"]), 2)

    def test_one_subject_has_one_version_in_trial(self):
        history = self.history(fleet())
        first = self.proposal(self.propose(history)[0], "threshold")["id"]
        self.assertEqual(self.adopt(first, history)[0], 0)
        self.history(fleet(9, prefix="m"))
        second = self.proposal(self.propose(history)[0], "threshold")["id"]
        self.assertNotEqual(first, second)
        status, _, errors = self.adopt(second, history)
        self.assertEqual(status, 70)
        self.assertIn(f"autopilot learn revert {first}", errors)

    def test_no_baseline_comes_from_a_poisoned_fleet(self):
        for slow in (0.7, 0.85, 0.93):
            with self.subTest(slow):
                found, _ = self.propose(self.history(fleet(7, bad=0.4, slow=slow), f"{slow}.db"), words=("--dry-run",))
                for one in found["proposals"]:
                    self.assertNotEqual(one["kind"], "threshold")
                    self.assertGreater(one["baseline"]["quantiles"][50], 2550)
                if not found["proposals"]:
                    self.assertTrue(any("two groups" in one["why"] or "few" in one["why"] for one in found["refused"]), found["refused"])

    def test_two_groups_are_named(self):
        found, _ = self.propose(self.history(fleet(7, bad=0.5, slow=0.8)))
        self.assertEqual(found["proposals"], [])
        self.assertIn("two groups", found["refused"][0]["why"])

    def test_a_wrong_clock_is_told_and_changes_nothing(self):
        records = fleet()
        early = measured("n1", "n1-0", -0.9, 10.0, "n1/wrong-clock")
        found, errors = self.propose(self.history([*records, early]), words=("--dry-run",))
        self.assertIn("the clock of their node was wrong: n1", errors)
        plain, _ = self.propose(self.history(records, "plain.db"), words=("--dry-run",))
        self.assertEqual([one["id"] for one in found["proposals"]], [one["id"] for one in plain["proposals"]])

    def test_two_clusters_with_the_same_node_names_are_told_apart(self):
        one = self.history(fleet(1), "one.db")
        other = self.history([{**record, "gpu": "x" + record["gpu"], "id": "x" + record["id"]} for record in fleet(2)], "other.db")
        found, errors = self.propose(one, other)
        self.assertIn("Two clusters have the same names", errors)
        self.assertEqual(found["proposals"], [])
        named = [self.history([{**record, "cluster": name, "gpu": name + record["gpu"], "id": name + record["id"]} for record in fleet(seed)],
                              f"{name}.db") for seed, name in ((1, "a"), (2, "b"))]
        found, errors = self.propose(*named)
        self.assertEqual(errors, "")
        self.assertEqual(self.proposal(found, "baseline")["basis"]["places"], 240)

    def test_a_renamed_node_and_a_moved_card_count_once(self):
        records = fleet()
        records += [measured("new-name", f"n0-{gpu}", 0.5 - run / 10, 2600.0, f"new/{run}") for gpu in range(4) for run in range(3)]
        found, errors = self.propose(self.history(records))
        self.assertIn("4 cards were measured on more than one node", errors)
        self.assertEqual(self.proposal(found, "baseline")["basis"]["places"], 120)

    def test_a_node_with_an_open_fault_teaches_nothing(self):
        records = [*fleet(), {"type": "fault", "id": "f1", "node": "n3", "begin": at(2), "class": "hardware", "check": "gpu.xid",
                              "health": "failed", "confidence": 0.9}]
        baseline = self.proposal(self.propose(self.history(records))[0], "baseline")
        self.assertEqual(baseline["basis"]["places"], 116)
        self.assertEqual(baseline["basis"]["excluded"], 4)

    def test_few_machines_are_refused_with_the_cure(self):
        found, _ = self.propose(self.history(fleet(nodes=2)))
        self.assertEqual(found["proposals"], [])
        self.assertIn("measure more machines", found["refused"][0]["why"])

    def test_a_check_that_is_mostly_wrong_is_proposed_as_advisory(self):
        records = []
        for number in range(6):
            node = f"n{number}"
            records += [{"type": "fault", "id": f"f{number}", "node": node, "begin": at(9), "detected": at(9), "end": at(3),
                         "class": "hardware", "check": "gpu.throttle", "health": "degraded", "confidence": 0.9},
                        {"type": "job", "id": f"j{number}", "node": node, "job": f"j{number}", "start": at(8), "end": at(6), "outcome": "completed"},
                        {"type": "label", "id": f"l{number}", "node": node, "fault": f"f{number}", "time": at(2), "answer": "healthy",
                         "source": "repeat_test"}]
        role = self.proposal(self.propose(self.history(records))[0], "check_role")
        self.assertEqual(role["role"], {"check": "gpu.throttle", "role": "advisory"})

    def test_a_damaged_file_is_named_and_the_rest_stays_in_use(self):
        history = self.history(fleet())
        found, _ = self.propose(history)
        one, other = (self.proposal(found, kind)["id"] for kind in ("threshold", "baseline"))
        for _ in range(2):
            self.adopt(one, history, "--now", "--reason", "test")
        path = self.folder / "learned" / f"{other}.json"
        whole = path.read_text(encoding="utf-8")
        for damage in (whole[:100], "", whole.replace("quantiles", "quantilez", 1), "\0" * 50, whole + "more"):
            with self.subTest(damage[:10]):
                path.write_text(damage, encoding="utf-8")
                shown, errors = self.found("show", "current", "--history", history)
                self.assertIn(f"{other}.json", errors)
                self.assertIn("Restore it", errors)
                self.assertEqual([version["id"] for version in shown["versions"]], [one])
                self.assertNotEqual(self.adopt(other, history)[0], 0)
                self.assertEqual(path.read_text(encoding="utf-8"), damage)
        path.write_text(whole, encoding="utf-8")
        self.assertEqual(self.state(other, history), "proposed")

    def test_what_cannot_be_done_says_why(self):
        history = self.history(fleet())
        for words, expected in ((("adopt", "ffff"), "no proposal or version has the id ffff"),
                                (("revert",), "there is nothing to revert"),
                                (("show", "ffff"), "autopilot learn show")):
            status, _, errors = self.learn(*words, "--history", history)
            self.assertEqual(status, 70)
            self.assertIn(expected, errors)
        status, _, errors = self.learn("propose", "--history", history, "--since", "sometime")
        self.assertEqual(status, 64)
        self.assertIn("--since: expected", errors)
        status, _, errors = self.learn("propose", "--history", str(self.folder / "none.db"))
        self.assertEqual(status, 70)
        self.assertIn("no history at", errors)

    def test_explain_names_the_version_of_a_threshold(self):
        state = {**os.environ, "AUTOPILOT_STATE_DIR": str(self.folder)}
        one = self.proposal(self.propose(self.history(fleet()))[0], "threshold")["id"]
        asked = "gpu.memory_bandwidth.peak_share"
        self.assertNotIn("Learned", harness.run("explain", asked, environment=state)[1])
        self.adopt(one, str(self.folder / "history.db"))
        status, output, errors = harness.run("explain", asked, environment=state)
        self.assertEqual(status, 0, errors)
        self.assertIn("Learned", output)
        self.assertIn(one, output)

    def test_a_connection_string_is_no_folder_and_its_password_is_not_shown(self):
        one = self.proposal(self.propose(self.history(fleet()))[0], "threshold")["id"]
        state = {**os.environ, "AUTOPILOT_STATE_DIR": str(self.folder)}
        place = "postgresql://agent:SECRET@127.0.0.1:1/fleet"
        status, output, errors = harness.run("learn", "show", "-o", "json", "--history", place, environment=state)
        self.assertEqual(status, 0, errors)
        self.assertEqual([version["id"] for version in json.loads(output)["versions"] if version["kind"] == "threshold"], [one])
        self.assertNotIn("SECRET", output + errors)
        status, output, errors = harness.run("learn", "adopt", one, "--history", place, environment=state)
        self.assertEqual(status, 0, errors)
        self.assertIn(f"--store {self.folder}/learned", output)
        self.assertNotIn("SECRET", output + errors)
        # The evidence of what is in shadow is in the database.
        status, output, errors = harness.run("learn", "show", "--history", place, environment=state)
        self.assertEqual(status, 0, errors)
        self.assertIn(one, output)
        self.assertIn("what the checks would have found is not shown: postgresql://agent@127.0.0.1:1/fleet", errors)
        self.assertNotIn("SECRET", output + errors)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_root_writes_as_the_user_of_the_folder_and_not_behind_links(self):
        user = 65534
        history = self.history(fleet())
        os.chmod(self.folder, 0o755)
        state, other = self.folder / "state", self.folder / "other"
        for folder in (state, other):
            folder.mkdir(mode=0o755)
        os.chown(state, user, user)
        store = state / "learned"
        one = self.proposal(self.propose(history, words=("--store", str(store)))[0], "threshold")["id"]
        self.assertEqual({path.stat().st_uid for path in (store, *store.iterdir())}, {user})
        self.assertEqual(self.learn("adopt", one, "--store", str(store), "--history", history)[0], 0)
        link = state / "linked"
        link.symlink_to(other)
        os.lchown(link, user, user)
        status, _, errors = self.learn("propose", "--history", history, "--store", str(link))
        self.assertEqual(status, 70)
        self.assertIn("the proposals are not saved", errors)
        self.assertEqual((list(other.iterdir()), other.stat().st_uid, other.stat().st_mode & 0o777), ([], 0, 0o755))

    def test_the_text_names_the_next_command(self):
        history = self.history(fleet())
        status, output, _ = self.learn("propose", "--history", history)
        self.assertEqual(status, 0)
        self.assertIn("Next: autopilot learn adopt", output)
        self.assertIn("Last 30 days before", output)
        status, output, _ = self.learn("show", "--history", history)
        self.assertIn("proposed", output)


if __name__ == "__main__":
    unittest.main()
