// SPDX-License-Identifier: Apache-2.0
#include "cli/output/evidence_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

using ::testing::HasSubstr;

constexpr WallTime kCaptured{std::chrono::hours{500000}};
constexpr WallTime kAsked = kCaptured + std::chrono::minutes{5};

api::CapturedEvidence captured_evidence() {
  return {.id = "00c0ffee00c0ffee",
          .job = "ml/llama",
          .time = kCaptured,
          .items = {{.name = "ras", .file = "ras-rank0.txt", .bytes = 1500},
                    {.name = "kernel_log", .problem = "/dev/kmsg: Operation not permitted\033[31m"}}};
}

TEST(EvidenceTables, the_list_has_a_row_for_each_capture) {
  EXPECT_EQ(render_evidence_list({captured_evidence()}, kAsked, {}),
            "EVIDENCE          AGE  FILES  SIZE   JOB\n"
            "00c0ffee00c0ffee  5m   1      2 KiB  ml/llama\n");
}

TEST(EvidenceTables, a_capture_shows_its_files_and_what_is_missing) {
  const std::string text = render_evidence(captured_evidence(), kAsked, {});
  EXPECT_THAT(text, HasSubstr("00c0ffee00c0ffee of ml/llama, captured 5m ago (2027-"));
  EXPECT_THAT(text, HasSubstr("ras-rank0.txt  2 KiB  ras\n"));
  EXPECT_THAT(text, HasSubstr("-              -      kernel_log: /dev/kmsg: Operation not permitted?"));
  for (const auto line : split(text, '\n'))
    EXPECT_LE(line.size(), 80U) << line;
}

}  // namespace
}  // namespace autopilot::cli
