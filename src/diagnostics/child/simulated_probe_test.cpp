// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/simulated_probe.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnostics/child/child_line.hpp"

namespace autopilot::diagnostics {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr const char* kProbe =
    "    found:\n"
    "      - {name: speed.outcome, subject: host, source: probe, value: measured}\n"
    "      - {name: speed.rate, subject: gpu/0000:1b:00.0, source: probe, value: 55.5}\n"
    "      - {name: speed.rate, subject: gpu/0000:43:00.0, source: probe, value: 1.5}\n";

class SimulatedProbe : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "simulated_probe_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& how) const {
    std::ofstream(folder_ + "/machine.yaml")
        << "schema: autopilot.machine/v1\nnode: n\nboot_id: 1b4e28ba-2fa1-11d2-883f-0016d3cca427\n"
           "time: 2026-11-21T03:04:05Z\nuptime: 1h\nsimulated: true\nprobes:\n  gpu.speed:\n    "
        << how << "\n"
        << kProbe;
  }
  Status run(const std::string& check, const std::vector<Subject>& subjects = {}) {
    const auto file = host::MachineTreeFile::open(folder_);
    if (!file) return fail(file.error());
    return probe_simulated(**file, check, subjects, [this](const std::string& line) {
      lines_.push_back(line);
      if (on_line_) on_line_();
    });
  }
  [[nodiscard]] Observations found() const {
    const auto line = parse_child_line(lines_.empty() ? "" : lines_.back());
    const Observations* found = line ? std::get_if<Observations>(&*line) : nullptr;
    return found == nullptr ? Observations{} : *found;
  }

  std::string folder_;
  std::vector<std::string> lines_;
  std::function<void()> on_line_;
};

std::vector<std::string> subjects_in(const Observations& found) {
  std::vector<std::string> subjects;
  for (const Observation& one : found)
    subjects.push_back(to_string(one.subject));
  return subjects;
}

TEST_F(SimulatedProbe, tells_what_is_found_of_the_subjects_it_was_given) {
  write("takes: 10ms");
  ASSERT_TRUE(run("gpu.speed", {*parse_subject("gpu/0000:43:00.0")}));
  EXPECT_THAT(lines_, Contains(HasSubstr("gpu.speed of 1 subject")));
  EXPECT_THAT(subjects_in(found()), ElementsAre("host", "gpu/0000:43:00.0"));
}

TEST_F(SimulatedProbe, tells_of_a_link_where_both_its_ends_are_tested) {
  write(
      "found: [{name: speed.read, subject: 'link/0000:1b:00.0|0000:43:00.0', source: probe, value: 1},\n"
      "            {name: speed.read, subject: 'link/0000:1b:00.0|0000:52:00.0', source: probe, value: 2}]\n"
      "  gpu.other:");
  ASSERT_TRUE(run("gpu.speed", {*parse_subject("gpu/0000:1b:00.0"), *parse_subject("gpu/0000:43:00.0")}));
  EXPECT_THAT(subjects_in(found()), ElementsAre("link/0000:1b:00.0|0000:43:00.0"));
}

TEST_F(SimulatedProbe, without_subjects_everything_is_tested) {
  write("takes: 0s");
  ASSERT_TRUE(run("gpu.speed"));
  EXPECT_THAT(found(), SizeIs(3));
}

TEST_F(SimulatedProbe, hangs_until_the_machine_no_longer_says_so_and_tells_what_is_then) {
  write("hangs: true");
  on_line_ = [this] { write("takes: 0s"); };
  ASSERT_TRUE(run("gpu.speed"));
  EXPECT_THAT(found(), SizeIs(3));
}

TEST_F(SimulatedProbe, a_test_that_this_machine_does_not_have_is_an_error) {
  write("takes: 0s");
  const auto made = run("gpu.other");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::not_found);
  EXPECT_THAT(made.error().what, HasSubstr("gpu.other"));
}

}  // namespace
}  // namespace autopilot::diagnostics
