// SPDX-License-Identifier: Apache-2.0
#include "api/job_evidence.hpp"

#include <gtest/gtest.h>

namespace autopilot::api::job_evidence_test {
namespace {

TEST(JobEvidence, a_list_is_read_as_it_was_written) {
  EvidenceList list{.folder = "/var/lib/autopilot/jobs/evidence", .evidence = {}};
  list.evidence.push_back({.id = "00c0ffee00c0ffee", .job = "ml/a", .time = WallTime(std::chrono::hours(9))});
  list.evidence[0].items.push_back({.name = "ras", .file = "ras-rank0.txt", .bytes = 7, .took_s = 0.5});
  list.evidence[0].items.push_back({.name = "counters", .problem = "no window yet"});
  const auto read = parse_evidence_list(to_json(list));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->folder, list.folder);
  ASSERT_EQ(read->evidence.size(), 1U);
  EXPECT_EQ(read->evidence[0].id, "00c0ffee00c0ffee");
  ASSERT_EQ(read->evidence[0].items.size(), 2U);
  EXPECT_EQ(read->evidence[0].items[0].file, "ras-rank0.txt");
  EXPECT_EQ(read->evidence[0].items[0].bytes, 7U);
  EXPECT_EQ(read->evidence[0].items[1].problem, "no window yet");
}

TEST(JobEvidence, what_is_no_list_is_malformed) {
  EXPECT_FALSE(parse_evidence_list(""));
  EXPECT_FALSE(parse_evidence_list("{\"folder\":\"/a\"}"));
  EXPECT_FALSE(parse_evidence_list("{\"folder\":\"/a\",\"evidence\":[{\"id\":1}]}"));
}

}  // namespace
}  // namespace autopilot::api::job_evidence_test
