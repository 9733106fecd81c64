// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/folder.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace autopilot::simulated_jobs {
namespace {

class Folder : public testing::Test {
 protected:
  Folder()
      : path_(std::filesystem::path(testing::TempDir()) /
              ("jobs-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~Folder() override { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(Folder&&) = delete;

  std::filesystem::path path_;
};

Scenario short_one(const char* name) {
  Scenario scenario = named_scenario(name).value();
  scenario.hours = 0.5;
  for (PlannedFault& fault : scenario.faults)
    fault.at = 900;
  return scenario;
}

TEST_F(Folder, every_line_is_valid_in_its_file) {
  for (const char* name : {"hang_stopped_process", "sdc", "xid", "link_flap", "hung_engine"}) {
    Generator generator(short_one(name));
    const auto counts = write_folder(generator, path_ / name);
    ASSERT_TRUE(counts) << counts.error().what;
    for (const api::JobFile file : api::kJobFiles) {
      std::ifstream stream(path_ / name / api::file_name(file));
      std::string line;
      std::uint64_t lines = 0;
      while (std::getline(stream, line)) {
        const auto parsed = api::parse_job_line(line, file);
        ASSERT_TRUE(parsed) << name << ": " << parsed.error().what << "\n" << line.substr(0, 400);
        ++lines;
      }
      EXPECT_EQ(lines, (*counts)[static_cast<std::size_t>(file)]) << name << " " << api::file_name(file);
    }
  }
}

TEST_F(Folder, a_folder_that_is_not_empty_is_kept) {
  std::filesystem::create_directories(path_);
  std::ofstream(path_ / "mine") << "text";
  Generator generator(short_one("xid"));
  const auto counts = write_folder(generator, path_);
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().code, Errc::conflict);
  EXPECT_FALSE(std::filesystem::exists(path_ / "jobs.jsonl"));
}

TEST_F(Folder, a_folder_that_cannot_be_created_is_an_error_with_its_path) {
  Generator generator(short_one("xid"));
  const auto counts = write_folder(generator, "/proc/no/such");
  ASSERT_FALSE(counts);
  EXPECT_NE(counts.error().what.find("/proc/no/such"), std::string::npos);
}

}  // namespace
}  // namespace autopilot::simulated_jobs
