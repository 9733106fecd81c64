// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/yaml.hpp"
#include "workloads/migrate/manifest/cluster_map.hpp"
#include "workloads/migrate/manifest/yaml_writer.hpp"

namespace autopilot::workloads::migrate {
namespace {

// What a reader gets back.
std::string round_trip(std::string_view text) {
  YamlNode map = yaml_map();
  put(map, "key", text);
  YamlProblems problems("test");
  const YamlNode read = parse_yaml(manifest_text(map), problems);
  EXPECT_TRUE(problems.empty()) << problems.to_string();
  return read.find("key") == nullptr ? "missing" : read.find("key")->text;
}

TEST(ManifestText, every_text_is_read_back_unchanged) {
  for (const std::string_view text : {"",
                                      "a",
                                      "yes",
                                      "on",
                                      "NULL",
                                      "~",
                                      "1",
                                      "1.5",
                                      "1e3",
                                      "0x1f",
                                      "12:30:00",
                                      "2026-01-01",
                                      "- a",
                                      "a: b",
                                      "a #b",
                                      " lead",
                                      "tail ",
                                      "*x",
                                      "&x",
                                      "!x",
                                      "%x",
                                      "@x",
                                      "`x",
                                      "\"q\"",
                                      "'q'",
                                      "line\nline\n",
                                      "line\nline",
                                      "\n",
                                      "\n\n",
                                      "a\n\n",
                                      "  two\n one\n",
                                      "\tx\n",
                                      "a\tb\nc",
                                      "tr\xc3\xbc"
                                      "b\n\xe2\x82\xac\n",
                                      "\x01\n",
                                      "a\r\nb\n",
                                      "{}",
                                      "[]",
                                      "=",
                                      "<<",
                                      "a\xe2\x80\xa8"
                                      "b\nc"})
    EXPECT_EQ(round_trip(text), text);
}

TEST(ManifestText, words_that_yaml_takes_for_other_types_are_quoted) {
  YamlNode map = yaml_map();
  put(map, "a", "yes");
  put(map, "b", "1");
  put(map, "c", "batch/v1");
  put(add_map(put_list(map, "d")), "e", "1e3");
  EXPECT_EQ(manifest_text(map), "a: \"yes\"\nb: \"1\"\nc: batch/v1\nd:\n  - e: \"1e3\"\n");
}

TEST(ClusterMap, unknown_members_are_refused_with_their_line) {
  const auto map = parse_cluster_map("queues:\n  a: {kueue: x}\n", "map.yaml");
  ASSERT_FALSE(map.has_value());
  EXPECT_NE(map.error().what.find("map.yaml:2"), std::string::npos);
}

TEST(ClusterMap, hosts_of_slurm) {
  EXPECT_EQ(expand_hosts("n[08-10,12],x1"), (std::vector<std::string>{"n08", "n09", "n10", "n12", "x1"}));
  EXPECT_TRUE(expand_hosts("n[0-999999]").empty());
}

TEST(ClusterMap, models_of_lsf_become_labels_of_the_device_plugin) {
  JobPart part;
  part.gpu.model = "NVIDIAA100_SXM4_80GB";
  Findings findings;
  const Placement placement = place(part, {}, findings);
  ASSERT_EQ(placement.node_labels.size(), 1U);
  EXPECT_EQ(placement.node_labels.front().second, "NVIDIA-A100-SXM4-80GB");
  EXPECT_FALSE(findings.needs_decision());
}

}  // namespace
}  // namespace autopilot::workloads::migrate
