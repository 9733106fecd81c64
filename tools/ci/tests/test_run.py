# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import changes
import passed
import run
import stage
import stages
from stage import Failure, Options, Outcome, Stage, one, skip

AUTOGROUP = Path("/proc/self/autogroup")


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.object(stage, "LOGS", Path(folder.name))
        patch.start()
        self.addCleanup(patch.stop)

    def lines(self, stages, status, arguments=()):
        output = io.StringIO()
        with mock.patch.dict(run.PLANS, {"check": stages}), mock.patch.object(sys, "argv", ["run.py", "check", *arguments]), \
                contextlib.redirect_stdout(output):
            self.assertEqual(status, run.main())
        return output.getvalue().splitlines()

    def test_a_failure_hides_no_later_stage_and_is_the_exit_code(self):
        def broken(_):
            raise KeyError("a bug of the stage")
        lines = self.lines([
            Stage("a", "builds", lambda _: one(False)),
            Stage("b", "needs the build", lambda _: one(True), needs="a"),
            Stage("c", "is broken itself", broken),
            Stage("d", "tests", lambda _: Outcome(passed=5, skipped=2, notes=["skipped: x: no GPU"])),
            Stage("e", "has nothing to do", lambda _: skip("no file changed")),
        ], 1)
        self.assertEqual("5 passed, 2 failed, 4 skipped", lines[-1])
        self.assertRegex(lines[-2], r"^check: 5 stages in .*; FAILED: a, c; skipped: b, e$")
        self.assertIn("        skipped: a failed", lines)
        self.assertIn("        skipped: x: no GPU", lines)

    def test_what_failed_is_told_at_the_end(self):
        def builds(job):
            return one(job.command(["bash", "-c", "echo ld: no space left; exit 3"], timeout=10) == 0)
        lines = self.lines([
            Stage("a", "builds", builds),
            Stage("b", "tests", lambda _: Outcome(failed=1, failures=[Failure("x.test", "\n".join(map(str, range(40))))])),
            Stage("c", "tests more", lambda _: one(True)),
        ], 1)
        end = lines[lines.index("failed: a"):]
        self.assertEqual(["failed: a", "        | $ bash -c echo ld: no space left; exit 3", "        | ld: no space left",
                          "failed: b: x.test", "        | 15"], end[:5])
        self.assertEqual("        | 39", end[-3])
        self.assertRegex(end[-2], "FAILED: a, b$")

    def test_a_stage_that_a_plan_does_not_have_is_refused(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            self.assertEqual([], self.lines([Stage("a", "builds", lambda _: one(True))], 2, ["--only", "a", "--only", "b"]))
        self.assertEqual("check has no stage b; see --list\n", errors.getvalue())

    def test_a_stage_beside_another_runs_meanwhile_with_what_is_left_of_the_processors_and_is_told_after_it(self):
        policies = {}
        own = os.sched_getscheduler(0)

        def waits(_):
            # Ends only while the other stage runs.
            return one(begun.wait(60))

        def computes(job):
            begun.set()
            policies["itself"] = os.sched_getscheduler(0)
            with ThreadPoolExecutor(1) as pool:
                policies["its threads"] = pool.submit(os.sched_getscheduler, 0).result()
            policies["its programs"] = job.command(
                [sys.executable, "-c", "import os, sys; sys.exit(os.sched_getscheduler(0))"], timeout=60)
            return Outcome(passed=3, failed=1)

        begun = threading.Event()
        lines = self.lines([
            Stage("a", "waits", waits),
            Stage("b", "computes", computes, beside="a"),
            Stage("c", "is alone again", lambda _: one(os.sched_getscheduler(0) == own)),
        ], 1)
        self.assertEqual({"itself", "its threads", "its programs"}, set(policies))
        self.assertEqual({os.SCHED_IDLE}, set(policies.values()))
        self.assertEqual("[ 1/3] waits ...", lines[0])
        self.assertRegex(lines[1], r"^ +ok in .*: 1 passed")
        self.assertEqual("[ 2/3] computes, begun beside a ...", lines[2])
        self.assertRegex(lines[3], r"^ +FAILED in .*: 3 passed, 1 failed")
        self.assertRegex(lines[-2], r"; FAILED: b$")

    def test_stages_beside_the_same_one_run_one_after_the_other(self):
        running, ran = set(), []

        def computes(name):
            def runs(_):
                running.add(name)
                ran.append(set(running))
                running.discard(name)
                return one(name != "b")
            return runs
        lines = self.lines([Stage("a", "waits", lambda _: one(True)), Stage("d", "tests", lambda _: one(True)),
                            Stage("b", "builds", computes("b"), beside="a"),
                            Stage("c", "tests what was built", computes("c"), beside="a", needs="b"),
                            Stage("e", "computes", computes("e"), beside="a")], 1)
        self.assertEqual([{"b"}, {"e"}], ran)
        self.assertTrue(any("skipped: b failed" in line for line in lines))

    @unittest.skipUnless(AUTOGROUP.exists(), "this kernel does not share processors between sessions")
    def test_programs_of_a_stage_beside_another_yield_to_those_of_other_sessions(self):
        yields = "for i in {1..100}; do grep -q 'nice 19' /proc/self/autogroup && exit 0; sleep 0.1; done; exit 1"
        lines = self.lines([Stage("a", "waits", lambda _: one(True)),
                            Stage("b", "computes", lambda job: one(job.command(["bash", "-c", yields], 60) == 0), beside="a")], 0)
        self.assertEqual("2 passed, 0 failed, 0 skipped", lines[-1])

    def test_what_is_not_done_when_the_time_is_over_is_skipped_and_said(self):
        options = Options(jobs=1, fuzz_seconds=1, tidy_seconds=1, deadline=time.monotonic() + 1)
        long = Stage("a", "takes long", lambda job: one(job.command(["sleep", "600"], timeout=600) == 0))
        for stage_ in (long, Stage("b", "comes too late", lambda _: one(True))):
            outcome, _ = stage.execute(stage_, options, set())
            self.assertEqual(skip(stage.NO_TIME), outcome)

    def test_a_test_that_failed_before_the_time_was_over_is_not_forgotten(self):
        tools = tempfile.TemporaryDirectory()
        self.addCleanup(tools.cleanup)
        ctest = Path(tools.name) / "ctest"
        ctest.write_text("#!/bin/sh\necho '1/2 Test #1: a ...........***Failed    0.01 sec'\nexec sleep 600\n")
        ctest.chmod(0o755)
        options = Options(jobs=1, fuzz_seconds=1, tidy_seconds=1, deadline=time.monotonic() + 2)
        with mock.patch.dict(os.environ, PATH=f"{tools.name}:{os.environ['PATH']}"):
            outcome, _ = stage.execute(Stage("a", "tests", lambda job: stages._ctest(job, "release", [])), options, set())
        self.assertEqual(1, outcome.failed)

    def test_a_stage_whose_neighbour_is_left_out_runs_alone(self):
        stages = [Stage("a", "waits", lambda _: one(False)), Stage("b", "computes", lambda _: one(True), beside="a")]
        lines = self.lines(stages, 0, ["--only", "b"])
        self.assertEqual("1 passed, 0 failed, 0 skipped", lines[-1])

    def test_success_is_zero(self):
        lines = self.lines([Stage("a", "builds", lambda _: one(True))], 0)
        self.assertEqual("1 passed, 0 failed, 0 skipped", lines[-1])
        self.assertIn("none failed", lines[-2])

    def test_a_command_that_hangs_is_killed_with_its_children_and_its_output_kept(self):
        job = stage.Run("hang", Options(jobs=1, fuzz_seconds=1, tidy_seconds=1))
        self.assertEqual(124, job.command(["bash", "-c", "echo begun; sleep 600 & wait"], timeout=1))
        self.assertIn("begun", job.log.read_text())
        self.assertIn("not done after 1 s", job.log.read_text())


class Plans(unittest.TestCase):
    def test_what_a_stage_needs_comes_before_it(self):
        for plan, stages in run.PLANS.items():
            names = [stage.name for stage in stages]
            self.assertEqual(len(set(names)), len(names), plan)
            for place, stage in enumerate(stages):
                if stage.needs:
                    self.assertIn(stage.needs, names[:place], f"{plan}: {stage.name}")

    def test_what_runs_beside_a_stage_is_told_after_it(self):
        for plan, stages in run.PLANS.items():
            names = [stage.name for stage in stages]
            for place, stage in enumerate(stages):
                if stage.beside:
                    self.assertIn(stage.beside, names[:place], f"{plan}: {stage.name}")

    def test_two_stages_at_most_compile_at_once(self):
        # Each runs as many compilers as fit into the memory if nothing else runs, or into half of it.
        for plan, stages in run.PLANS.items():
            names = [stage.name for stage in stages]
            for place, stage in enumerate(stages):
                running = {other.beside for number, other in enumerate(stages)
                           if other.beside and number >= place and names.index(other.beside) <= place}
                self.assertLessEqual(len(running), 2, f"{plan}: {stage.name}")

    def test_no_stage_is_in_two_tiers(self):
        names = {plan: {stage.name for stage in run.PLANS[plan]} for plan in ("check", "test", "verify")}
        self.assertEqual(set(), names["check"] & names["test"])
        self.assertEqual({"tidy"}, names["test"] & names["verify"])  # of changed files, and of all files


class Resumed(Runner):
    """A plan of hours resumes after an interruption."""

    def setUp(self):
        super().setUp()
        self.ran = []
        self.tree = "one"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for patch in (mock.patch.object(run, "RESUMED", ("check",)),
                      mock.patch.object(run, "committed_tree", lambda: self.tree),
                      mock.patch.object(run, "default_folder", lambda: Path(folder.name))):
            patch.start()
            self.addCleanup(patch.stop)

    def stage(self, name, outcome, **more):
        def runs(_):
            self.ran.append(name)
            return outcome
        return Stage(name, f"title of {name}", runs, **more)

    def plan(self, status, *arguments, b=None):
        self.ran.clear()
        return self.lines([self.stage("a", Outcome(passed=3, skipped=1)), self.stage("b", b or one(True), beside="a"),
                           self.stage("c", skip("not here"))], status, arguments)

    def test_what_passed_for_the_same_files_is_counted_and_not_run_again(self):
        self.plan(1, b=one(False))
        self.assertEqual({"a", "b", "c"}, set(self.ran))
        lines = self.plan(0)
        self.assertEqual({"b", "c"}, set(self.ran))
        self.assertEqual("4 passed, 0 failed, 2 skipped", lines[-1])
        self.assertTrue(any("passed before for these files" in line for line in lines))
        self.plan(0)
        self.assertEqual({"c"}, set(self.ran))

    def test_other_files_and_uncommitted_changes_are_run_and_again_runs_all(self):
        self.plan(0)
        for self.tree, arguments in (("two", ()), ("", ()), ("one", ("--again",))):
            self.plan(0, *arguments)
            self.assertEqual({"a", "b", "c"}, set(self.ran))

    def test_a_run_that_remembers_nothing_says_why(self):
        self.assertFalse(any("remembered" in line for line in self.plan(0)))
        with mock.patch.dict(run.BUDGETS["fuzz_seconds"], check=60):
            self.assertEqual("no stage is skipped or remembered: --fuzz-seconds is shorter than usual", self.plan(0, "--fuzz-seconds", "1")[0])
        self.tree = ""
        self.assertEqual("no stage is skipped or remembered: files differ from the commit", self.plan(0)[0])

    def test_a_stage_during_which_a_file_changed_is_not_remembered(self):
        def changes(_):
            self.tree = ""
            return one(True)
        self.lines([Stage("a", "tests", changes)], 0)
        self.tree = "one"
        self.lines([self.stage("a", one(True))], 0)
        self.assertEqual(["a"], self.ran)


class Slowest(Runner):
    def test_the_ten_slowest_tests_of_all_stages_stand_at_the_end(self):
        lines = self.lines([Stage("a", "tests", lambda _: Outcome(passed=9, times=[(float(n), f"a.{n}") for n in range(9)])),
                            Stage("b", "tests", lambda _: Outcome(passed=9, times=[(n + 0.5, f"b.{n}") for n in range(9)]))], 0)
        begin = lines.index("slowest tests:")
        self.assertEqual(["      8.5 s  b.8", "      8.0 s  a.8"], lines[begin + 1:begin + 3])
        self.assertEqual("      4.0 s  a.4", lines[begin + 10])
        self.assertTrue(lines[begin + 11].startswith("check: "))


class CommittedTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.git("init", "--quiet")
        (self.root / "a").write_text("1")
        self.git("add", "a")
        self.git("-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "-m", "one")

    def git(self, *arguments):
        return subprocess.run(["git", "-C", self.root, *arguments], check=True, capture_output=True, text=True).stdout.strip()

    def test_it_is_nothing_while_a_file_differs_or_is_new(self):
        tree = passed.committed_tree(self.root)
        self.assertEqual(self.git("rev-parse", "HEAD^{tree}"), tree)
        (self.root / "a").write_text("2")
        self.assertEqual("", passed.committed_tree(self.root))
        (self.root / "a").write_text("1")
        self.assertEqual(tree, passed.committed_tree(self.root))
        (self.root / "b").write_text("")
        self.assertEqual("", passed.committed_tree(self.root))

    def test_it_is_nothing_outside_a_checkout(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual("", passed.committed_tree(Path(folder)))


class MarksOfTests(unittest.TestCase):
    """Which tests `make check` runs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        subprocess.run(["git", "init", "--quiet", self.root], check=True)
        for name in ("one", "two", "page.md", "source.cpp"):
            (self.root / name).write_text(name)
        (self.root / ".gitignore").write_text("one\ntwo\n")
        listed = json.dumps({"tests": [
            {"name": name, "command": [str(self.root / name)], "properties": [{"name": "LABELS", "value": [label]}]}
            for name, label in (("one", "unit"), ("two", "golden"), ("three", "integration"))] +
            [{"name": "unbuilt", "properties": [{"name": "LABELS", "value": ["unit"]}]}]})
        tools = self.root / "tools"
        tools.mkdir()
        (tools / "ctest").write_text(f"#!/bin/sh\ncat <<'END'\n{listed}\nEND\n")
        (tools / "ctest").chmod(0o755)
        for patch in (mock.patch.object(changes, "ROOT", self.root),
                      mock.patch.dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")):
            patch.start()
            self.addCleanup(patch.stop)
        self.before = self.marks()

    def marks(self):
        return changes.marks_of_tests("dev", ("unit", "golden"))

    def changed(self):
        return {name for name, mark in self.marks().items() if mark != self.before[name]}

    def test_the_tests_of_a_folder_are_the_nearest_to_its_sources(self):
        (self.root / "tests" / "golden" / "gpu.xid").mkdir(parents=True)
        names = {"src/core/a.cpp": (["core"], []), "src/checks/gpu/xid.cpp": (["checks"], ["gpu.xid"]), "probes/net/run/a.cpp": (["net_probe"], []),
                 "src/checks/gpu/gpu_check.cpp": (["checks"], []), "tests/golden/gpu.xid/a/expect.yaml": ([], ["gpu.xid"]),
                 "catalog/xids.yaml": (["catalog"], []), "src/CMakeLists.txt": ([], []), "docs/a.md": ([], [])}
        for name, expected in names.items():
            with self.subTest(name), mock.patch.object(changes, "_changed_names", lambda name=name: {name}):
                self.assertEqual(expected, (changes.nearest_tests(), changes.nearest_golden_cases()))

    def test_a_program_that_is_linked_anew_changes_its_own_test(self):
        self.assertEqual({"one", "two", "unbuilt"}, set(self.before))
        (self.root / "one").write_text("linked anew")
        self.assertEqual({"one"}, self.changed())

    def test_a_file_that_is_no_source_changes_all(self):
        (self.root / "source.cpp").write_text("the program says that")
        self.assertEqual(set(), self.changed())
        (self.root / "page.md").write_text("longer than before")
        self.assertEqual({"one", "two", "unbuilt"}, self.changed())


if __name__ == "__main__":
    unittest.main()
