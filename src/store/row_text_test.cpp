// SPDX-License-Identifier: Apache-2.0
#include "store/row_text.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "tests/support/store/journal_fixture.hpp"

namespace autopilot::store {
namespace {

TEST(RowText, names_the_member_that_is_wrong) {
  EXPECT_NE(parse_event(R"({"kind":"no_such_kind"})").error().what.find("kind"), std::string::npos);
  EXPECT_NE(parse_event(R"({"details":[["a"]]})").error().what.find("details"), std::string::npos);
  EXPECT_NE(parse_incident(R"({"members":[1]})").error().what.find("members"), std::string::npos);
  EXPECT_NE(parse_finding(R"({"since":"now"})").error().what.find("since"), std::string::npos);
  EXPECT_NE(parse_operation(R"({"progress":true})").error().what.find("progress"), std::string::npos);
}

TEST(RowText, members_that_are_not_there_keep_their_default) {
  const auto event = parse_event("{}");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->message, "");
  EXPECT_EQ(event->subject, host_subject());
  EXPECT_FALSE(parse_observation("{}")->value);
}

TEST(RowText, numbers_keep_their_type_and_odd_ones_their_meaning) {
  for (const double number : {0.0, -0.0, 2.0, 1e300, 5e-324, 0.1, std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()}) {
    Observation observation;
    observation.value = number;
    EXPECT_EQ(parse_observation(to_text(observation))->value, Value{number}) << number;
  }
  Observation odd;
  odd.value = std::nan("");
  EXPECT_TRUE(std::isnan(std::get<double>(*parse_observation(to_text(odd))->value)));
  odd.value = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(parse_observation(to_text(odd))->value, odd.value);
}

TEST(RowText, hostile_texts_are_errors) {
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{\"a\":"),
        std::string(100'000, '['), std::string("\xff\xfe\0x", 4)}) {
    EXPECT_EQ(parse_event(text).error().code, Errc::malformed);
    EXPECT_EQ(parse_operation(text).error().code, Errc::malformed);
  }
}

TEST(RowText, who_acknowledged_an_incident_and_why_is_kept) {
  Incident incident;
  incident.id = "b-1";
  incident.acknowledged = {"alice (uid 1000)", WallTime{std::chrono::hours{5}}, "the card is ordered"};
  const auto kept = parse_incident(to_text(incident));
  ASSERT_TRUE(kept && kept->acknowledged);
  EXPECT_EQ(kept->acknowledged->by, "alice (uid 1000)");
  EXPECT_EQ(kept->acknowledged->at, WallTime{std::chrono::hours{5}});
  EXPECT_EQ(kept->acknowledged->reason, "the card is ordered");
  EXPECT_FALSE(parse_incident(to_text(Incident{}))->acknowledged);
}

TEST(RowText, the_gpu_users_of_an_incident_are_kept) {
  Incident incident;
  incident.id = "b-1";
  GpuUser& gpu_user = incident.gpu_users.emplace_back();
  gpu_user.pid = 4200;
  gpu_user.started_ticks = 7700;
  gpu_user.process = "python3";
  gpu_user.owner = {"0123456789ab", "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d", "ml", "train-0", "slurm 4711",
                    "api"};
  gpu_user.first_seen = WallTime{std::chrono::hours{5}};
  gpu_user.last_seen = WallTime{std::chrono::hours{6}};
  GpuUser holder;
  holder.owner.pod_namespace = "ml";
  holder.owner.pod = "idle-0";
  incident.gpu_users.push_back(holder);
  const auto kept = parse_incident(to_text(incident));
  ASSERT_TRUE(kept);
  ASSERT_EQ(kept->gpu_users.size(), 2U);
  const GpuUser& process = incident.gpu_users[0];
  EXPECT_TRUE(kept->gpu_users[0].is_same(process));
  EXPECT_EQ(kept->gpu_users[0].process, "python3");
  EXPECT_EQ(kept->gpu_users[0].owner, process.owner);
  EXPECT_EQ(kept->gpu_users[0].first_seen, process.first_seen);
  EXPECT_EQ(kept->gpu_users[0].last_seen, process.last_seen);
  EXPECT_FALSE(kept->gpu_users[1].is_process());
  EXPECT_TRUE(kept->gpu_users[1].is_same(holder));
}

TEST(RowText, random_damage_never_crashes) {
  Incident incident;
  incident.id = "b-1";
  incident.members.push_back({"gpu.ecc", {}, false, std::nullopt});
  incident.members[0].finding.evidence = {{"a", 1.5}, {"b", std::string("w")}};
  const std::string whole = to_text(incident);
  std::mt19937 random = testing::random_numbers(3);
  for (int round = 0; round < 2000; ++round) {
    std::string text = whole;
    for (int i = 0; i < 3; ++i)
      text[random() % text.size()] = static_cast<char>(random());
    if (const auto parsed = parse_incident(text)) {
      EXPECT_LE(parsed->members.size(), 1U);
    }
  }
}

}  // namespace
}  // namespace autopilot::store
