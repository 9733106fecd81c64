// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/candidates.hpp"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verbs.hpp"

namespace autopilot::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> words_at_end(const std::vector<std::string>& words) {
  CLI::App app{"", "autopilot"};
  int exit_code = 0;
  add_check(app, exit_code);
  add_ack(app, exit_code);
  add_events(app, exit_code);
  add_explain(app, exit_code);
  add_test(app, exit_code);
  add_jobs(app, exit_code);
  add_decode(app, exit_code);
  add_helper(app, exit_code);
  LiveWords live;
  live.incidents = [] { return std::vector<Candidate>{{"0123abcd-1", "GPU 3 is\nlost"}}; };
  live.jobs = [] { return std::vector<Candidate>{{"ml/llama", ""}}; };
  std::vector<std::string> offered;
  for (const Candidate& one : complete(app, words, live).candidates)
    offered.push_back(one.word);
  return offered;
}

TEST(Completion, offers_verbs_options_and_their_values) {
  EXPECT_THAT(words_at_end({"de"}), ElementsAre("decode"));
  EXPECT_THAT(words_at_end({"helper"}), IsEmpty()) << "it is hidden";
  EXPECT_THAT(words_at_end({"check", "gpu.row"}), ElementsAre("gpu.row_remap"));
  EXPECT_THAT(words_at_end({"check", "--stri"}), ElementsAre("--strict"));
  EXPECT_THAT(words_at_end({"check", "--strict", "-o", "y"}), ElementsAre("yaml"));
  EXPECT_THAT(words_at_end({"check", "--output=j"}), ElementsAre("--output=json"));
  EXPECT_THAT(words_at_end({"events", "--kind", "incident_c"}),
              ElementsAre("incident_changed", "incident_closed"));
  EXPECT_THAT(words_at_end({"events", "--reason", "row_remap_f"}), Contains("row_remap_failed"));
  EXPECT_THAT(words_at_end({"ack", "x", "--reason", "row"}), IsEmpty()) << "a text of the person";
}

TEST(Completion, offers_what_the_agent_knows) {
  EXPECT_THAT(words_at_end({"ack", ""}), ElementsAre("0123abcd-1"));
  EXPECT_THAT(words_at_end({"jobs", "why", "ml"}), ElementsAre("ml/llama"));
  EXPECT_THAT(words_at_end({"explain", "0123"}), ElementsAre("0123abcd-1"));
}

TEST(Completion, offers_errors_of_drivers_by_their_numbers) {
  EXPECT_THAT(words_at_end({"explain", "xid7"}), Contains("xid79"));
  EXPECT_THAT(words_at_end({"explain", "79"}), Contains("79"));
  EXPECT_THAT(words_at_end({"explain", "xid", "7"}), Contains("79"));
  EXPECT_THAT(words_at_end({"explain", ""}), Not(Contains("xid79"))) << "too many without a letter";
}

TEST(Completion, joins_what_bash_breaks) {
  std::size_t cut = 0;
  EXPECT_THAT(joined_at_breaks({"check", "--output", "=", "j"}, cut), ElementsAre("check", "--output=j"));
  EXPECT_EQ(cut, std::string("--output=").size());
  EXPECT_THAT(joined_at_breaks({"inject", "gpu/0000", ":", "3b", ":", "0"}, cut),
              ElementsAre("inject", "gpu/0000:3b:0"));
  EXPECT_EQ(cut, std::string("gpu/0000:3b:").size());
  EXPECT_THAT(joined_at_breaks({"check", "gpu"}, cut), ElementsAre("check", "gpu"));
  EXPECT_EQ(cut, 0U);
}

}  // namespace
}  // namespace autopilot::cli
