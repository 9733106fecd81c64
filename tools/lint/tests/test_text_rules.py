# SPDX-License-Identifier: Apache-2.0
import unittest
from pathlib import Path

import support  # noqa: F401

import calls
import licence
import tree
import wording
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


class Wording(support.TreeCase):
    def count(self, text, path="docs/a.md"):
        return len(wording.places(Path(path), text))

    def test_words_that_the_glossary_replaces_are_refused(self):
        for text in ("nobody listens there", "11 of 15 checks looked", "a fault that was told", "Uid is no row of numbers", "asked for in vain",
                     "for who may", "the plan stands", "the one that is slow", "the way back", "the driver says"):
            with self.subTest(text):
                self.assertEqual(1, self.count(text))

    def test_plain_english_passes(self):
        for text in ("looks like a test", "there is no route", "is no longer set", "an operator who acknowledges it", "either way", "stands for a node",
                     "the gateway answers", "look up a name", "the node that is slow"):
            with self.subTest(text):
                self.assertEqual(0, self.count(text))

    def test_of_code_only_comments_and_messages_count(self):
        self.assertEqual(0, self.count("if (told) stands();", "src/a.cpp"))
        self.assertEqual(["src/a.cpp:2: 'told': reports, prints, suppressed"], wording.places(Path("src/a.cpp"), 'int told;\nlog("it was told");'))

    def test_a_file_may_have_as_many_as_are_written_down_and_no_fewer(self):
        root = self.write({"docs/a.md": "nobody\nnobody\n", "tools/lint/wording_left.txt": "# words\n2 docs/a.md\n"})
        self.assertEqual([], wording.run(root))
        self.write({"docs/a.md": "nobody\n"})
        self.assertEqual(1, len(wording.run(root)))
        self.write({"docs/a.md": "nobody\nnobody\nnobody\n"})
        self.assertEqual(3, len(wording.run(root)))


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
