// SPDX-License-Identifier: Apache-2.0
// Checks give the same results on a recording as on its machine.
#include "cli/recording/recording.hpp"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "checks/check.hpp"
#include "golden/golden_case.hpp"
#include "golden/recorded_machine.hpp"
#include "golden/scrub_test.hpp"
#include "host/open_host.hpp"
#include "machine/description.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::golden {
namespace {

// Without texts of errors, which name files of the tree, and names of pods, which no recording has.
std::string line_of(const Observation& observation) {
  std::string line =
      std::string(observation.name) + " " + to_string(observation.subject) + " = " +
      (observation.value ? to_string(*observation.value) : "(" + std::string(observation.missing) + ")") +
      " " + std::string(observation.unit) + " from " + std::string(observation.source) + " at " +
      format_time(observation.time.wall);
  if (observation.sequence) line += " #" + std::to_string(*observation.sequence);
  for (const auto& [name, value] : observation.attributes)
    if (name != "error" && name != "pod" && name != "podNamespace")
      line += " " + name + ":" + to_string(value);
  return line;
}

std::string replace_all(std::string text, const std::string& part, const std::string& by) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + by.size()))
    text.replace(at, part.size(), by);
  return text;
}

// What a check sees, a line each.
std::vector<std::string> seen_by(const checks::Check& check, const host::OpenedHost& machine,
                                 const std::string& directory) {
  const Instant now = machine.host->clock.now();
  const auto observed = check.observe(
      *machine.host, {.now = now, .deadline = now.mono + check.info.deadline, .kernel_log_from = 0});
  if (!observed) return {"error " + std::string(to_string(observed.error().code))};
  std::vector<std::string> lines;
  for (const Observation& observation : observed->observations)
    lines.push_back(replace_all(line_of(observation), directory, "DIR"));
  for (const std::string& witness : observed->witnesses)
    lines.push_back("witness " + witness);
  std::ranges::sort(lines);
  return lines;
}

std::string difference_of(const std::vector<std::string>& live, const std::vector<std::string>& recorded) {
  std::vector<std::string> lost, gained;
  std::ranges::set_difference(live, recorded, std::back_inserter(lost));
  std::ranges::set_difference(recorded, live, std::back_inserter(gained));
  std::string text;
  for (const std::string& line : lost)
    text += "  - " + line + "\n";
  for (const std::string& line : gained)
    text += "  + " + line + "\n";
  return text;
}

bool has_unknown_names(const std::string& source) {
  return source.ends_with("network.ib_port/cannot_look_counters") ||
         source.ends_with("network.ib_port/cannot_look_one_port");
}

class RecordingTest : public testing::Test {
 public:
  // Without a check: all of them look.
  RecordingTest(std::string source, const checks::Check* check) : source_(std::move(source)), check_(check) {}

  void TestBody() override {
    static MachineBench bench;
    const auto source = simulator::open_source(source_);
    ASSERT_TRUE(source) << source.error().what;
    const simulator::Machine machine =
        source->simulation.at(source->rounds.empty() ? Duration{0} : source->rounds.back());
    if (has_unknown_names(source_))
      GTEST_SKIP() << "a recording does not know what is in a folder that cannot be listed";
    if (has_a_hang(machine)) GTEST_SKIP() << "a machine that hangs is not recorded whole";
    const auto written = bench.put(machine);
    ASSERT_TRUE(written) << written.error().what;
    const auto now = instant_of(machine);
    ASSERT_TRUE(now) << now.error().what;
    const host::OpenedHost live = open_machine(bench.directory(), *now);
    const auto recording = cli::record_machine(*live.host, live.node, live.boot_id);
    ASSERT_TRUE(recording) << recording.error().what;
    static MachineBench recordings;
    const host::TestFolder folder;
    const std::string directory = check_ == nullptr ? folder / "recorded" : recordings.directory();
    const auto kept = check_ == nullptr ? cli::write_recording(*recording, directory)
                                        : recordings.put(machine_of(*recording));
    ASSERT_TRUE(kept) << kept.error().what;
    const host::OpenedHost recorded = open_machine(directory, *now);
    for (const checks::Check& check : checks::builtin_checks())
      if (check_ == nullptr || check_ == &check) {
        const std::string lines =
            difference_of(seen_by(check, live, bench.directory()), seen_by(check, recorded, directory));
        EXPECT_TRUE(lines.empty()) << check.info.id << ": live (-), recorded (+)\n" << lines;
      }
  }

 private:
  std::string source_;
  const checks::Check* check_;
};

void add_test(const std::string& group, const std::string& name, const std::string& source,
              const checks::Check* check) {
  testing::RegisterTest(group.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [source, check]() -> testing::Test* { return new RecordingTest(source, check); });
}

void add_both(const std::string& group, const std::string& name, const std::string& source,
              const checks::Check* check) {
  add_test(group, name, source, check);
  add_scrub_test(group, name + "_scrubbed", source, check);
}

}  // namespace
}  // namespace autopilot::golden

int main(int argc, char** argv) {
  using namespace autopilot::golden;
  testing::InitGoogleTest(&argc, argv);
  for (const auto& machine : autopilot::simulator::builtin_machines())
    add_both("builtin", machine.id, machine.id, nullptr);
  const std::string machines = autopilot::paths::source("tests/machines");
  for (const std::string& machine : directories_in(machines))
    add_both("machine", machine, machines + "/" + machine, nullptr);
  for (const Case& test_case : find_cases(autopilot::paths::source("tests/golden")))
    add_both(test_case.check, test_case.name, test_case.directory,
             autopilot::checks::find_check(test_case.check));
  return RUN_ALL_TESTS();
}
