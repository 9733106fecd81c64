// SPDX-License-Identifier: Apache-2.0
#include "collect/evidence/evidence_store.hpp"

#include <chrono>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/host/run_program.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::collect::evidence_store_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WallTime kTime{1'800'000'000s};

void add_evidence(EvidenceStore& store, const std::string& finding, WallTime time) {
  auto folder = store.begin(finding, "job", time);
  ASSERT_TRUE(folder) << folder.error().what;
  folder->add({.name = "counters", .file = "counters.txt"}, "text");
  ASSERT_TRUE(folder->finish());
}

std::vector<std::string> names_of(const EvidenceStore& store) {
  std::vector<std::string> names;
  for (const EvidenceIndex& index : store.list())
    names.push_back(index.finding);
  return names;
}

TEST(EvidenceIndex, survives_its_file) {
  EvidenceIndex index{.finding = "f", .job = "ml/llama", .time = kTime, .items = {}};
  index.items.push_back({.name = "ras", .file = "ras.txt", .bytes = 7, .took = 120ms, .problem = {}});
  index.items.push_back(
      {.name = "counters", .file = {}, .bytes = 0, .took = 5s, .problem = "no answer \"in\" time"});
  const auto read = parse_evidence_index(format_evidence_index(index));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->job, "ml/llama");
  EXPECT_EQ(read->time, kTime);
  ASSERT_THAT(read->items, SizeIs(2));
  EXPECT_EQ(read->items[0].bytes, 7U);
  EXPECT_EQ(read->items[1].problem, "no answer \"in\" time");
  EXPECT_EQ(read->items[1].took, 5s);
  for (const char* const text : {"", "[]", "{}", R"({"items":[],"time":"yesterday"})"})
    EXPECT_EQ(parse_evidence_index(text).error().code, Errc::malformed) << text;
}

TEST(EvidenceStore, lists_the_newest_first_also_after_a_restart) {
  const host::TestFolder folder;
  {
    auto store = EvidenceStore::open(folder / "evidence").value();
    add_evidence(store, "old", kTime);
    add_evidence(store, "new", kTime + 1h);
    EXPECT_EQ(store.begin("old", "job", kTime).error().code, Errc::conflict);
  }
  const auto store = EvidenceStore::open(folder / "evidence").value();
  EXPECT_THAT(names_of(store), ElementsAre("new", "old"));
  EXPECT_EQ(store.read("old", "counters.txt").value(), "text");
  EXPECT_EQ(store.find("none").error().code, Errc::not_found);
}

TEST(EvidenceStore, no_path_leads_out_of_it) {
  const host::TestFolder folder;
  folder.write("/secret", "x");
  auto store = EvidenceStore::open(folder / "evidence").value();
  add_evidence(store, "f", kTime);
  for (const char* const finding : {"..", "../f", "", ".hidden", "a/b", "a b"}) {
    EXPECT_EQ(store.begin(finding, "job", kTime).error().code, Errc::malformed) << finding;
    EXPECT_EQ(store.find(finding).error().code, Errc::not_found) << finding;
  }
  EXPECT_EQ(store.read("f", "../../secret").error().code, Errc::not_found);
  EXPECT_EQ(store.begin(std::string(129, 'a'), "job", kTime).error().code, Errc::malformed);
}

TEST(EvidenceStore, the_oldest_goes_first) {
  const host::TestFolder folder;
  auto store = EvidenceStore::open(folder / "evidence", {.incidents = 3}).value();
  auto changed = std::filesystem::file_time_type::clock::now() - 1h;
  for (const char* const finding : {"a", "b", "c", "d", "e"}) {
    add_evidence(store, finding, kTime);
    std::filesystem::last_write_time(folder / "evidence/" + finding, changed += 1s);
  }
  EXPECT_THAT(names_of(store), ElementsAre("c", "d", "e"));
}

TEST(EvidenceStore, an_incident_has_a_limit) {
  const host::TestFolder folder;
  auto store = EvidenceStore::open(folder / "evidence", {.incident_bytes = 100}).value();
  auto incident = store.begin("f", "job", kTime).value();
  incident.add({.name = "ras", .file = "ras.txt"}, std::string(80, 'x'));
  incident.add({.name = "counters", .file = "counters.txt"}, std::string(80, 'y'));
  incident.add({.name = "kernel_log", .file = "kernel_log.txt"}, "z");
  const EvidenceIndex index = incident.finish().value();
  ASSERT_THAT(index.items, SizeIs(3));
  EXPECT_EQ(index.items[0].problem, "");
  EXPECT_EQ(index.items[1].bytes, 20U);
  EXPECT_THAT(index.items[1].problem, HasSubstr("cut after 20 of 80 bytes"));
  EXPECT_EQ(index.items[2].bytes, 0U);
  EXPECT_EQ(store.read("f", "counters.txt")->size(), 20U);
}

TEST(EvidenceStore, an_interrupted_capture_is_not_listed) {
  const host::TestFolder folder;
  auto store = EvidenceStore::open(folder / "evidence").value();
  (void)store.begin("f", "job", kTime).value();
  EXPECT_THAT(store.list(), IsEmpty());
}

// A small disk of its own.
class FullDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    problem_ = host::run_program({"mount", "-t", "tmpfs", "-o", "size=256k", "none", folder_.path()});
    if (!problem_.empty()) GTEST_SKIP() << "needs the permission to mount: " << problem_;
  }
  void TearDown() override {
    if (problem_.empty()) EXPECT_EQ(host::run_program({"umount", folder_.path()}), "");
  }
  const host::TestFolder folder_;
  std::string problem_;
};

TEST_F(FullDisk, what_fits_is_kept_and_the_rest_is_stated) {
  auto store = EvidenceStore::open(folder_ / "evidence").value();
  auto incident = store.begin("f", "job", kTime).value();
  incident.add({.name = "ras", .file = "ras.txt"}, std::string(std::size_t{1} << 20, 'x'));
  incident.add({.name = "counters", .file = "counters.txt"}, std::string(8192, 'y'));
  const auto index = incident.finish();
  ASSERT_TRUE(index) << index.error().what;
  EXPECT_GT(index->items[0].bytes, 0U);
  EXPECT_LT(index->items[0].bytes, std::size_t{256} << 10);
  EXPECT_THAT(index->items[0].problem, HasSubstr("No space left"));
  EXPECT_THAT(index->items[1].problem, HasSubstr("only 0 bytes"));
  EXPECT_THAT(names_of(store), ElementsAre("f"));
  EXPECT_FALSE(store.begin("g", "job", kTime)) << "no room for an index";
  EXPECT_THAT(names_of(store), ElementsAre("f"));
}

}  // namespace
}  // namespace autopilot::collect::evidence_store_test
