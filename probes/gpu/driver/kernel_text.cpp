// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/driver/kernel_text.hpp"

#include <algorithm>
#include <map>

#include "core/parse.hpp"

namespace autopilot::probes::gpu {

// Made by cmake/Embed.cmake: "sm_80.ptx" and its text.
const std::map<std::string, std::string>& embedded_kernels();

namespace {

constexpr std::string_view kHead = "sm_";
constexpr std::string_view kTail = ".ptx";

// "sm_90a"
struct Level {
  int capability = 0;
  bool is_for_it_alone = false;

  friend auto operator<=>(const Level&, const Level&) = default;
};

Level read_level(std::string_view word) {
  word.remove_prefix(kHead.size());
  Level level;
  level.is_for_it_alone = word.ends_with('a');
  if (level.is_for_it_alone) word.remove_suffix(1);
  const auto capability = parse_number<int>(word);
  AUTOPILOT_ASSERT(capability);
  level.capability = *capability;
  return level;
}

bool takes(int capability, const Level& level) {
  return level.is_for_it_alone ? level.capability == capability : level.capability <= capability;
}

// The highest first.
std::vector<KernelText> all_texts() {
  std::vector<KernelText> texts;
  for (const auto& [name, text] : embedded_kernels())
    texts.push_back({.level = name.substr(0, name.size() - kTail.size()), .text = &text});
  std::ranges::sort(texts, std::greater(), [](const KernelText& one) { return read_level(one.level); });
  return texts;
}

}  // namespace

bool KernelText::has(std::string_view kernel) const {
  return text->find(".entry " + std::string(kernel) + "(") != std::string::npos;
}

std::vector<std::string> kernel_levels() {
  std::vector<std::string> levels;
  for (const KernelText& one : all_texts())
    levels.insert(levels.begin(), one.level);
  return levels;
}

Result<std::vector<KernelText>> kernel_texts_for(int capability, std::string_view highest) {
  std::vector<KernelText> texts = all_texts();
  std::erase_if(texts, [&](const KernelText& one) {
    const Level level = read_level(one.level);
    return !takes(capability, level) || (!highest.empty() && level > read_level(highest));
  });
  if (texts.empty())
    return fail(Errc::unsupported, "compute capability " + std::to_string(capability / 10) + "." +
                                       std::to_string(capability % 10) + " is older than our kernels (7.0)");
  return texts;
}

}  // namespace autopilot::probes::gpu
