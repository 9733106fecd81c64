// SPDX-License-Identifier: Apache-2.0
#include "api/learned_versions.hpp"

#include <gtest/gtest.h>
#include <string>

#include "api/learned_signals.hpp"
#include "core/stable_hash.hpp"

namespace autopilot::api {
namespace {

using learning::ProposalState;
using learning::Version;

constexpr WallTime kFiledAt{std::chrono::days(20'000)};

learning::Proposal filed_proposal(learning::ProposalKind kind) {
  return learning::make_proposal({.kind = kind,
                                  .subject = "gbps of net.loopback on gpu=\"H100\"",
                                  .sentence = "For x: 2 instead of 1",
                                  .from = "1",
                                  .to = "2",
                                  .from_version = 1,
                                  .to_version = 2,
                                  .basis = {100, 20, 3, kFiledAt - std::chrono::days(9), kFiledAt},
                                  .replay = {50, 1, 2}},
                                 kFiledAt + std::chrono::nanoseconds(7));
}

Version filed_baseline() {
  learning::Baseline baseline{.key = {"gpu=H100", "net.loopback", "gbps", learning::Worse::lower},
                              .version = 2,
                              .parent = 1,
                              .nodes = 20,
                              .alpha = 0.95,
                              .repeat_cv = 0.01,
                              .created = kFiledAt};
  for (std::size_t i = 0; i < baseline.sketch.size(); ++i)
    baseline.sketch.at(i) = 100.0 / 3 + static_cast<double>(i) / 7;
  return {filed_proposal(learning::ProposalKind::baseline), baseline, {}};
}

std::string with_checksum(const std::string& line) {
  return line + "\n" + stable_hash(line + "\n").hex() + "\n";
}

TEST(LearnedVersionText, is_read_as_it_was_written) {
  Version version = filed_baseline();
  version.steps = {{ProposalState::shadow, kFiledAt, "ops", ""},
                   {ProposalState::canary, kFiledAt, "o\"ps", "why\n"}};
  const auto read = parse_version(format_version(version));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(format_version(*read), format_version(version));
  EXPECT_EQ(read->state(), ProposalState::canary);
  EXPECT_EQ(read->proposal.created, version.proposal.created);
  EXPECT_EQ(read->proposal.shadow_until, kFiledAt + learning::kShadow);
  EXPECT_EQ(std::get<learning::Baseline>(read->learned).sketch,
            std::get<learning::Baseline>(version.learned).sketch);
}

TEST(LearnedVersionText, has_thresholds_and_roles) {
  const learning::LearnedThreshold threshold{"gpu.x.y", "gpu=H100", 0.1 + 0.2};
  const auto read =
      parse_version(format_version({filed_proposal(learning::ProposalKind::threshold), threshold, {}}));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(std::get<learning::LearnedThreshold>(read->learned), threshold);
  EXPECT_FALSE(read->state());
  const learning::LearnedRole role{"gpu.x", learning::CheckRole::advisory};
  const auto other =
      parse_version(format_version({filed_proposal(learning::ProposalKind::check_role), role, {}}));
  ASSERT_TRUE(other) << other.error().what;
  EXPECT_EQ(std::get<learning::LearnedRole>(other->learned), role);
}

TEST(LearnedVersionText, that_is_damaged_is_refused) {
  const std::string text = format_version(filed_baseline());
  EXPECT_FALSE(parse_version(""));
  EXPECT_FALSE(parse_version(std::string(1000, '\0')));
  EXPECT_FALSE(parse_version(text + "x"));
  for (std::size_t size = 0; size < text.size(); size += 37)
    EXPECT_EQ(parse_version(text.substr(0, size)).error().code, Errc::malformed) << size;
  for (std::size_t at = 0; at < text.size(); at += 29) {
    std::string flipped = text;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_FALSE(parse_version(flipped)) << at;
  }
}

TEST(LearnedVersionText, of_another_format_or_out_of_range_is_refused_with_the_member) {
  std::string line = format_version(filed_baseline());
  line.resize(line.find('\n'));
  const auto problem_with = [&line](const std::string& from, const std::string& to) {
    std::string changed = line;
    changed.replace(changed.find(from), from.size(), to);
    const auto read = parse_version(with_checksum(changed));
    return read ? std::string("accepted") : read.error().what;
  };
  EXPECT_NE(problem_with("\"format\":1", "\"format\":2").find("newer Autopilot"), std::string::npos);
  EXPECT_NE(problem_with("\"quantiles\":[", "\"quantiles\":[\"a\",").find("quantiles[0]"), std::string::npos);
  EXPECT_NE(problem_with("\"quantiles\":[", "\"quantiles\":[1,"), "accepted");
  EXPECT_NE(problem_with("\"alpha\":0.95", "\"alpha\":7").find("alpha"), std::string::npos);
  EXPECT_NE(problem_with("\"kind\":\"baseline\"", "\"kind\":\"magic\"").find("kind"), std::string::npos);
  EXPECT_NE(problem_with("\"id\":\"", "\"id\":\"../").find("id"), std::string::npos);
  EXPECT_NE(problem_with("\"steps\":[]", "\"steps\":7").find("steps"), std::string::npos);
}

Version filed_signals() {
  return {filed_proposal(learning::ProposalKind::signals),
          learning::LearnedSignals{0.1, {{"sm_clock_low", 2.5, 2, 3, 40}}, {{"temp_high", 0.75, 900}}},
          {}};
}

TEST(LearnedVersionText, weights_of_signals_are_read_as_they_were_written) {
  const auto read = parse_version(format_version(filed_signals()));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(std::get<learning::LearnedSignals>(read->learned),
            std::get<learning::LearnedSignals>(filed_signals().learned));
  const auto weights = weights_of(*read);
  ASSERT_TRUE(weights);
  EXPECT_EQ((*weights)->version, read->proposal.id);
  EXPECT_EQ((*weights)->log_odds.at("sm_clock_low"), 2.5);
  EXPECT_EQ((*weights)->margins.at("temp_high"), 0.75);
  EXPECT_FALSE(weights_of(filed_baseline()));
}

TEST(LearnedVersionText, a_weight_of_a_fact_is_refused) {
  Version version = filed_signals();
  std::get<learning::LearnedSignals>(version.learned).weights[0].signal = "xid_hardware";
  const auto read = parse_version(format_version(version));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().what.find("xid_hardware"), std::string::npos);
}

}  // namespace
}  // namespace autopilot::api
