// SPDX-License-Identifier: Apache-2.0
#include "cli/output/group_table.hpp"

#include <gtest/gtest.h>
#include <string>

namespace autopilot::cli {
namespace {

Observation said(const std::string& name, const std::string& key, Attributes attributes) {
  Observation observation;
  observation.name = name;
  observation.subject.kind = SubjectKind::peer;
  observation.subject.key = key;
  observation.attributes = std::move(attributes);
  return observation;
}

TEST(GroupTable, each_all_reduce_is_a_line_with_what_it_had_or_why_not) {
  Observation leaf =
      said("group.bus", "leaf L1",
           {{"nodes", std::int64_t{2}}, {"ranks", std::int64_t{16}}, {"members", std::string("a1, a2")}});
  leaf.value = 3004e9;
  const Observation absent = said("group.bus", "b2", {{"error", std::string("gpu 3 is in use")}});
  const Observation wrong =
      said("group.wrong", "a2",
           {{"group", std::string("all nodes")}, {"problem", std::string("119 in place of 136")}});
  EXPECT_EQ(render_groups({leaf, wrong, absent}, {}),
            "ALL-REDUCE  NODES  GPUS  GBIT/S  MEMBERS, OR ERROR\n"
            "leaf L1     2      16    3004    a1, a2\n"
            "all nodes                !       a2: 119 in place of 136\n"
            "b2                       ?       gpu 3 is in use\n");
}

TEST(GroupTable, of_pairs_there_is_none) {
  EXPECT_EQ(render_groups({said("bandwidth.received", "a|b", {})}, {}), "");
}

}  // namespace
}  // namespace autopilot::cli
