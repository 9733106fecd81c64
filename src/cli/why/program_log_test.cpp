// SPDX-License-Identifier: Apache-2.0
#include "cli/why/program_log.hpp"

#include <gtest/gtest.h>
#include <string>

namespace autopilot::cli {
namespace {

std::string reasons_in(std::string_view log) {
  std::string reasons;
  for (const why::Evidence& one : evidence_in_log(log, {}))
    reasons += one.finding.reason + ";";
  return reasons;
}

TEST(ProgramLog, limits_are_recognised_by_the_texts_of_programs) {
  EXPECT_EQ(reasons_in("OSError: [Errno 24] Too many open files: '/data/x'"), "open_files_limit;");
  EXPECT_EQ(reasons_in("Call to ibv_reg_mr failed with error Cannot allocate memory"),
            "locked_memory_limit;");
  EXPECT_EQ(reasons_in("bash: fork: retry: Resource temporarily unavailable"), "pids_limit;");
  EXPECT_EQ(reasons_in("RuntimeError: can't start new thread"), "pids_limit;");
  EXPECT_EQ(reasons_in("increase the stack size (ulimit -s unlimited)"), "stack_limit;");
  EXPECT_EQ(
      reasons_in(
          "RuntimeError: DataLoader worker (pid 17) is killed by signal: Bus error. It is possible that "
          "dataloader's workers are out of shared memory."),
      "shared_memory_full;");
  EXPECT_EQ(reasons_in("step 7 loss 2.1\nno error\nCannot allocate memory\n"), "");
  EXPECT_EQ(reasons_in(""), "");
}

TEST(ProgramLog, a_limit_that_is_reached_often_is_stated_once_with_its_last_line) {
  const auto found = evidence_in_log("a: Too many open files\nb: Too many open files\n", {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(std::get<std::string>(found[0].finding.evidence[0].second), "b: Too many open files");
}

TEST(ProgramLog, a_file_that_is_missing_is_named) {
  const auto text = read_program_log("/does/not/exist");
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().what.find("/does/not/exist"), std::string::npos);
}

}  // namespace
}  // namespace autopilot::cli
