// SPDX-License-Identifier: Apache-2.0
#include "golden/states.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/check.hpp"
#include "core/yaml.hpp"
#include "golden/golden_case.hpp"
#include "tests/paths/paths.hpp"
#include "tree/tree_store.hpp"

namespace autopilot::golden {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

Outcome outcome(const std::string& health) {
  Outcome outcome;
  outcome.health = health;
  outcome.witnesses = {"sysfs"};
  outcome.looked_at = {{"host", 1}};
  if (health != "healthy") outcome.findings = {{"host", health, "timed_out", "none", false}};
  return outcome;
}

// All that host.clock needs, whose reasons are degraded at worst.
class GoldenStates : public testing::Test {
 protected:
  GoldenStates() {
    for (const char* state : {"healthy", "degraded"})
      add(state, outcome(state));
    for (const char* state : {"cannot_look", "hangs"})
      add(state, outcome("unknown"));
    add("false_positive_a_report", outcome("healthy"),
        "An alert that never ends (prometheus/node_exporter 1850).");
    impossible_ = {{.check = "host.clock",
                    .state = "failed",
                    .why = "nobody knows",
                    .reasons = {"clock_unsynchronised", "clock_error_large", "clocksource_fallback"}}};
  }

  void add(const std::string& name, const Outcome& outcome, const std::string& description = "") {
    cases_.push_back({.check = "host.clock", .name = name, .description = description, .outcome = outcome});
  }
  StatedCase& at(const std::string& name) {
    return *std::find_if(cases_.begin(), cases_.end(),
                         [&name](const StatedCase& each) { return each.name == name; });
  }
  [[nodiscard]] std::vector<std::string> problems(const std::string& check = "host.clock") const {
    return missing_states({check}, cases_, impossible_, catalog::builtin());
  }

  std::vector<StatedCase> cases_;
  std::vector<Impossible> impossible_;
};

TEST_F(GoldenStates, ACheckWithEveryStateIsComplete) {
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(GoldenStates, AStateNeedsACaseOrAnEntry) {
  impossible_.clear();
  std::erase_if(cases_, [](const StatedCase& each) { return each.name == "hangs"; });
  EXPECT_THAT(problems(),
              ElementsAre("host.clock: no case `failed`, and states.yaml does not say why there can be none",
                          "host.clock: no case `hangs`, and states.yaml does not say why there can be none"));
}

TEST_F(GoldenStates, AnEntryMayNotContradictTheCatalog) {
  impossible_[0].state = "degraded";
  EXPECT_THAT(problems(), Contains("host.clock: states.yaml says that `degraded` cannot be; the catalog lets "
                                   "clock_error_large say it"));
  EXPECT_THAT(problems(),
              Contains("host.clock: states.yaml says that `degraded` cannot be; there is a case"));
  impossible_[0] = {.check = "host.memory", .state = "failed", .why = "no", .reasons = {"memory_corrupted"}};
  EXPECT_THAT(problems("host.memory"), Contains("host.memory: states.yaml says that `failed` cannot be; the "
                                                "catalog lets memory_uncorrected say it"));
  EXPECT_THAT(problems("host.memory"),
              Contains("host.memory: states.yaml: `failed` does not account for the reason oom_kills"));
}

TEST_F(GoldenStates, AnEntryAccountsForTheReasonsThereAre) {
  impossible_[0].reasons = {"clock_unsynchronised", "clock_error_large", "clock_stopped"};
  EXPECT_THAT(
      problems(),
      ElementsAre("host.clock: states.yaml: `failed` does not account for the reason clocksource_fallback",
                  "host.clock: states.yaml: `failed`: the check has no reason clock_stopped"));
  impossible_.push_back({.check = "host.watch", .state = "failed", .why = "no", .reasons = {}});
  EXPECT_THAT(problems(), Contains("states.yaml: no check host.watch"));
}

TEST_F(GoldenStates, EveryCheckCanHangAndCannotLook) {
  impossible_.push_back({.check = "host.clock", .state = "hangs", .why = "never", .reasons = {}});
  EXPECT_THAT(problems(), Contains("host.clock: states.yaml: every check can be `hangs`"));
}

TEST_F(GoldenStates, ACaseShowsWhatItsNameSays) {
  at("cannot_look").outcome = outcome("healthy");
  at("hangs").outcome = outcome("healthy");
  at("false_positive_a_report").outcome = outcome("degraded");
  add("degraded_slightly", outcome("unknown"));
  EXPECT_THAT(problems(),
              ElementsAre("host.clock: the case `cannot_look` is healthy, not unknown",
                          "host.clock: the case `hangs` says the same as `healthy`",
                          "host.clock: the case `false_positive_a_report` is degraded",
                          "host.clock: the case `degraded_slightly` has no finding that is degraded"));
}

TEST_F(GoldenStates, HealthyMeansThatSomethingWasLookedAt) {
  at("healthy").outcome.looked_at.clear();
  EXPECT_THAT(problems(), ElementsAre("host.clock: the case `healthy` has not looked at anything"));
}

TEST_F(GoldenStates, AFalseAlarmIsSomebodysReport) {
  at("false_positive_a_report").description = "A slow and/or wrong clock (somebody/else 7).";
  EXPECT_THAT(problems(), ElementsAre("host.clock: no case false_positive_* whose machine names a report "
                                      "(owner/repository) that its page names too"));
}

std::vector<StatedCase> cases_on_disk(const std::string& golden) {
  std::vector<StatedCase> cases;
  for (const Case& each : find_cases(golden)) {
    const std::string file = each.directory + "/expect.yaml";
    const auto text = simulator::read_text(file, kMaxBytes);
    const auto expected = text ? parse_expectation(*text, file) : fail(text.error());
    const auto machine = simulator::read_text(each.directory + "/machine.yaml", kMaxBytes);
    EXPECT_TRUE(expected) << expected.error().what;
    EXPECT_TRUE(machine) << machine.error().what;
    if (!expected || !machine) continue;
    YamlProblems problems(each.directory + "/machine.yaml");
    const YamlNode document = parse_yaml(*machine, problems);
    const YamlNode* description = document.find("description");
    cases.push_back({.check = each.check,
                     .name = each.name,
                     .description = description == nullptr ? "" : description->text,
                     .outcome = expected->outcome});
  }
  return cases;
}

TEST(GoldenCases, CoverEveryStateOfEveryCheck) {
  const std::string golden = paths::source("tests/golden");
  const auto text = simulator::read_text(golden + "/states.yaml", kMaxBytes);
  ASSERT_TRUE(text) << text.error().what;
  const auto impossible = parse_impossible(*text, golden + "/states.yaml");
  ASSERT_TRUE(impossible) << impossible.error().what;
  std::vector<std::string> checks;
  for (const checks::Check& check : checks::builtin_checks())
    checks.push_back(check.info.id);
  EXPECT_THAT(missing_states(checks, cases_on_disk(golden), *impossible, catalog::builtin()), IsEmpty());
}

}  // namespace
}  // namespace autopilot::golden
