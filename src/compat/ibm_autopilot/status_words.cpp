// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/status_words.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

// The first tag in a line decides.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kTags{{
    {"PCIE", "PCIE Failed"},
    {"REMAPPED ROWS", "REMAPPED ROWS Failed"},
    {"DCGM", "DCGM Failed"},
    {"GPU POWER", "GPU POWER Failed"},
    {"PING", "PING Failed"},
    {"GPU-MEM", "GPU MEM Test Failed"},
    {"PVC", "PVC Create-Delete Test Failed"},
    {"Disconnected", "Connection to Server Failed"},
    // Not in the original, whose network test never fails. Replies between nodes do not contain it.
    {"[IPERF]", "IPERF Failed"},
}};

bool has_text(std::string_view line, std::string_view text) {
  return line.find(text) != std::string_view::npos;
}

const auto* find_tag(std::string_view line) {
  return std::ranges::find_if(kTags, [line](const auto& tag) { return has_text(line, tag.first); });
}

}  // namespace

std::string without_tags(const std::string& text) {
  return find_tag(text) == kTags.end() ? text : to_lower(text);
}

std::vector<std::string> status_words(std::string_view reply) {
  std::vector<std::string> words;
  for (const std::string_view line : split(reply, '\n')) {
    if (!has_text(line, "FAIL") && !has_text(line, "ABORT")) continue;
    if (const auto* tag = find_tag(line); tag != kTags.end()) words.emplace_back(tag->second);
  }
  if (words.empty()) words.emplace_back("OK");
  return words;
}

}  // namespace autopilot::compat::ibm_autopilot
