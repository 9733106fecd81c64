// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/child_line.hpp"

#include <gtest/gtest.h>
#include <string>

namespace autopilot::diagnostics {
namespace {

TEST(ChildLine, progress_and_observations_come_back_as_they_were_written) {
  const auto progress = parse_child_line(to_line(ChildProgress{0.25, "cpu \"3\""}));
  ASSERT_TRUE(progress.has_value()) << progress.error().what;
  EXPECT_EQ(std::get<ChildProgress>(*progress).progress, 0.25);
  EXPECT_EQ(std::get<ChildProgress>(*progress).message, "cpu \"3\"");

  Observation speed;
  speed.name = "test.speed";
  speed.subject = {SubjectKind::gpu, "0000:3b:00.0", {}, {}, {}};
  speed.value = 12.5;
  speed.unit = "bytes_per_second";
  Observation lost;
  lost.name = "test.lost";
  lost.missing = "timed_out";
  lost.attributes = {{"by", std::string("process \"7\"")}, {"level", std::int64_t{2}}};
  const auto both = parse_child_line(to_line(Observations{speed, lost}));
  ASSERT_TRUE(both.has_value()) << both.error().what;
  const auto& read = std::get<Observations>(*both);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].subject, speed.subject);
  EXPECT_EQ(read[0].value, speed.value);
  EXPECT_EQ(read[0].unit, speed.unit);
  EXPECT_EQ(read[1].subject, host_subject());
  EXPECT_EQ(read[1].value, std::nullopt);
  EXPECT_EQ(read[1].missing, "timed_out");
  EXPECT_EQ(read[1].attributes, lost.attributes);
}

TEST(ChildLine, anything_else_is_refused) {
  for (const std::string& line :
       {std::string(),
        std::string("hello"),
        std::string("{"),
        std::string("[]"),
        std::string("{}"),
        std::string("{\"progress\":2}"),
        std::string("{\"progress\":-0.1}"),
        std::string("{\"progress\":true}"),
        std::string("{\"progress\":\"x\"}"),
        std::string("{\"progress\":1e999}"),
        std::string("{\"progress\":0,\"message\":7}"),
        std::string("{\"observations\":7}"),
        std::string("{\"observations\":[7]}"),
        std::string("{\"observations\":[{}]}"),
        std::string(R"({"observations":[{"name":"a","value":1}]})"),
        std::string(R"({"observations":[{"name":"a","value":1,"subject":"moon/1"}]})"),
        std::string(R"({"observations":[{"name":"a","subject":"host"}]})"),
        std::string(R"({"observations":[{"name":"a","value":[],"subject":"host"}]})"),
        std::string(R"({"observations":[{"name":"a","value":1,"subject":"host","attributes":7}]})"),
        std::string(R"({"observations":[{"name":"a","value":1,"subject":"host","attributes":{"b":[]}}]})"),
        std::string(R"({"observations":[{"name":"a","value":1,"subject":"host","attributes":{"":1}}]})"),
        std::string("{\"progress\":0,\"message\":\"\xff\"}"),
        std::string("\0\1\2", 3),
        std::string(100'000, '['),
        std::string(100'000, '{')}) {
    const auto parsed = parse_child_line(line);
    ASSERT_FALSE(parsed.has_value()) << line.substr(0, 100);
    EXPECT_EQ(parsed.error().code, Errc::malformed);
  }
}

TEST(ChildLine, every_torn_line_is_refused) {
  Observation speed;
  speed.name = "test.speed";
  speed.value = std::int64_t{7};
  const std::string line = to_line(Observations{speed});
  for (std::size_t length = 0; length + 1 < line.size(); ++length)
    EXPECT_FALSE(parse_child_line(line.substr(0, length)).has_value()) << length;
}

TEST(ChildLine, limits_hold) {
  Observation one;
  one.name = "a";
  one.value = std::int64_t{1};
  EXPECT_TRUE(parse_child_line(to_line(Observations(kMaxChildObservations, one))).has_value());
  EXPECT_FALSE(parse_child_line(to_line(Observations(kMaxChildObservations + 1, one))).has_value());
  one.attributes = {{"why", std::string(kMaxChildMessage, 'w')}};
  EXPECT_TRUE(parse_child_line(to_line(Observations{one})).has_value());
  one.attributes = {{"why", std::string(kMaxChildMessage + 1, 'w')}};
  EXPECT_FALSE(parse_child_line(to_line(Observations{one})).has_value());
  one.attributes.clear();
  for (std::size_t i = 0; i <= kMaxChildAttributes; ++i)
    one.attributes.emplace_back("a" + std::to_string(i), true);
  EXPECT_FALSE(parse_child_line(to_line(Observations{one})).has_value());
  const auto progress = parse_child_line(to_line(ChildProgress{1, std::string(10'000, 'm')}));
  ASSERT_TRUE(progress.has_value());
  EXPECT_EQ(std::get<ChildProgress>(*progress).message.size(), kMaxChildMessage);
}

}  // namespace
}  // namespace autopilot::diagnostics
