// SPDX-License-Identifier: Apache-2.0
// Runs an agent on every directory tests/golden/causes/<scenario>, and compares its incidents with the
// labels. GOLDEN_UPDATE=1 writes docs/detection-quality.md; CAUSES_ONLY=WORD runs only the scenarios with
// WORD in their name.
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>

#include "golden/cause_report.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::golden {
namespace {

// What was reached when the page was last made, in scenarios that are right in everything; a change may not
// make it worse.
constexpr int kTuningFloor = 59;
constexpr int kHeldOutFloor = 30;

const std::string& page() {
  static const std::string path = paths::source("docs/detection-quality.md");
  return path;
}

Result<Judged> judge(const std::string& folder, const std::string& scenario, MachineBench& bench) {
  const std::string file = folder + "/" + scenario + "/expect.yaml";
  const std::string text = TRY(simulator::read_text(file, std::size_t{1} << 20));
  const Labels labels = TRY(parse_labels(text, file));
  if (labels.is_held_out != is_held_out(scenario))
    return fail(Errc::malformed, file + ": `set` is not what the name of the scenario makes it");
  const Story story = TRY(tell(folder + "/" + scenario, labels.storm, bench));
  return Judged{scenario, labels.is_held_out, compare(labels, story)};
}

std::vector<Judged> judge_all(const std::string& only) {
  const std::string folder = paths::source("tests/golden/causes");
  MachineBench bench;
  std::vector<Judged> judged;
  for (const std::string& scenario : directories_in(folder)) {
    if (scenario.find(only) == std::string::npos) continue;
    auto one = judge(folder, scenario, bench);
    if (one)
      judged.push_back(*std::move(one));
    else
      ADD_FAILURE() << scenario << ": " << one.error().what;
  }
  return judged;
}

TEST(Causes, incidents_say_what_a_person_would_say) {
  const char* word = std::getenv("CAUSES_ONLY");
  const std::string only = word == nullptr ? "" : word;
  const auto judged = judge_all(only);
  const std::string text = report(judged);
  if (!only.empty()) {
    std::cout << text;
    return;
  }
  const char* update = std::getenv("GOLDEN_UPDATE");
  if (update != nullptr && std::string_view(update) == "1") {
    const auto written = simulator::write_text(page(), text);
    ASSERT_TRUE(written) << written.error().what;
  }
  EXPECT_GE(share_right(judged, false).right, kTuningFloor);
  EXPECT_GE(share_right(judged, true).right, kHeldOutFloor);
  const auto current = simulator::read_text(page(), std::size_t{1} << 20);
  ASSERT_TRUE(current) << current.error().what;
  EXPECT_EQ(*current, text) << "docs/detection-quality.md is stale: GOLDEN_UPDATE=1 autopilot_cause_tests";
}

}  // namespace
}  // namespace autopilot::golden
