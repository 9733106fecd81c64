// SPDX-License-Identifier: Apache-2.0
#include "agent/learned/version_store.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/learned/learned_limits.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::agent {
namespace {

using learning::Version;

constexpr WallTime kStoredAt{std::chrono::days(20'000)};

Version stored_threshold(const std::string& threshold, const std::string& kind, double value,
                         std::uint32_t number = 1) {
  learning::Proposal draft{.kind = learning::ProposalKind::threshold,
                           .subject = threshold + " on " + kind,
                           .to = std::to_string(value),
                           .to_version = number};
  return {learning::make_proposal(std::move(draft), kStoredAt),
          learning::LearnedThreshold{threshold, kind, value},
          {}};
}

Version adopted_threshold(const std::string& threshold, const std::string& kind, double value, int steps = 2,
                          bool is_now = true, std::uint32_t number = 1) {
  Version version = stored_threshold(threshold, kind, value, number);
  for (int step = 0; step < steps; ++step)
    EXPECT_TRUE(learning::adopt(version, {}, {kStoredAt, "ops", "test", is_now}));
  return version;
}

class VersionStoreTest : public testing::Test {
 protected:
  host::TestFolder folder_;
  VersionStore store_{folder_.path() + "/state/learned"};
};

TEST_F(VersionStoreTest, is_empty_before_anything_is_learned) {
  const auto stored = store_.read();
  ASSERT_TRUE(stored);
  EXPECT_TRUE(stored->versions.empty());
  EXPECT_TRUE(stored->problems.empty());
}

TEST_F(VersionStoreTest, returns_what_was_put_and_only_its_user_reads_it) {
  ASSERT_TRUE(store_.lock());
  const Version version = stored_threshold("a.b.c", "gpu=H100", 2);
  ASSERT_TRUE(store_.put(version));
  ASSERT_TRUE(store_.put(version));
  const auto stored = store_.read();
  ASSERT_EQ(stored->versions.size(), 1U);
  EXPECT_EQ(stored->versions[0].proposal.id, version.proposal.id);
  struct stat info {};
  ASSERT_EQ(::stat((store_.folder() + "/" + version.proposal.id + ".json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat(store_.folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST_F(VersionStoreTest, leaves_a_damaged_file_alone_and_names_it) {
  ASSERT_TRUE(store_.lock());
  const Version good = stored_threshold("a.b.c", "gpu=H100", 2),
                bad = stored_threshold("a.b.d", "gpu=H100", 3);
  ASSERT_TRUE(store_.put(good));
  const std::string path = store_.folder() + "/" + bad.proposal.id + ".json";
  std::ofstream(path) << "{\"format\":1";
  const auto stored = store_.read();
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->versions.size(), 1U);
  ASSERT_EQ(stored->problems.size(), 1U);
  EXPECT_NE(stored->problems[0].find(path), std::string::npos);
  EXPECT_EQ(store_.put(bad).error().code, Errc::conflict);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(VersionStoreTest, refuses_a_file_under_another_name) {
  ASSERT_TRUE(store_.lock());
  const Version version = stored_threshold("a.b.c", "gpu=H100", 2);
  ASSERT_TRUE(store_.put(version));
  std::filesystem::rename(store_.folder() + "/" + version.proposal.id + ".json",
                          store_.folder() + "/0123456789abcdef.json");
  const auto stored = store_.read();
  EXPECT_TRUE(stored->versions.empty());
  EXPECT_NE(stored->problems.at(0).find("it was renamed"), std::string::npos);
}

TEST_F(VersionStoreTest, removes_only_what_was_never_adopted) {
  ASSERT_TRUE(store_.lock());
  const Version version = stored_threshold("a.b.c", "gpu=H100", 2);
  ASSERT_TRUE(store_.put(version));
  EXPECT_TRUE(store_.remove_proposed(version));
  EXPECT_TRUE(store_.remove_proposed(version));
  EXPECT_TRUE(store_.read()->versions.empty());
  EXPECT_EQ(store_.remove_proposed(adopted_threshold("a.b.c", "gpu=H100", 2)).error().code, Errc::conflict);
}

TEST_F(VersionStoreTest, is_beside_a_file_and_in_the_state_folder_for_a_database) {
  EXPECT_EQ(VersionStore::folder_beside("/data/history.db", "/var/lib/autopilot"), "/data/learned");
  for (const char* place : {"postgresql://agent:SECRET@db/fleet", "host=db password=SECRET"})
    EXPECT_EQ(VersionStore::folder_beside(place, "/var/lib/autopilot"), "/var/lib/autopilot/learned");
}

TEST_F(VersionStoreTest, leaves_a_folder_that_a_link_names_as_it_is) {
  const std::string other = folder_.path() + "/other";
  std::filesystem::create_directories(folder_.path() + "/state");
  std::filesystem::create_directories(other);
  std::filesystem::permissions(other, std::filesystem::perms{0755});
  std::filesystem::create_directory_symlink(other, store_.folder());
  ASSERT_TRUE(store_.lock());
  EXPECT_EQ(std::filesystem::status(other).permissions(), std::filesystem::perms{0755});
}

TEST_F(VersionStoreTest, a_reader_sees_each_change) {
  ASSERT_TRUE(store_.lock());
  VersionReader reader(store_.folder());
  EXPECT_TRUE(reader.read()->versions.empty());
  const Version version = stored_threshold("a.b.c", "gpu=H100", 2);
  const std::string path = store_.folder() + "/" + version.proposal.id + ".json";
  ASSERT_TRUE(store_.put(version));
  EXPECT_FALSE(reader.read()->versions.at(0).state());
  ASSERT_TRUE(store_.put(adopted_threshold("a.b.c", "gpu=H100", 2)));
  EXPECT_TRUE(reader.read()->versions.at(0).state());
  EXPECT_TRUE(reader.read()->versions.at(0).state());
  std::ofstream(path) << "{";
  EXPECT_TRUE(reader.read()->versions.empty());
  EXPECT_EQ(reader.read()->problems.size(), 1U);
  std::filesystem::remove(path);
  EXPECT_TRUE(reader.read()->problems.empty());
}

TEST_F(VersionStoreTest, a_reader_does_not_open_an_unchanged_file_again) {
  ASSERT_TRUE(store_.lock());
  const Version version = stored_threshold("a.b.c", "gpu=H100", 2);
  ASSERT_TRUE(store_.put(version));
  VersionReader reader(store_.folder());
  ASSERT_TRUE(reader.read());
  const host::Fd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  const std::string path = store_.folder() + "/" + version.proposal.id + ".json";
  ASSERT_GE(::inotify_add_watch(watch.get(), path.c_str(), IN_OPEN), 0);
  EXPECT_EQ(reader.read()->versions.size(), 1U);
  std::array<char, 1024> events{};
  EXPECT_EQ(::read(watch.get(), events.data(), events.size()), -1);
  EXPECT_EQ(errno, EAGAIN);
}

NodeSnapshot snapshot_of_kinds(const std::map<std::string, std::string>& models, const std::string& driver) {
  CheckResult result;
  result.check = "gpu.inventory";
  std::vector<Observation> observations;
  for (const auto& [key, model] : models) {
    Observation one;
    one.name = "gpu.model";
    one.subject = {.kind = SubjectKind::gpu, .key = key};
    if (!model.empty()) one.value = model;
    observations.push_back(one);
  }
  if (!driver.empty()) {
    Observation one;
    one.name = "driver.version";
    one.value = driver;
    observations.push_back(one);
  }
  result.observations = std::move(observations);
  NodeSnapshot snapshot;
  snapshot.results.push_back(std::move(result));
  return snapshot;
}

TEST(LearnedKindsOfNode, stay_while_no_check_can_read_them) {
  using Kinds = std::set<std::string>;
  KnownKinds known;
  EXPECT_EQ(known.learn(snapshot_of_kinds({}, "")), Kinds{});
  EXPECT_EQ(known.learn(snapshot_of_kinds({{"0", "H100"}}, "")), Kinds{"gpu=H100"});
  const Kinds whole{"gpu=H100;driver=570"};
  EXPECT_EQ(known.learn(snapshot_of_kinds({{"0", "H100"}}, "570.1")), whole);
  EXPECT_EQ(known.learn(snapshot_of_kinds({{"0", "H100"}}, "")), whole);
  EXPECT_EQ(known.learn(snapshot_of_kinds({{"0", ""}}, "570.1")), whole);
  EXPECT_EQ(known.learn(snapshot_of_kinds({}, "")), whole);
}

TEST(LearnedKindsOfNode, follow_what_is_read) {
  using Kinds = std::set<std::string>;
  KnownKinds known;
  (void)known.learn(snapshot_of_kinds({{"0", "H100"}, {"1", "B200"}}, "570.1"));
  EXPECT_EQ(known.learn(snapshot_of_kinds({{"0", "H100"}}, "580.1")), Kinds{"gpu=H100;driver=580"});
  EXPECT_EQ(known.learn(snapshot_of_kinds({{"0", "B200"}}, "")), Kinds{"gpu=B200"});
}

TEST(LearnedThresholdsOfNode, are_those_of_its_kind_of_machine) {
  const std::vector<Version> versions{adopted_threshold("a.b.c", "gpu=H100", 2),
                                      adopted_threshold("a.b.d", "gpu=B200", 3),
                                      stored_threshold("a.b.e", "gpu=H100", 4)};
  const auto used = learned_thresholds(versions, {"gpu=H100;driver=570"}, "n1");
  ASSERT_EQ(used.in_use.size(), 1U);
  EXPECT_EQ(used.in_use.at("a.b.c"), (LearnedLimit{2, versions[0].proposal.id}));
  EXPECT_TRUE(used.shadowed.empty());
  EXPECT_TRUE(learned_thresholds(versions, {}, "n1").in_use.empty());
  EXPECT_TRUE(learned_thresholds(versions, {"gpu=H100;driver=570", "gpu=B200"}, "n1").in_use.empty());
}

TEST(LearnedThresholdsOfNode, prefer_the_most_specific_kind_in_any_order) {
  std::vector<Version> versions{adopted_threshold("a.b.c", "gpu=H100", 2),
                                adopted_threshold("a.b.c", "gpu=H100;driver=570", 3)};
  for (int order = 0; order < 2; ++order) {
    EXPECT_EQ(learned_thresholds(versions, {"gpu=H100;driver=570"}, "n1").in_use.at("a.b.c").value, 3);
    EXPECT_EQ(learned_thresholds(versions, {"gpu=H100;driver=580"}, "n1").in_use.at("a.b.c").value, 2);
    std::ranges::reverse(versions);
  }
}

TEST(LearnedThresholdsOfNode, in_shadow_have_no_effect) {
  const std::vector<Version> versions{adopted_threshold("a.b.c", "gpu=H100", 2),
                                      adopted_threshold("a.b.c", "gpu=H100", 3, 1, false, 2)};
  const auto used = learned_thresholds(versions, {"gpu=H100"}, "n1");
  EXPECT_EQ(used.in_use.at("a.b.c").value, 2);
  EXPECT_EQ(used.shadowed.at("a.b.c").value, 3);
}

TEST(LearnedThresholdsOfNode, in_a_canary_are_used_on_its_nodes_and_shadowed_on_the_others) {
  const std::vector<Version> versions{adopted_threshold("a.b.c", "gpu=H100", 2, 1)};
  int nodes = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto used = learned_thresholds(versions, {"gpu=H100"}, "n" + std::to_string(i));
    EXPECT_EQ(used.in_use.size() + used.shadowed.size(), 1U);
    nodes += static_cast<int>(used.in_use.size());
  }
  EXPECT_NEAR(nodes, 100, 50);
}

}  // namespace
}  // namespace autopilot::agent
