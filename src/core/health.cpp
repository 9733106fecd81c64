// SPDX-License-Identifier: Apache-2.0
#include "core/health.hpp"

#include "core/word_table.hpp"

namespace autopilot {
namespace {

constexpr WordTable<Health, 5> kHealthWords{{
    {Health::healthy, "healthy"},
    {Health::degraded, "degraded"},
    {Health::failed, "failed"},
    {Health::unknown, "unknown"},
    {Health::unsupported, "unsupported"},
}};

constexpr WordTable<Verdict, 5> kVerdictWords{{
    {Verdict::none, ""},
    {Verdict::pass, "PASS"},
    {Verdict::warn, "WARN"},
    {Verdict::evict, "EVICT"},
    {Verdict::testing, "TESTING"},
}};

int weight(Health health) {
  switch (health) {
    case Health::unsupported:
      return 0;
    case Health::healthy:
      return 1;
    case Health::degraded:
      return 2;
    case Health::unknown:
      return 3;
    case Health::failed:
      return 4;
  }
  return 3;
}

}  // namespace

std::string_view to_string(Health health) {
  return word_of(kHealthWords, health);
}

std::optional<Health> parse_health(std::string_view word) {
  return value_of(kHealthWords, word);
}

Health worst(Health a, Health b) {
  return weight(a) >= weight(b) ? a : b;
}

std::string_view to_string(Verdict verdict) {
  return word_of(kVerdictWords, verdict);
}

std::optional<Verdict> parse_verdict(std::string_view word) {
  return value_of(kVerdictWords, word);
}

}  // namespace autopilot
