// SPDX-License-Identifier: Apache-2.0
#include "catalog/action_text.hpp"

#include <gtest/gtest.h>

namespace autopilot::catalog {
namespace {

std::string with_action(std::string message, std::string_view id) {
  append_action(message, id);
  return message;
}

TEST(ActionTextTest, every_action_has_a_sentence_and_its_id) {
  for (int i = 1; i <= static_cast<int>(Action::contact_vendor); ++i) {
    const auto action = static_cast<Action>(i);
    const std::string id = " (" + std::string(to_string(action)) + ")";
    EXPECT_GT(action_text(action).size(), id.size()) << id;
    EXPECT_TRUE(action_text(action).ends_with(id)) << action_text(action);
  }
  EXPECT_EQ(action_text(Action::none), "");
}

TEST(ActionTextTest, the_action_follows_the_message) {
  EXPECT_EQ(with_action("the GPU is lost", "power_cycle"),
            "the GPU is lost. Action: power-cycle the node (power_cycle)");
  EXPECT_EQ(with_action("The GPU is lost.", "reset_gpu"),
            "The GPU is lost. Action: reset the GPU (reset_gpu)");
  EXPECT_EQ(with_action("m", "run_diagnostics"),
            "m. Action: run diagnostics: autopilot test (run_diagnostics)");
  EXPECT_EQ(with_action("m", "of_another_version"), "m. Action: of_another_version");
  EXPECT_EQ(with_action("m", "none"), "m");
  EXPECT_EQ(with_action("m", ""), "m");
}

}  // namespace
}  // namespace autopilot::catalog
