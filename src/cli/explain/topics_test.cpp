// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/topics.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>

#include "alerts/notice.hpp"
#include "api/preflight.hpp"
#include "cli/explain/vocabulary.hpp"
#include "core/event.hpp"
#include "core/operation.hpp"
#include "core/parse.hpp"
#include "jobs/decision/last_words.hpp"
#include "tests/paths/paths.hpp"
#include "why/explanation.hpp"

namespace autopilot::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> ids_of(const std::string& words) {
  std::vector<std::string> ids;
  for (const Explained& page : find_topics(words, catalog::builtin()))
    ids.push_back(page.id);
  return ids;
}

TEST(Topics, an_error_of_a_driver_has_many_spellings) {
  for (const char* words : {"79", "xid79", "xid 79", "XID-79", "xid_79", "Xid: 79", "(xid 79)", "Xid 79,"})
    EXPECT_THAT(ids_of(words), ElementsAre("xid 79")) << words;
  for (const char* words : {"sxid 12028", "SXid12028", "12028"})
    EXPECT_THAT(ids_of(words), ElementsAre("sxid 12028")) << words;
  EXPECT_THAT(ids_of("xid many"), IsEmpty());
}

TEST(Topics, a_word_means_all_that_it_is_printed_for) {
  EXPECT_THAT(ids_of("failed"), Contains("health failed"));
  EXPECT_THAT(ids_of("failed"), Contains("gate failed"));
  EXPECT_THAT(ids_of("gate failed"), ElementsAre("gate failed"));
  EXPECT_THAT(ids_of("Health  Failed"), ElementsAre("health failed"));
  EXPECT_THAT(ids_of("evict"), ElementsAre("verdict EVICT"));
  EXPECT_THAT(ids_of("exit 3"), ElementsAre("exit 3"));
  EXPECT_THAT(ids_of(""), IsEmpty());
}

TEST(Topics, the_text_of_a_finding_names_its_reason) {
  const auto& facts = catalog::builtin();
  const auto* reason =
      reason_like("lost data: 1 uncorrected memory error since the driver was loaded", facts);
  ASSERT_NE(reason, nullptr);
  EXPECT_EQ(reason->id, "ecc_uncorrected");
  EXPECT_EQ(reason_like("qqqq wwww eeee", facts), nullptr);
  EXPECT_EQ(reason_like("", facts), nullptr);
}

TEST(Topics, an_upper_case_word_has_a_nearest_word) {
  EXPECT_THAT(nearest_topics("EVIC", catalog::builtin()), Contains("EVICT"));
}

TEST(Topics, a_line_of_the_kernel_log_is_decoded) {
  EXPECT_THAT(ids_of("NVRM: GPU 0000:18:00.0: GPU has fallen off the bus."), testing::SizeIs(1));
}

TEST(Topics, every_topic_explains_itself_and_only_known_kinds_exist) {
  const auto& facts = catalog::builtin();
  for (const Topic& topic : all_topics(facts))
    EXPECT_FALSE(find_topics(topic.id, facts).empty()) << topic.kind << " " << topic.id;
  for (const auto list : {machine_words(), job_words()})
    for (const Word& word : list) {
      const auto pages = find_topics(std::string(word.kind) + " " + std::string(word.id), facts);
      ASSERT_EQ(pages.size(), 1U) << word.kind << " " << word.id;
      EXPECT_FALSE(pages[0].text_of("What").empty());
    }
}

TEST(Topics, nearest_names_are_few) {
  EXPECT_THAT(nearest_topics("row_remap_faild", catalog::builtin()), Contains("row_remap_failed"));
  EXPECT_LE(nearest_topics("gpu", catalog::builtin()).size(), 3U);
}

TEST(Topics, an_incident_has_its_form) {
  EXPECT_TRUE(is_incident_form("0123abcd-12"));
  for (const char* text : {"0123abcd", "0123abcd-", "xyz-1", "0123abcd-1-2", ""})
    EXPECT_FALSE(is_incident_form(text)) << text;
}

bool has_word(std::string_view kind, std::string_view id) {
  for (const auto list : {machine_words(), job_words()})
    if (std::ranges::any_of(list, [&](const Word& word) { return word.kind == kind && word.id == id; }))
      return true;
  return false;
}

// Every value up to the first that has no word.
template <class Enumeration>
void expect_words(std::string_view kind, int count) {
  for (int i = 0; i < count; ++i) {
    const auto word = to_string(static_cast<Enumeration>(i));
    if (!word.empty()) EXPECT_TRUE(has_word(kind, word)) << kind << " " << word;
  }
}

TEST(Vocabulary, has_every_word_that_the_program_prints) {
  expect_words<Verdict>("verdict", 5);
  expect_words<Health>("health", 5);
  expect_words<IncidentState>("incident", 3);
  expect_words<FaultEnd>("at fault", 3);
  expect_words<EventKind>("event", 18);
  expect_words<OperationState>("diagnostic", 7);
  expect_words<why::Certainty>("certainty", 3);
  expect_words<why::Kind>("evidence", 10);
  expect_words<api::PreflightOutcome>("gate", 3);
  expect_words<api::PreflightState>("gate", 6);
  expect_words<jobs::FailureKind>("failure", 4);
  expect_words<jobs::JobHealth>("job", 7);
  expect_words<jobs::Effect>("effect", 5);
  expect_words<jobs::Severity>("severity", 3);
  expect_words<jobs::Choice>("advice", 4);
  for (const auto effect : {jobs::Effect::none, jobs::Effect::slow, jobs::Effect::regression,
                            jobs::Effect::hang, jobs::Effect::crash})
    EXPECT_TRUE(has_word("alert", alerts::alert_name(effect)));
}

TEST(Vocabulary, has_every_alert_of_the_rules) {
  for (const char* name : {"rules/findings.yaml", "templates/alerts.yaml"}) {
    std::ifstream in(paths::source("deploy/helm/autopilot") + "/" + name);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    ASSERT_FALSE(text.empty()) << name;
    for (const std::string_view line : split(text, '\n')) {
      constexpr std::string_view kAlert = "- alert: ";
      const std::string_view rule = trim(line);
      if (rule.starts_with(kAlert)) EXPECT_TRUE(has_word("alert", rule.substr(kAlert.size()))) << rule;
    }
  }
}

}  // namespace
}  // namespace autopilot::cli
