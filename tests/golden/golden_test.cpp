// SPDX-License-Identifier: Apache-2.0
// Every directory tests/golden/<check>/<case> is a test: a machine (docs/machine-tree.md) and what the check
// must report. `--update` or GOLDEN_UPDATE=1 writes the current result, for review.
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <iostream>
#include <memory>
#include <string>

#include "golden/golden_case.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::golden {
namespace {

constexpr std::size_t kMaxExpectationBytes = std::size_t{1} << 20;

bool is_update = false;
std::unique_ptr<MachineBench> shared_bench;

class GoldenTest : public testing::Test {
 public:
  explicit GoldenTest(Case test_case) : case_(std::move(test_case)) {}

  void TestBody() override {
    const std::string file = case_.directory + "/expect.yaml";
    const auto text = simulator::read_text(file, kMaxExpectationBytes);
    ExpectationFile expected;
    if (text) {
      auto parsed = parse_expectation(*text, file);
      ASSERT_TRUE(parsed || is_update) << parsed.error().what;
      if (parsed) expected = *std::move(parsed);
    }
    const auto look = look_at(case_, expected.given, *shared_bench);
    ASSERT_TRUE(look) << look.error().what;
    if (is_update) return update(file, text.value_or(""), expected.outcome, look->outcome);
    ASSERT_TRUE(text) << file << " is missing; write it: autopilot_golden_tests --update --gtest_filter='*"
                      << case_.check << "." << case_.name << "*'";
    const std::string lines = difference(expected.outcome, look->outcome);
    EXPECT_TRUE(lines.empty()) << case_.directory << ": expected (-), actual (+)\n"
                               << lines << look->messages << "If the new result is correct: GOLDEN_UPDATE=1 "
                               << "autopilot_golden_tests --gtest_filter='" << case_.check << "."
                               << case_.name << "', then review the change of expect.yaml";
  }

 private:
  static void update(const std::string& file, const std::string& before, const Outcome& expected,
                     Outcome actual) {
    if (!before.empty() && difference(expected, actual).empty()) return;
    if (!expected.standing) actual.standing.reset();
    const auto written = simulator::write_text(file, format_outcome(actual, before));
    ASSERT_TRUE(written) << written.error().what;
    std::cout << "updated " << file << "\n";
  }

  Case case_;
};

}  // namespace
}  // namespace autopilot::golden

int main(int argc, char** argv) {
  using namespace autopilot::golden;
  testing::InitGoogleTest(&argc, argv);
  const char* variable = std::getenv("GOLDEN_UPDATE");
  is_update = (variable != nullptr && std::string_view(variable) == "1") ||
              (argc > 1 && std::string_view(argv[1]) == "--update");
  for (const Case& test_case : find_cases(autopilot::paths::source("tests/golden")))
    testing::RegisterTest(test_case.check.c_str(), test_case.name.c_str(), nullptr, nullptr, __FILE__,
                          __LINE__, [test_case]() -> testing::Test* { return new GoldenTest(test_case); });
  shared_bench = std::make_unique<MachineBench>();
  const int result = RUN_ALL_TESTS();
  shared_bench.reset();
  return result;
}
