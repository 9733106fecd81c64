// SPDX-License-Identifier: Apache-2.0
#include "learning/baseline/kind.hpp"

#include <algorithm>

namespace autopilot::learning {
namespace {

constexpr std::size_t kMostKindBytes = 1024;

struct KindMember {
  std::string_view key;
  std::string MachineKind::*value;
  KindLevel last;  // the most general level that has it
};

constexpr std::array kKindMembers{
    KindMember{"gpu", &MachineKind::gpu, KindLevel::gpu_and_nics},
    KindMember{"form", &MachineKind::form, KindLevel::without_driver},
    KindMember{"nics", &MachineKind::nics, KindLevel::gpu_and_nics},
    KindMember{"cpu", &MachineKind::cpu, KindLevel::without_driver},
    KindMember{"image", &MachineKind::image, KindLevel::without_driver},
    KindMember{"power", &MachineKind::power, KindLevel::without_driver},
    KindMember{"driver", &MachineKind::driver, KindLevel::without_firmware},
    KindMember{"firmware", &MachineKind::firmware, KindLevel::full},
};

const KindMember* member_of(std::string_view key) {
  const auto found = std::ranges::find(kKindMembers, key, &KindMember::key);
  return found == kKindMembers.end() ? nullptr : &*found;
}

}  // namespace

std::string_view to_string(KindLevel level) {
  constexpr std::array<std::string_view, kKindLevels.size()> kWords{"full", "without_firmware",
                                                                    "without_driver", "gpu_and_nics"};
  return kWords.at(static_cast<std::size_t>(level));
}

std::string kind_text(const MachineKind& kind, KindLevel level) {
  std::string text;
  for (const KindMember& member : kKindMembers) {
    std::string value = kind.*member.value;
    if (value.empty() || member.last < level) continue;
    std::ranges::replace_if(
        value, [](char c) { return c == ';' || c == '='; }, ',');
    if (!text.empty()) text += ';';
    text.append(member.key).append("=").append(value);
  }
  return text;
}

Result<MachineKind> parse_kind(std::string_view text) {
  if (text.size() > kMostKindBytes)
    return fail(Errc::malformed,
                "a kind of machine has at most " + std::to_string(kMostKindBytes) + " bytes");
  MachineKind kind;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const KindMember* member = equals == std::string_view::npos ? nullptr : member_of(part.substr(0, equals));
    if (member == nullptr || !(kind.*member->value).empty() || equals + 1 == part.size())
      return fail(Errc::malformed, "kind of machine: \"" + std::string(part) +
                                       "\" is unknown, repeated or empty; the members are gpu, form, nics, "
                                       "cpu, image, power, driver and firmware");
    kind.*member->value = part.substr(equals + 1);
  }
  return kind;
}

}  // namespace autopilot::learning
