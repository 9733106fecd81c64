# SPDX-License-Identifier: Apache-2.0
import unittest

from support import TreeCase

import layers

TABLE = """# Title

| folder | may include | libraries | holds |
|---|---|---|---|
| core | - | - | words |
| host | core | libnl | doors |
| checks | core host/host.hpp | - | checks |
| net | core | boost | sockets |
| apps, tests | everything | - | all |

Text after the table.
"""


class Layers(TreeCase):
    def problems(self, files, known_cycles=None):
        return layers.run(self.write({"ARCHITECTURE.md": TABLE, "src/core/result.hpp": "", **files}), known_cycles or {})

    def cycle(self, **more):
        return {"src/host/host.hpp": "", "src/host/files/a.hpp": '#include <string>\n#include "host/gpu/b.hpp"\n',
                "src/host/files/c.hpp": "", "src/host/gpu/b.hpp": "", "src/host/gpu/d.cpp": '#include "host/files/c.hpp"\n', **more}

    def test_allowed_directions_pass(self):
        self.assertEqual([], self.problems({
            "src/host/host.hpp": '#include "core/result.hpp"\n#include "host/files.hpp"\n',
            "src/host/files.hpp": "#include <string>\n",
            "src/checks/a.cpp": '#include "host/host.hpp"\n#include "host/files.hpp"\n',
            "apps/autopilot/main.cpp": '#include "checks/a.hpp"\n',
            "src/checks/a.hpp": "",
        }))

    def test_an_include_against_the_direction_is_named_with_its_line(self):
        self.assertEqual(
            ["src/core/clock.cpp:2: core may not include host/host.hpp (it may include: nothing)"],
            self.problems({"src/core/clock.cpp": '#include "core/result.hpp"\n#include "host/host.hpp"\n',
                           "src/host/host.hpp": ""}))

    def test_only_the_doors_of_a_folder_where_the_table_names_a_header(self):
        problems = self.problems({"src/host/host.hpp": "", "src/host/child.hpp": "",
                                  "src/checks/a.cpp": '#include "host/child.hpp"\n'})
        self.assertEqual(1, len(problems))
        self.assertIn("checks may not include host/child.hpp", problems[0])

    def test_a_folder_that_is_not_listed_is_refused(self):
        self.assertIn("src/misc/x.cpp: the folder misc is not in the layer table", self.problems({"src/host/host.hpp": "", "src/misc/x.cpp": ""})[0])

    def test_a_door_that_does_not_exist_is_refused(self):
        self.assertIn("the table names host/host.hpp, which does not exist", self.problems({})[0])

    def test_an_include_that_is_commented_out_does_not_count(self):
        self.assertEqual([], self.problems({"src/host/host.hpp": "",
                                            "src/core/a.cpp": '// #include "host/host.hpp"\n/* #include "host/host.hpp"\n*/\n'}))

    def test_tests_may_include_everything(self):
        self.assertEqual([], self.problems({"src/host/host.hpp": "", "src/core/a_test.cpp": '#include "host/host.hpp"\n'}))

    def test_a_library_that_is_not_the_folders_is_refused(self):
        problems = self.problems({"src/host/host.hpp": "", "src/core/a.cpp": "#include <boost/json.hpp>\n"})
        self.assertEqual(["src/core/a.cpp:1: core may not use boost (libraries: none)"], problems)

    def test_a_header_that_stays_inside_may_show_the_library(self):
        self.assertEqual([], self.problems({"src/host/host.hpp": "", "src/net/connection.hpp": "#include <boost/asio.hpp>\n",
                                            "src/net/server.cpp": '#include "net/connection.hpp"\n'}))

    def test_a_header_seen_elsewhere_may_not_even_through_another(self):
        problems = self.problems({
            "src/host/host.hpp": "", "src/net/connection.hpp": "#include <boost/asio.hpp>\n",
            "src/net/server.hpp": '#include "net/connection.hpp"\n', "apps/x/main.cpp": '#include "net/server.hpp"\n'})
        self.assertEqual(1, len(problems))
        self.assertIn("boost/asio.hpp is seen outside net: apps/x/main.cpp includes src/net/server.hpp", problems[0])

    def test_a_forward_declared_type_of_a_library_is_seen_too(self):
        problems = self.problems({"src/host/host.hpp": "struct sqlite3;\nnl_sock* socket();\n",
                                  "src/checks/a.cpp": '#include "host/host.hpp"\n'})
        self.assertEqual(1, len(problems))
        self.assertIn("is a library's type", problems[0])

    def test_subfolders_of_one_folder_may_not_include_each_other(self):
        self.assertEqual(["src/host/files -> src/host/gpu -> src/host/files: a cycle of subfolders: "
                          "src/host/files/a.hpp:2 includes host/gpu/b.hpp; src/host/gpu/d.cpp:1 includes host/files/c.hpp"],
                         self.problems(self.cycle()))

    def test_a_cycle_through_a_third_subfolder_is_reported_once_with_each_include(self):
        problems = self.problems({"src/host/host.hpp": "", "src/host/a/a.hpp": '#include "host/b/b.hpp"\n',
                                  "src/host/b/b.hpp": '#include "host/c/c.hpp"\n', "src/host/c/c.hpp": "",
                                  "src/host/c/c.cpp": '#include "host/a/x.hpp"\n', "src/host/a/x.hpp": ""})
        self.assertEqual(1, len(problems))
        self.assertIn("src/host/a -> src/host/b -> src/host/c -> src/host/a: a cycle of subfolders", problems[0])
        for include in ("a/a.hpp:1 includes host/b/b.hpp", "b/b.hpp:1 includes host/c/c.hpp", "c/c.cpp:1 includes host/a/x.hpp"):
            self.assertIn(include, problems[0])

    def test_one_direction_between_subfolders_passes(self):
        self.assertEqual([], self.problems({"src/host/host.hpp": "", "src/host/files/a.hpp": "",
                                            "src/host/gpu/b.cpp": '#include "host/files/a.hpp"\n'}))

    def test_the_folder_itself_and_tests_make_no_cycle(self):
        self.assertEqual([], self.problems({"src/host/host.hpp": '#include "host/files/a.hpp"\n',
                                            "src/host/files/a.hpp": "", "src/host/files/a.cpp": '#include "host/host.hpp"\n',
                                            "src/host/files/a_test.cpp": '#include "host/gpu/b.hpp"\n',
                                            "src/host/gpu/b.hpp": '#include "host/files/a.hpp"\n'}))

    def test_a_known_cycle_passes_and_an_entry_without_its_cycle_is_refused(self):
        known = {("src/host/files", "src/host/gpu"): "a reason"}
        self.assertEqual([], self.problems(self.cycle(), known))
        problems = self.problems(self.cycle(**{"src/host/gpu/d.cpp": ""}), known)
        self.assertEqual(1, len(problems))
        self.assertIn("src/host/files and src/host/gpu: no cycle", problems[0])

    def test_without_a_table_everything_is_refused(self):
        self.assertIn("no table", layers.run(self.write({"ARCHITECTURE.md": "# Nothing\n"}), {})[0])


if __name__ == "__main__":
    unittest.main()
