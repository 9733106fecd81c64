// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "core/action.hpp"
#include "core/event.hpp"
#include "core/incident.hpp"
#include "core/operation.hpp"

namespace autopilot {
namespace {

// Every value up to `last` has a word of its own that reads back.
template <class Word, class Parse>
void expect_words_read_back(Word last, Parse parse) {
  std::set<std::string> seen;
  for (int number = 0; number <= static_cast<int>(last); ++number) {
    const auto value = static_cast<Word>(number);
    const std::string word(to_string(value));
    EXPECT_EQ(parse(word), value) << word;
    EXPECT_TRUE(seen.insert(word).second) << word << " is the word of two values";
    EXPECT_EQ(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"), std::string::npos) << word;
  }
  EXPECT_EQ(parse("nonsense"), std::nullopt);
  EXPECT_EQ(parse(""), std::nullopt);
}

TEST(Words, of_actions_read_back) {
  expect_words_read_back(Action::contact_vendor, parse_action);
}

TEST(Words, of_events_read_back) {
  expect_words_read_back(EventKind::validation_finished, parse_event_kind);
}

TEST(Words, of_incidents_read_back) {
  expect_words_read_back(IncidentState::closed, parse_incident_state);
}

TEST(Words, of_operations_read_back) {
  expect_words_read_back(OperationState::timed_out, parse_operation_state);
}

TEST(Action, only_actions_of_the_evict_row_take_a_device_out_of_service) {
  const std::set<Action> evict{Action::drain_then_reset_gpu, Action::reset_gpu,   Action::reboot_node,
                               Action::restart_vm,           Action::power_cycle, Action::replace};
  for (int number = 0; number <= static_cast<int>(Action::contact_vendor); ++number) {
    const auto action = static_cast<Action>(number);
    EXPECT_EQ(takes_device_out_of_service(action), evict.contains(action)) << to_string(action);
  }
}

TEST(Operation, is_over_in_its_four_ends) {
  Operation operation;
  EXPECT_FALSE(operation.is_over());
  operation.state = OperationState::running;
  EXPECT_FALSE(operation.is_over());
  for (const auto end : {OperationState::succeeded, OperationState::failed, OperationState::cancelled,
                         OperationState::timed_out}) {
    operation.state = end;
    EXPECT_TRUE(operation.is_over());
  }
}

}  // namespace
}  // namespace autopilot
