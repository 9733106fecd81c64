// SPDX-License-Identifier: Apache-2.0
#include "core/yaml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/health.hpp"

namespace autopilot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string problems_of(std::string_view text) {
  YamlProblems problems("file.yaml");
  (void)parse_yaml(text, problems);
  return problems.to_string();
}

TEST(ParseYaml, keeps_order_kind_and_line) {
  YamlProblems problems("file.yaml");
  const YamlNode root = parse_yaml("b: 1\na:\n  - x\n  - 'y'\nc: {d: true}\n", problems);
  EXPECT_TRUE(problems.empty()) << problems.to_string();
  ASSERT_EQ(root.kind, YamlNode::Kind::map);
  ASSERT_EQ(root.members.size(), 3u);
  EXPECT_EQ(root.members[0].key, "b");
  EXPECT_EQ(root.members[1].key, "a");
  EXPECT_EQ(root.members[1].value.items[0].line, 3);
  EXPECT_FALSE(root.members[1].value.items[0].quoted);
  EXPECT_TRUE(root.members[1].value.items[1].quoted);
  EXPECT_EQ(root.find("c")->find("d")->text, "true");
  EXPECT_EQ(root.find("none"), nullptr);
}

TEST(ParseYaml, an_empty_text_is_nothing_and_no_problem) {
  YamlProblems problems("file.yaml");
  EXPECT_EQ(parse_yaml("", problems).kind, YamlNode::Kind::null);
  EXPECT_EQ(parse_yaml("# only a comment\n", problems).kind, YamlNode::Kind::null);
  EXPECT_TRUE(problems.empty());
}

TEST(ParseYaml, names_file_and_line_of_what_it_refuses) {
  EXPECT_EQ(problems_of("a: 1\nb: 2\na: 3\n"), "file.yaml:3: duplicate key `a`");
  EXPECT_THAT(problems_of("a: &x 1\n"), HasSubstr("file.yaml:1: anchors"));
  EXPECT_THAT(problems_of("a: &x 1\nb: *x\n"), HasSubstr("anchors"));
  EXPECT_THAT(problems_of("a: !!int 1\n"), HasSubstr("tags"));
  EXPECT_THAT(problems_of("a: 1\n---\nb: 2\n"), HasSubstr("more than one document"));
  EXPECT_THAT(problems_of("a: [1, 2\nb: 3\n"), HasSubstr("file.yaml:"));
  EXPECT_THAT(problems_of("? {a: 1}\n: b\n"), HasSubstr("file.yaml:1: a key must be a string"));
}

TEST(ParseYaml, hostile_text_is_a_problem_not_a_crash) {
  EXPECT_THAT(problems_of(std::string(kMaxYamlBytes + 1, 'a')), HasSubstr("larger than"));
  EXPECT_THAT(problems_of(std::string("a: 1\nb: \0 2\n", 12)), HasSubstr("file.yaml:2: binary"));
  EXPECT_THAT(problems_of(std::string(5000, '[')), HasSubstr("file.yaml:1"));
  EXPECT_THAT(problems_of(std::string(kMaxYamlDepth + 1, '[') + std::string(kMaxYamlDepth + 1, ']')),
              HasSubstr("nested too deeply"));
  EXPECT_NE(problems_of("\xff\xfe\x01\x02: [\n"), "");
}

TEST(YamlMap, reads_each_type) {
  YamlProblems problems("file.yaml");
  const YamlNode root =
      parse_yaml("w: word\nn: 0.5\ni: -3\nb: true\nd: 1m30s\nl: [a, b]\nh: degraded\n", problems);
  YamlMap map(root, "thing", problems);
  EXPECT_EQ(map.word("w"), "word");
  EXPECT_EQ(map.number("n"), 0.5);
  EXPECT_EQ(map.integer("i"), -3);
  EXPECT_EQ(map.boolean("b"), true);
  EXPECT_EQ(map.duration("d"), std::chrono::seconds(90));
  EXPECT_THAT(*map.words("l"), ElementsAre("a", "b"));
  EXPECT_EQ(map.choice<Health>("h", &parse_health, {"healthy"}), Health::degraded);
  EXPECT_EQ(map.word("absent"), std::nullopt);
  EXPECT_TRUE(problems.empty()) << problems.to_string();
}

TEST(YamlMap, lists_every_problem_at_once_by_line) {
  YamlProblems problems("file.yaml");
  const YamlNode root = parse_yaml("n: many\ni: 1.5\nb: yes\nd: soon\nl: x\nh: fine\nwrod: 1\n", problems);
  {
    YamlMap map(root, "thing", problems);
    EXPECT_EQ(map.required_number("n"), 0);
    EXPECT_EQ(map.required_integer("i"), 0);
    EXPECT_EQ(map.boolean("b"), std::nullopt);
    EXPECT_EQ(map.duration("d"), std::nullopt);
    EXPECT_EQ(map.words("l"), std::nullopt);
    EXPECT_EQ(map.choice<Health>("h", &parse_health, {"healthy", "failed"}), std::nullopt);
    EXPECT_EQ(map.required_word("word"), "");
  }
  EXPECT_EQ(problems.to_string(),
            "file.yaml:1: thing: `n`: expected a number, found `many`\n"
            "file.yaml:1: thing: `word` is missing\n"
            "file.yaml:2: thing: `i`: expected an integer, found `1.5`\n"
            "file.yaml:3: thing: `b`: expected true or false, found `yes`\n"
            "file.yaml:4: thing: `d`: expected a duration such as 250ms, 2s, 1m30s, 12h, 7d, found `soon`\n"
            "file.yaml:5: thing: `l`: expected a list, found `x`\n"
            "file.yaml:6: thing: `h`: unknown value `fine`; expected one of healthy failed\n"
            "file.yaml:7: thing: unknown key `wrod`; did you mean `word`?");
  EXPECT_EQ(problems.status().error().code, Errc::malformed);
}

TEST(YamlMap, numbers_in_quotes_and_not_a_number_are_refused) {
  YamlProblems problems("file.yaml");
  const YamlNode root = parse_yaml("a: '12'\nb: nan\nc: inf\nd: 99999999999999999999\n", problems);
  YamlMap map(root, "thing", problems);
  EXPECT_EQ(map.integer("a"), std::nullopt);
  EXPECT_EQ(map.number("b"), std::nullopt);
  EXPECT_EQ(map.number("c"), std::nullopt);
  EXPECT_EQ(map.integer("d"), std::nullopt);
  EXPECT_EQ(problems.size(), 4u);
}

TEST(YamlMap, says_when_it_is_no_map_at_all) {
  YamlProblems problems("file.yaml");
  const YamlNode root = parse_yaml("- a\n", problems);
  { YamlMap map(root, "configuration", problems); }
  EXPECT_EQ(problems.to_string(), "file.yaml:1: configuration: expected a map, found a list");
}

TEST(YamlProblems, shows_a_limited_number) {
  YamlProblems problems("f");
  for (int i = 0; i < 150; ++i)
    problems.add(i + 1, "bad");
  EXPECT_THAT(problems.to_string(), HasSubstr("f:100: bad\nf: and 50 more problems"));
}

}  // namespace
}  // namespace autopilot
