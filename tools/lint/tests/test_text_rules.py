# SPDX-License-Identifier: Apache-2.0
import unittest
from pathlib import Path

import support  # noqa: F401

import calls
import licence
import tree
import words


class Calls(unittest.TestCase):
    def count(self, path, text):
        return len(calls.check(Path(path), text))

    def test_the_machine_is_not_touched_outside_host(self):
        for line in ('open("/sys/class/net");', 'files.read("/proc/meminfo");', "auto t = std::chrono::steady_clock::now();",
                     "clock_gettime(0, &t);", "std::this_thread::sleep_for(1s);", "usleep(5);", 'std::getenv("HOME");',
                     "auto t = time(nullptr);", 'popen("x", "r");', "catch (...) {"):
            with self.subTest(line):
                self.assertEqual(1, self.count("src/checks/gpu/a.cpp", line))
                self.assertEqual(0, self.count("src/host/files/a.cpp", line))
                self.assertEqual(0, self.count("src/checks/gpu/a_test.cpp", line))

    def test_what_only_looks_like_it_passes(self):
        for line in ("const Instant now = clock.now();", "request.now.mono", "// reads /sys and sleep_for", 'witness = "/dev/kmsg";', "system_check(1);",
                     "observation.time(0)", '"/system/"', 'log("sleep_for");', "double time = 0;"):
            with self.subTest(line):
                self.assertEqual(0, self.count("src/runtime/a.cpp", line))

    def test_only_the_command_line_reads_the_environment(self):
        self.assertEqual(0, self.count("src/cli/a.cpp", 'std::getenv("NO_COLOR");'))
        self.assertEqual(1, self.count("src/agent/a.cpp", 'std::getenv("NO_COLOR");'))


class Words(unittest.TestCase):
    def count(self, text, path="docs/a.md"):
        return len(words.check(Path(path), text))

    def test_registries_and_workplaces_are_refused(self):
        for text in ("https://py" "pi.org/simple", "see /wor" "k/main", "cd /far" "m/x", "<<<<<<< HEAD"):
            with self.subTest(text):
                self.assertEqual(1, self.count(text))

    def test_ordinary_words_pass(self):
        for text in ("network/work/x", "https://developer.nvidia.com/x", "we work / play", "======= not a mark"[8:]):
            with self.subTest(text):
                self.assertEqual(0, self.count(text))

    def test_unfinished_work_is_refused_in_code(self):
        self.assertEqual(1, self.count("// TO" "DO later", "src/a.cpp"))
        self.assertEqual(0, self.count("TO" "DO lists", "docs/a.md"))


class Licence(unittest.TestCase):
    def count(self, path, text):
        return len(licence.check(Path(path), text))

    def test_the_first_line_names_it(self):
        self.assertEqual(0, self.count("a.cpp", "// SPDX-License-Identifier: Apache-2.0\nint x;\n"))
        self.assertEqual(0, self.count("a.sh", "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\n"))
        self.assertEqual(1, self.count("a.cpp", "int x;\n"))
        self.assertEqual(1, self.count("a.py", "\n# SPDX-License-Identifier: Apache-2.0\n"))
        self.assertEqual(1, self.count("catalog/a.yaml", ""))
        self.assertEqual(0, self.count("tests/golden/a/machine.yaml", "node: a\n"))


class Strip(unittest.TestCase):
    def test_comments_and_literals_go_and_lines_stay(self):
        text = 'a; // "x"\n/* y\n z */ "b // c" \'"\' R"(raw "q" // )" d;\n'
        stripped = tree.strip(text)
        self.assertEqual(text.count("\n"), stripped.count("\n"))
        for gone in ("x", "y", "raw", "c"):
            self.assertNotIn(gone, stripped)
        self.assertIn("d;", stripped)
        self.assertIn('"b // c"', tree.strip(text, keep_strings=True))


if __name__ == "__main__":
    unittest.main()
