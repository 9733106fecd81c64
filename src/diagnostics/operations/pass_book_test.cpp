// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/operations/pass_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::diagnostics {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WallTime kNoon{std::chrono::hours{12}};

Subject card(const std::string& key, const std::string& uuid = "") {
  return {SubjectKind::gpu, key, {}, uuid, {}};
}

NodeSnapshot node_with(std::vector<Incident> incidents) {
  NodeSnapshot snapshot;
  CheckResult& present = snapshot.results.emplace_back();
  present.check = "gpu.present";
  Observations seen;
  for (const auto& [key, uuid] : {std::pair("a", "GPU-a"), std::pair("b", "GPU-b")}) {
    Observation& one = seen.emplace_back();
    one.name = "gpu.state";
    one.subject = card(key, uuid);
  }
  present.observations = seen;
  snapshot.incidents = std::move(incidents);
  return snapshot;
}

Incident incident_of(const Subject& blamed, WallTime opened) {
  Incident incident;
  incident.blamed = blamed;
  incident.opened = opened;
  return incident;
}

class PassBookTest : public ::testing::Test {
 protected:
  PassBookTest() {
    book_.add({{"GPU-a", "gpu.pcie_bandwidth", kNoon, "boot", "op-1"},
               {"GPU-b", "gpu.pcie_bandwidth", kNoon, "boot", "op-1"}});
    remembered_.clear();
  }
  [[nodiscard]] std::vector<std::string> gpus() const {
    std::vector<std::string> uuids;
    for (const PassRecord& record : book_.records())
      uuids.push_back(record.gpu_uuid);
    return uuids;
  }

  std::vector<PassRecord> remembered_;
  PassBook book_{{}, [this](const auto& records) {
                   remembered_.insert(remembered_.end(), records.begin(), records.end());
                 }};
};

TEST_F(PassBookTest, an_incident_takes_away_what_its_gpu_passed_before) {
  book_.note(node_with({incident_of(card("a"), kNoon + 1s)}));
  EXPECT_THAT(gpus(), ElementsAre("GPU-b"));
  ASSERT_EQ(remembered_.size(), 1U);
  EXPECT_EQ(remembered_[0].time, WallTime{});
  book_.note(node_with({}));
  EXPECT_THAT(gpus(), ElementsAre("GPU-b"));
}

TEST_F(PassBookTest, what_was_passed_since_stays) {
  book_.note(node_with({incident_of(card("a"), kNoon - 1s)}));
  EXPECT_THAT(gpus(), ElementsAre("GPU-a", "GPU-b"));
}

TEST_F(PassBookTest, a_part_of_the_gpu_is_the_gpu) {
  book_.note(node_with({incident_of({SubjectKind::nvlink, "b/3", {}, {}, {}}, kNoon + 1s)}));
  EXPECT_THAT(gpus(), ElementsAre("GPU-a"));
}

TEST_F(PassBookTest, a_finding_that_joins_counts_from_its_own_beginning) {
  Incident incident = incident_of(card("b"), kNoon - 1h);
  IncidentMember& member = incident.members.emplace_back();
  member.finding.subject = card("a");
  member.finding.health = Health::degraded;
  member.finding.since = kNoon - 1h;
  member.finding.last_seen = kNoon + 1h;  // it stands, and nothing is new
  book_.note(node_with({incident}));
  EXPECT_THAT(gpus(), ElementsAre("GPU-a", "GPU-b"));
  incident.members[0].finding.since = kNoon + 1s;
  book_.note(node_with({incident}));
  EXPECT_THAT(gpus(), ElementsAre("GPU-b"));
}

TEST_F(PassBookTest, a_record_of_the_driver_that_comes_again_is_news) {
  Incident incident = incident_of(host_subject(), kNoon - 1h);
  IncidentMember& member = incident.members.emplace_back();
  member.finding.subject = card("a");
  member.finding.health = Health::healthy;
  member.finding.since = kNoon - 1h;
  member.finding.last_seen = kNoon + 1s;
  book_.note(node_with({incident}));
  EXPECT_THAT(gpus(), ElementsAre("GPU-b"));
}

TEST_F(PassBookTest, what_somebody_tried_out_takes_nothing_away) {
  Incident incident = incident_of(card("a"), kNoon + 1s);
  incident.injected = true;
  book_.note(node_with({incident}));
  EXPECT_THAT(gpus(), ElementsAre("GPU-a", "GPU-b"));
}

TEST_F(PassBookTest, what_is_found_late_of_an_earlier_agent_replaces_nothing) {
  book_.add_older({{"GPU-a", "gpu.pcie_bandwidth", kNoon - 1h, "boot", "op-0"},
                   {"GPU-a", "deep_test", kNoon - 1h, "boot", "op-0"},
                   {"GPU-b", "deep_test", WallTime{}, "boot", "op-0"}});
  ASSERT_EQ(book_.records().size(), 3U);
  EXPECT_EQ(book_.records()[0].time, kNoon);
  EXPECT_EQ(book_.records()[2].test, "deep_test");
}

TEST(PassBook, what_was_taken_away_is_not_there_after_a_restart) {
  const PassBook book({{"GPU-a", "t", WallTime{}, "boot", "op-1"}}, [](const auto&) {});
  EXPECT_THAT(book.records(), IsEmpty());
}

}  // namespace
}  // namespace autopilot::diagnostics
