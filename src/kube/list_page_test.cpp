// SPDX-License-Identifier: Apache-2.0
#include "kube/list_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

#include "kube/json_object.hpp"
#include "kube/objects.hpp"

namespace autopilot::kube {
namespace {

using ::testing::ElementsAre;

TEST(ListPage, gives_its_objects_and_where_the_next_begins) {
  std::vector<std::string> names;
  const auto take = [&names](const JsonObject& object) { names.push_back(parse_meta(object).name); };
  auto rest = read_list_page(
      R"({"metadata": {"continue": "c1"}, "items": [{"metadata": {"name": "a"}}, 7, {"metadata": {"name": "b"}}]})",
      take);
  ASSERT_TRUE(rest) << rest.error().what;
  EXPECT_EQ(*rest, "c1");
  EXPECT_THAT(names, ElementsAre("a", "b"));
  rest = read_list_page(R"({"metadata": {}, "items": []})", take);
  ASSERT_TRUE(rest) << rest.error().what;
  EXPECT_EQ(*rest, "");
}

TEST(ListPage, what_is_no_list_is_malformed) {
  const auto none = [](const JsonObject&) { FAIL(); };
  for (const std::string& text :
       {std::string(), std::string("<html>"), std::string("[]"), std::string(R"({"items": {}})"),
        std::string(R"({"kind": "Node"})"), std::string(1000, '['), std::string("\0\xff", 2),
        std::string(R"({"items": [{"a")")}) {
    const auto rest = read_list_page(text, none);
    ASSERT_FALSE(rest) << text;
    EXPECT_EQ(rest.error().code, Errc::malformed);
  }
}

TEST(ListPage, what_is_no_object_is_malformed) {
  std::string name;
  const auto take = [&name](const JsonObject& object) { name = parse_meta(object).name; };
  EXPECT_TRUE(read_object(R"({"metadata": {"name": "a"}})", take));
  EXPECT_EQ(name, "a");
  for (const char* text : {"", "[]", "nonsense", R"({"a")"})
    EXPECT_FALSE(read_object(text, take)) << text;
}

}  // namespace
}  // namespace autopilot::kube
