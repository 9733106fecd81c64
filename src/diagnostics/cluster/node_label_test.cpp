// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/node_label.hpp"

#include <gtest/gtest.h>

namespace autopilot::diagnostics {
namespace {

TEST(NodeLabel, is_the_name_where_a_value_has_room_for_it) {
  EXPECT_EQ(node_label_value("gpu-7"), "gpu-7");
  EXPECT_EQ(node_label_value(std::string(63, 'a')), std::string(63, 'a'));
}

TEST(NodeLabel, of_a_long_name_it_is_the_beginning_and_a_number_for_all_of_it) {
  const std::string beginning(46, 'a');
  const std::string value = node_label_value(beginning + std::string(14, 'b') + "-1.example.org");
  EXPECT_EQ(value.size(), 63U);
  EXPECT_EQ(value.substr(0, 47), beginning + "-");
  EXPECT_NE(value, node_label_value(beginning + std::string(14, 'b') + "-2.example.org"));
}

TEST(NodeLabel, the_hash_is_fnv_1a) {
  EXPECT_EQ(hash_digits(""), "cbf29ce484222325");
  EXPECT_EQ(hash_digits("a"), "af63dc4c8601ec8c");
}

}  // namespace
}  // namespace autopilot::diagnostics
