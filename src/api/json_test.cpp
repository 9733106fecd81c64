// SPDX-License-Identifier: Apache-2.0
#include "api/json.hpp"

#include <gtest/gtest.h>
#include <string>

#include "api/v1.hpp"
#include "core/yaml.hpp"
#include "tests/support/api/test_samples.hpp"

namespace autopilot::api {

namespace {

std::string word(std::string_view text) {
  JsonWriter out;
  out.begin_object();
  out.word("w", text);
  out.end_object();
  return out.take();
}

TEST(JsonWriter, no_character_that_a_terminal_obeys_is_written_as_it_is) {
  EXPECT_EQ(word("a\033[2J\x7f"), "{\"w\":\"a\\u001b[2J\\u007f\"}\n");
  EXPECT_EQ(word("a\xc2\x9b"
                 "2J\xc2\x80"),
            "{\"w\":\"a\\u009b2J\\u0080\"}\n");
  EXPECT_EQ(word("25 \xc2\xb0"
                 "C"),
            "{\"w\":\"25 \xc2\xb0"
            "C\"}\n");
}

TEST(Yaml, is_plain_where_it_can_be_and_quoted_where_it_must) {
  const auto yaml = json_to_yaml(
      R"({"node":"node-1","answer":"no","version":"1.0","time":"2025-11-21T03:04:05.678Z","given":true,"none":null,)"
      R"("count":5,"share":0.5,"text":"two\nlines: \"x\"","empty":"","list":[],"items":[{"key":"#1"},{"key":"- a"}]})");
  ASSERT_TRUE(yaml);
  EXPECT_EQ(*yaml, R"(node: node-1
answer: "no"
version: "1.0"
time: "2025-11-21T03:04:05.678Z"
given: true
none: null
count: 5
share: 0.5
text: "two\x0alines: \"x\""
empty: ""
list: []
items:
  - {key: "#1"}
  - {key: "- a"}
)");
}

TEST(Yaml, a_whole_node_is_read_back) {
  const auto yaml = json_to_yaml(to_json(testing::sample_node()));
  ASSERT_TRUE(yaml);
  YamlProblems problems("node");
  const auto node = parse_yaml(*yaml, problems);
  EXPECT_TRUE(problems.empty()) << problems.to_string();
  ASSERT_NE(node.find("results"), nullptr);
  EXPECT_EQ(node.find("results")->items[0].find("findings")->items[0].find("reason")->text,
            "row_remap_pending");
}

TEST(Yaml, refuses_what_is_no_json) {
  EXPECT_EQ(json_to_yaml("node: a").error().code, Errc::malformed);
}

}  // namespace

}  // namespace autopilot::api
