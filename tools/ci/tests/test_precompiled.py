# SPDX-License-Identifier: Apache-2.0
"""Tests the contract of cmake/Precompiled.cmake, cmake/Unity.cmake and the presets: another clone finds an object in the cache, and
no object is stale."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TOOLS = ("cmake", "ninja", "ccache", "clang++-16", "g++-12")

CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_SOURCE_DIR}/cmake)
include(Warnings)
set(EXPECTED_INCLUDE_DIR ${CMAKE_SOURCE_DIR}/include)
include(Precompiled)
include(Unity)
autopilot_unite(sources small main.cpp number.cpp)
add_executable(small ${sources})
target_include_directories(small SYSTEM PRIVATE ${EXPECTED_INCLUDE_DIR})
autopilot_use_precompiled(small autopilot_precompiled)
"""


@unittest.skipUnless(all(map(shutil.which, TOOLS)), f"needs {', '.join(TOOLS)}")
class Precompiled(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = Path(folder.name).resolve()
        self.environment = {**os.environ, "CCACHE_DIR": str(self.base / "ccache")}

    def clone(self, name, number):
        """A tree with a library whose header contains that number, which the program returns."""
        root = self.base / name
        (root / "include" / "tl").mkdir(parents=True)
        shutil.copytree(ROOT / "cmake", root / "cmake")
        shutil.copy(ROOT / "CMakePresets.json", root)
        (root / "CMakeLists.txt").write_text(CMAKE)
        (root / "main.cpp").write_text("int said();\nint main() { return said() + static_cast<int>(std::string().size()); }\n")
        (root / "number.cpp").write_text("int said();\nint said() { return number(); }\n")
        self.change(root, number)
        return root

    def change(self, root, number):
        (root / "include" / "tl" / "expected.hpp").write_text(
            f"#pragma once\ninline int number() {{ return {number}; }}\n")

    def call(self, root, *argv):
        done = subprocess.run(argv, cwd=root, env=self.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        self.assertEqual(0, done.returncode, done.stdout)
        return done.stdout

    def built(self, root, preset):
        """The result of the program after a build, and True if its object came from the cache."""
        if not (root / "build" / preset).exists():
            self.call(root, "cmake", "--preset", preset, "-DAUTOPILOT_TESTS=OFF")
        self.call(root, "ccache", "--zero-stats")
        self.call(root, "cmake", "--build", "--preset", preset, "--target", "small")
        counts = dict(re.findall(r"^(\w+)\t(\d+)$", self.call(root, "ccache", "--print-stats"), re.M))
        hits = int(counts["direct_cache_hit"]) + int(counts["preprocessed_cache_hit"])
        self.assertEqual(1, hits + int(counts["cache_miss"]), counts)  # both sources are one
        program = root / "build" / ("bin" if preset == "release" else preset) / "small"
        return subprocess.run([program], check=False).returncode, hits == 1

    def test_another_clone_finds_the_object_and_none_is_stale(self):
        for preset in ("release", "gcc-asan"):  # one of each compiler
            with self.subTest(preset):
                self.assertEqual((1, False), self.built(self.clone(f"{preset}-one", 1), preset))
                other = self.clone(f"{preset}-two", 1)
                self.assertEqual((1, True), self.built(other, preset))
                self.change(other, 2)
                self.assertEqual((2, False), self.built(other, preset))


if __name__ == "__main__":
    unittest.main()
