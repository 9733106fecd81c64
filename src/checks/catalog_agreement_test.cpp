// SPDX-License-Identifier: Apache-2.0
// What the checks say of themselves and what /catalog says of them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <re2/re2.h>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"
#include "checks/check.hpp"
#include "host/gpu/readings.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::checks {
namespace {

TEST(CatalogAgreement, every_check_with_rules_of_the_kernel_log_interprets_its_records) {
  for (const Check& check : builtin_checks()) {
    const bool reads = std::ranges::find(check.info.tags, "kernel_log") != check.info.tags.end();
    if (reads) EXPECT_NE(check.interpret, nullptr) << check.info.id;
  }
}

TEST(CatalogAgreement, every_check_has_its_page_and_in_the_same_order) {
  std::vector<std::string> pages;
  for (const auto& page : catalog::builtin().checks())
    if (find_check(page.id) != nullptr) pages.push_back(page.id);
  std::vector<std::string> checks;
  for (const Check& check : builtin_checks())
    checks.push_back(check.info.id);
  EXPECT_EQ(checks, pages);
}

TEST(CatalogAgreement, pages_give_title_witnesses_and_rights_of_the_check) {
  for (const Check& check : builtin_checks()) {
    const catalog::CheckPage* page = catalog::builtin().check(check.info.id);
    ASSERT_NE(page, nullptr) << check.info.id;
    EXPECT_EQ(check.info.title, page->title) << check.info.id;
    EXPECT_LE(check.info.id.size(), 22U) << "tables have so much room";
    EXPECT_LE(check.info.title.size(), 27U) << "`check --list` must fit 80 columns";
    EXPECT_EQ(check.info.witnesses, page->witnesses) << check.info.id;
    EXPECT_EQ(check.info.rights, page->rights) << check.info.id;
  }
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A judge may put the end of an id together: "..._gen" and the number of a generation.
bool begins_a_threshold(const std::string& word) {
  const auto& thresholds = catalog::builtin().thresholds();
  return std::any_of(thresholds.begin(), thresholds.end(),
                     [&word](const catalog::Threshold& threshold) { return threshold.id.starts_with(word); });
}

// A judge that names a word the catalog lacks aborts when it first needs it: find it before.
TEST(CatalogAgreement, judges_name_only_thresholds_and_reasons_that_exist) {
  int words = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(paths::source("src/checks"))) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".cpp") || name.ends_with("_test.cpp")) continue;
    const std::string text = read(entry.path());
    re2::StringPiece rest(text);
    std::string word;
    while (
        RE2::FindAndConsume(&rest, "\"((?:gpu|network|storage|host)\\.[a-z0-9_]+\\.[a-z0-9_]+)\"", &word)) {
      ++words;
      EXPECT_TRUE(begins_a_threshold(word)) << name << ": " << word;
    }
    rest = re2::StringPiece(text);
    while (RE2::FindAndConsume(&rest, "make_finding\\(\\s*\\w+,[^,;\"]+,\\s*\"([a-z0-9_]+)\"", &word)) {
      ++words;
      EXPECT_NE(catalog::builtin().reason(word), nullptr) << name << ": " << word;
    }
  }
  EXPECT_GT(words, 0);
}

TEST(CatalogAgreement, every_number_and_flag_of_a_driver_has_a_range) {
  const std::set<std::string_view> words{host::reading::kNvLinkRemote, host::reading::kProcessPids,
                                         host::reading::kFabricCluster};
  for (const host::ReadingInfo& reading : host::gpu_readings())
    EXPECT_EQ(catalog::builtin().range_of(reading.name) == nullptr, words.contains(reading.name))
        << reading.name;
  for (const catalog::ReadingRange& range : catalog::builtin().reading_ranges())
    for (const std::string& reading : range.readings)
      EXPECT_NE(host::find_reading(reading), nullptr) << reading;
}

// A record in a log stays what it is however often somebody looks; the answer to a question may be wrong.
TEST(CatalogAgreement, no_single_look_raises_what_only_a_reset_or_a_person_ends) {
  std::set<std::string> of_logs{"pcie_bandwidth_limited"};  // lines that no rule alone makes a finding
  for (const catalog::LogRule& rule : catalog::builtin().log_rules())
    of_logs.insert(rule.reason);
  int reasons = 0;
  for (const catalog::Reason& reason : catalog::builtin().reasons()) {
    const bool ends_by_itself =
        reason.clear == catalog::ClearRule::healthy_rounds || reason.clear == catalog::ClearRule::expiry;
    const bool is_of_log = of_logs.contains(reason.id) ||
                           reason.checks == std::vector<std::string>{"gpu.xid"};  // driver records
    if (ends_by_itself || is_of_log) continue;
    ++reasons;
    EXPECT_GE(reason.raise_rounds, 2) << reason.id;
  }
  EXPECT_GT(reasons, 0);
}

}  // namespace
}  // namespace autopilot::checks
