// SPDX-License-Identifier: Apache-2.0
#include "kube/json_path.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

boost::json::object read(const char* text) {
  return boost::json::parse(text).as_object();
}

TEST(JsonPath, a_value_is_found_by_the_names_of_its_path) {
  const auto object = read(R"({"spec": {"node": "gpu-1", "ports": [1], "on": true, "count": 3}})");
  EXPECT_EQ(text_at(object, {"spec", "node"}), "gpu-1");
  EXPECT_EQ(number_at(object, {"spec", "count"}), 3);
  EXPECT_TRUE(flag_at(object, {"spec", "on"}));
  ASSERT_NE(array_at(object, {"spec", "ports"}), nullptr);
  EXPECT_EQ(array_at(object, {"spec", "ports"})->size(), 1U);
  EXPECT_NE(object_at(object, {"spec"}), nullptr);
}

TEST(JsonPath, a_missing_value_and_one_of_another_type_are_empty) {
  const auto object = read(R"({"spec": {"node": 1, "count": "3", "on": "true", "ports": {}}, "list": []})");
  EXPECT_EQ(value_at(object, {}), nullptr);
  EXPECT_EQ(value_at(object, {"list", "node"}), nullptr);
  EXPECT_EQ(value_at(object, {"spec", "node", "deeper"}), nullptr);
  EXPECT_EQ(text_at(object, {"spec", "node"}), "");
  EXPECT_EQ(number_at(object, {"spec", "count"}), std::nullopt);
  EXPECT_FALSE(flag_at(object, {"spec", "on"}));
  EXPECT_EQ(array_at(object, {"spec", "ports"}), nullptr);
  EXPECT_EQ(object_at(object, {"list"}), nullptr);
}

TEST(JsonPath, a_list_gives_its_items_of_the_right_type) {
  const auto object = read(R"({"items": [{"name": "a"}, 7, "b", null, {"name": "c"}, ""]})");
  const auto members = objects_at(object, {"items"});
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(text_at(*members[1], {"name"}), "c");
  EXPECT_THAT(texts_at(object, {"items"}), ElementsAre("b", ""));
  EXPECT_THAT(objects_at(object, {"missing"}), IsEmpty());
  EXPECT_THAT(texts_at(object, {"missing"}), IsEmpty());
}

TEST(JsonPath, only_a_whole_number_in_range_is_an_integer) {
  const auto object = read(R"({"whole": -4, "large": 9223372036854775807, "too_large": 9223372036854775808,
                               "fraction": 1.0, "exponent": 1e3, "text": "1"})");
  EXPECT_EQ(number_at(object, {"whole"}), -4);
  EXPECT_EQ(number_at(object, {"large"}), 9223372036854775807);
  for (const char* name : {"too_large", "fraction", "exponent", "text", "missing"})
    EXPECT_EQ(number_at(object, {name}), std::nullopt) << name;
}

}  // namespace
}  // namespace autopilot::kube
