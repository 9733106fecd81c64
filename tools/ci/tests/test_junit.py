# SPDX-License-Identifier: Apache-2.0
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import junit

CTEST = """<testsuite>
<testcase name="core" status="run"><system-out>x</system-out></testcase>
<testcase name="host" status="fail"><failure message=""/></testcase>
<testcase name="net" status="fail"><failure message=""/><system-out>AddressSanitizer: no</system-out></testcase>
<testcase name="integration.pairs_test" status="fail"><failure message=""/><system-out>test_a (__main__.Pairs.test_a) ... ok
test_b (__main__.Pairs.test_b) ... FAIL
test_c (__main__.Pairs.test_c)
Says something. ... ERROR
test_d (__main__.Pairs.test_d) ...
  test_d (__main__.Pairs.test_d) (word='x') ... FAIL
  test_d (__main__.Pairs.test_d) (word='y') ... FAIL
test_b (__main__.Others.test_b) ... FAIL
tearDownClass (__main__.Others) ... ERROR

======================================================================
ERROR: test_c (__main__.Pairs.test_c)
Says something.
----------------------------------------------------------------------
Traceback of c
OSError: gone

======================================================================
ERROR: tearDownClass (__main__.Others)
----------------------------------------------------------------------
Traceback of the end

======================================================================
FAIL: test_b (__main__.Pairs.test_b)
----------------------------------------------------------------------
Traceback of b
AssertionError: 1 != 2

======================================================================
FAIL: test_d (__main__.Pairs.test_d) (word='x')
----------------------------------------------------------------------
Traceback of x

======================================================================
FAIL: test_d (__main__.Pairs.test_d) (word='y')
----------------------------------------------------------------------
Traceback of y

======================================================================
FAIL: test_b (__main__.Others.test_b)
----------------------------------------------------------------------
Traceback of the other b

----------------------------------------------------------------------
Ran 3 tests in no time
</system-out></testcase>
<testcase name="integration.systemd_test" status="run"><system-out>test_a (systemd_test.Unit.test_a) ... ok
took 1.250 s: test_a (systemd_test.Unit.test_a)
test_b (systemd_test.Unit.test_b)
Says something. ... skipped 'zsh is not installed'
Ran 2 tests ... in no time
</system-out></testcase>
<testcase name="integration.nvml_test" status="run"><system-out>setUpModule (__main__) ... skipped 'no library'
</system-out></testcase>
<testcase name="script" status="run" time="3.5"><system-out>fine</system-out></testcase>
<testcase name="probe" status="notrun"><system-out>SKIP: no loop device</system-out></testcase>
<testcase name="cluster.up" status="notrun"><system-out>[ 0.1 s] looking
cannot run here: the cluster: needs root
</system-out></testcase>
<testcase name="cluster.x" status="notrun"><system-out>skipped: there is none</system-out></testcase>
<testcase name="later" status="notrun"></testcase>
</testsuite>"""
CORE = """<testsuites><testsuite name="A">
<testcase name="one" status="run" result="completed" time="0.125" classname="A"/>
<testcase name="two" status="run" result="skipped" classname="A"><skipped message="a_test.cpp:3&#x0A;needs root&#x0A;"/></testcase>
<testcase name="off" status="notrun" result="suppressed" classname="A"/>
</testsuite></testsuites>"""
HOST = """<testsuites><testsuite name="B">
<testcase name="bad" status="run" result="completed" classname="B"><failure message="host_test.cpp:3&#x0A;1 is not 2"/></testcase>
</testsuite></testsuites>"""
NET = """<testsuites><testsuite name="C"><testcase name="fine" status="run" result="completed" classname="C"/></testsuite></testsuites>"""


class Count(unittest.TestCase):
    def test_tests_are_counted_where_programs_tell_of_them(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "ctest.xml").write_text(CTEST)
            for program, text in (("core", CORE), ("host", HOST), ("net", NET)):
                (folder / f"autopilot_{program}_tests.xml").write_text(text)
            outcome = junit.count(folder / "ctest.xml", folder)
        self.assertEqual((5, 8, 7), (outcome.passed, outcome.failed, outcome.skipped))
        self.assertEqual([
            "skipped: A.two: needs root",
            "failed: B.bad",
            "failed: net: its program ended badly (crash, leak or timeout)",
            "failed: integration.pairs_test.test_b",
            "failed: integration.pairs_test.test_c",
            "failed: integration.pairs_test.test_d",
            "failed: integration.pairs_test.test_d",
            "failed: integration.pairs_test.test_b",
            "failed: integration.pairs_test.tearDownClass",
            "skipped: integration.systemd_test.test_b: zsh is not installed",
            "skipped: integration.nvml_test.setUpModule: no library",
            "skipped: probe: no loop device",
            "skipped: cluster.up: the cluster: needs root",
            "skipped: cluster.x: there is none",
            "skipped: later: not run",
        ], outcome.notes)
        self.assertEqual([
            ("B.bad", "host_test.cpp:3\n1 is not 2"),
            ("net", "AddressSanitizer: no"),
            ("integration.pairs_test.test_b", "Traceback of b\nAssertionError: 1 != 2"),
            ("integration.pairs_test.test_c", "Traceback of c\nOSError: gone"),
            ("integration.pairs_test.test_d", "Traceback of x"),
            ("integration.pairs_test.test_b", "Traceback of the other b"),
            ("integration.pairs_test.tearDownClass", "Traceback of the end"),
        ], [(failure.name, failure.text) for failure in outcome.failures])
        self.assertEqual([(3.5, "script"), (1.25, "integration.systemd_test.test_a"), (0.125, "A.one")],
                         sorted(outcome.times, reverse=True)[:3])
        self.assertEqual(["core", "integration.systemd_test", "integration.nvml_test", "script"], outcome.programs)


if __name__ == "__main__":
    unittest.main()
