// SPDX-License-Identifier: Apache-2.0
#include "core/yaml_text.hpp"

#include <gtest/gtest.h>

namespace autopilot {
namespace {

YamlNode parse(const std::string& text) {
  YamlProblems problems("test");
  YamlNode node = parse_yaml(text, problems);
  EXPECT_TRUE(problems.empty()) << problems.to_string() << "\n" << text;
  return node;
}

bool same(const YamlNode& a, const YamlNode& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size() || a.members.size() != b.members.size())
    return false;
  if (a.kind == YamlNode::Kind::scalar && a.text != b.text) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!same(a.items[i], b.items[i])) return false;
  for (std::size_t i = 0; i < a.members.size(); ++i)
    if (a.members[i].key != b.members[i].key || !same(a.members[i].value, b.members[i].value)) return false;
  return true;
}

TEST(YamlText, WhatIsWrittenReadsBackTheSame) {
  for (const char* text :
       {"a: 1\nb: [1, 2, {c: d}]\n\"0000:1b:00.0\": {x: -4, y: 0.25, z: null}\n",
        "- [a, b]\n- {k: v}\n- - deep\n  - {deeper: {still: [1]}}\n",
        "text: \"with \\\"quotes\\\", a: colon, # hash and \\x1b\"\nempty: \"\"\nlist: []\nmap: {}\n",
        "{}"}) {
    const YamlNode node = parse(text);
    EXPECT_TRUE(same(node, parse(to_yaml(node)))) << to_yaml(node);
  }
}

TEST(YamlText, AWordStaysAWord) {
  YamlNode map = yaml_map();
  yaml_member(map, "serial") = yaml_word("1650123000001");
  yaml_member(map, "flag") = yaml_flag(true);
  yaml_member(map, "count") = yaml_integer(-3);
  yaml_member(map, "share") = yaml_number(0.1);
  EXPECT_EQ(to_yaml(map), "serial: \"1650123000001\"\nflag: true\ncount: -3\nshare: 0.1\n");
  EXPECT_TRUE(parse(to_yaml(map)).find("serial")->quoted);
}

TEST(YamlText, NoCharacterThatATerminalObeysIsWrittenAsItIs) {
  YamlNode map = yaml_map();
  yaml_member(map, "text") = yaml_word("a\033[2J\x7f \xc2\x9b c\xc2\xb0 \xc3\xa9\xc2");
  EXPECT_EQ(to_yaml(map), "text: \"a\\x1b[2J\\x7f \\x9b c\xc2\xb0 \xc3\xa9\xc2\"\n");
  yaml_member(map, "text") = yaml_word("\033 \xc2\x9b c\xc2\xb0");
  EXPECT_TRUE(same(map, parse(to_yaml(map)))) << to_yaml(map);
}

TEST(YamlText, MergeGoesKeyByKeyAndNullRemoves) {
  YamlNode base = parse("a: {x: 1, y: 2}\nb: [1, 2]\nc: 3\n");
  yaml_merge(base, parse("a: {y: null, z: 4}\nb: [9]\nc: {d: 5}\n"));
  EXPECT_TRUE(same(base, parse("a: {x: 1, z: 4}\nb: [9]\nc: {d: 5}\n"))) << to_yaml(base);
}

}  // namespace
}  // namespace autopilot
