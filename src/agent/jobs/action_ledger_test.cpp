// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/action_ledger.hpp"

#include <chrono>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::agent::action_ledger_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

ActionEntry entry_of(const std::string& finding, ActionState state = ActionState::begun) {
  return {.finding = finding,
          .state = state,
          .time = WallTime{std::chrono::seconds{1767225600}},
          .request = {.job = "slurm/1234",
                      .choice = jobs::Choice::stop_now,
                      .culprit = {.kind = jobs::EntityKind::gpu, .node = "gpu-001", .gpu = 3, .nic = {}},
                      .cause = "xid_79",
                      .is_known = true}};
}

class ActionLedgerTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_ / "state/job-actions.json"; }
  [[nodiscard]] ActionLedger open() const {
    auto ledger = ActionLedger::open(path());
    EXPECT_TRUE(ledger) << ledger.error().what;
    return *std::move(ledger);
  }

  host::TestFolder folder_;
};

TEST_F(ActionLedgerTest, an_action_is_known_after_a_restart) {
  EXPECT_EQ(open().find("a"), nullptr);
  {
    ActionLedger ledger = open();
    ASSERT_TRUE(ledger.put(entry_of("a")));
    ASSERT_TRUE(ledger.put(entry_of("b")));
    ASSERT_TRUE(ledger.put(entry_of("a", ActionState::done)));
  }
  const ActionLedger ledger = open();
  ASSERT_EQ(ledger.entries().size(), 2U);
  const ActionEntry* const entry = ledger.find("a");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->state, ActionState::done);
  EXPECT_EQ(entry->time, entry_of("a").time);
  EXPECT_EQ(entry->request.job, "slurm/1234");
  EXPECT_EQ(entry->request.choice, jobs::Choice::stop_now);
  EXPECT_EQ(entry->request.culprit, entry_of("a").request.culprit);
  EXPECT_EQ(entry->request.cause, "xid_79");
  EXPECT_EQ(ledger.find("b")->state, ActionState::begun);
}

TEST_F(ActionLedgerTest, beyond_the_limit_the_oldest_action_is_forgotten) {
  std::vector<ActionEntry> full;
  for (std::size_t number = 0; number < ActionLedger::kMostEntries; ++number)
    full.push_back(entry_of(std::to_string(number)));
  folder_.write("/state/job-actions.json", format_actions(full));
  ActionLedger ledger = open();
  ASSERT_TRUE(ledger.put(entry_of("last")));
  EXPECT_EQ(ledger.find("0"), nullptr);
  EXPECT_NE(ledger.find("1"), nullptr);
  EXPECT_EQ(open().entries().size(), ActionLedger::kMostEntries);
}

TEST_F(ActionLedgerTest, a_file_that_cannot_be_read_is_an_error_and_stays) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("{\"version\":2,\"actions\":[]}"),
        std::string("{\"version\":1,\"actions\":[{\"finding\":\"a\"}]}"),
        format_actions(std::vector(ActionLedger::kMostEntries + 1, entry_of("a"))),
        std::string(ActionLedger::kMostBytes + 1, ' ')}) {
    folder_.write("/state/job-actions.json", text);
    const auto ledger = ActionLedger::open(path());
    ASSERT_FALSE(ledger);
    EXPECT_THAT(ledger.error().what, HasSubstr(path()));
    EXPECT_EQ(std::filesystem::file_size(path()), text.size());
  }
}

TEST_F(ActionLedgerTest, what_the_disk_does_not_take_is_not_known) {
  auto ledger = ActionLedger::open(folder_ / "elsewhere/job-actions.json");
  ASSERT_TRUE(ledger);
  folder_.write("/elsewhere", "a file in the place of the folder");
  EXPECT_FALSE(ledger->put(entry_of("a")));
  EXPECT_THAT(ledger->entries(), IsEmpty());
}

TEST(ActionEntryTest, only_a_failure_without_effect_does_not_count) {
  EXPECT_TRUE(entry_of("a", ActionState::begun).counts());
  EXPECT_TRUE(entry_of("a", ActionState::done).counts());
  EXPECT_TRUE(entry_of("a", ActionState::partly).counts());
  EXPECT_FALSE(entry_of("a", ActionState::failed).counts());
}

}  // namespace
}  // namespace autopilot::agent::action_ledger_test
