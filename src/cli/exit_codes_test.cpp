// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_codes.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

using ::testing::HasSubstr;

TEST(ExitCodes, of_a_verb_are_those_of_its_row) {
  EXPECT_THAT(exit_status_text("check"),
              HasSubstr("Exit status: 0 healthy; 1 degraded; 2 failed; 3 a required"));
  EXPECT_THAT(exit_status_text("why"), HasSubstr("4 no cause was found"));
}

TEST(ExitCodes, of_a_verb_without_a_row_are_the_plain_ones) {
  EXPECT_THAT(exit_status_text("version"), HasSubstr("0 done; 64 usage; 70 "));
  EXPECT_THAT(exit_status_text("kubectl autopilot nodes"), HasSubstr("78 the kubeconfig"));
}

TEST(ExitCodes, have_a_general_meaning_and_ascend) {
  const auto known = exit_codes();
  for (const char* verb : {"check", "status", "why", "test", "jobs show", "slurm health-check", "version",
                           "kubectl autopilot status", "validations", "preflight"}) {
    const auto codes = exit_codes_of(verb);
    EXPECT_TRUE(std::ranges::is_sorted(codes, {}, &ExitCode::code)) << verb;
    for (const ExitCode& one : codes)
      EXPECT_NE(std::ranges::find(known, one.code, &ExitCode::code), known.end()) << verb << " " << one.code;
  }
}

}  // namespace
}  // namespace autopilot::cli
