// SPDX-License-Identifier: Apache-2.0
#include "cli/state_files.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

class StateFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "state-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    settings_.state_dir = pattern;
    std::filesystem::create_directories(pattern + "/simulated");
  }
  void TearDown() override { std::filesystem::remove_all(settings_.state_dir); }

  std::string make(const std::string& name) const {
    std::ofstream(settings_.state_dir + "/" + name) << "x";
    return settings_.state_dir + "/" + name;
  }

  config::Config settings_;
};

TEST_F(StateFiles, the_files_of_a_simulated_machine_are_read_if_there_are_no_others) {
  const std::string journal = make("simulated/node.db");
  const std::string history = make("simulated/node-history.db");
  EXPECT_EQ(journal_to_read(settings_).path, journal);
  EXPECT_THAT(journal_to_read(settings_).note, ::testing::HasSubstr(journal));
  EXPECT_EQ(history_to_read(settings_).path, history);
}

TEST_F(StateFiles, the_files_of_the_machine_come_first) {
  make("simulated/node.db");
  const std::string journal = make("journal.db");
  EXPECT_EQ(journal_to_read(settings_).path, journal);
  EXPECT_EQ(journal_to_read(settings_).note, "");
}

TEST_F(StateFiles, without_any_file_the_usual_path_is_named) {
  EXPECT_EQ(journal_to_read(settings_).path, settings_.journal_path());
  EXPECT_EQ(history_to_read(settings_).path, settings_.history_path());
  EXPECT_EQ(history_to_read(settings_).note, "");
}

}  // namespace
}  // namespace autopilot::cli
