// SPDX-License-Identifier: Apache-2.0
#include "preflight/probation.hpp"

#include <gtest/gtest.h>

namespace autopilot::preflight {
namespace {

bool is_on_probation_with(const std::string& note) {
  kube::Node node;
  node.meta.annotations["a.example/probation"] = note;
  return is_on_probation(node, "a.example", *parse_time("2026-11-21T03:04:05Z"));
}

TEST(Probation, lasts_until_its_end) {
  EXPECT_FALSE(is_on_probation({}, "a.example", {}));
  EXPECT_TRUE(is_on_probation_with(R"({"plan": "p", "until": "2026-11-21T03:04:06Z"})"));
  EXPECT_FALSE(is_on_probation_with(R"({"plan": "p", "until": "2026-11-21T03:04:05Z"})"));
}

TEST(Probation, what_cannot_be_read_counts) {
  for (const char* note : {"", "soon", "[]", R"({"plan": "p"})", R"({"until": 7})", R"({"until": "soon"})"})
    EXPECT_TRUE(is_on_probation_with(note)) << note;
}

}  // namespace
}  // namespace autopilot::preflight
