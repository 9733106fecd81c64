// SPDX-License-Identifier: Apache-2.0
// Faults of GPUs that only the driver's answers show.
#include <array>

#include "faults/effect.hpp"

namespace autopilot::simulator {
namespace {

constexpr int kNvmlUnknown = 999;

// What the health mask of the fabric says while a kind of fault lasts.
struct MaskPart {
  std::string_view kind;
  unsigned shift;
  unsigned mask;
  unsigned value;
};

constexpr std::array kMaskParts{
    MaskPart{"bandwidth", 0, 0x3, 1},     MaskPart{"recovering", 2, 0x3, 1}, MaskPart{"route", 4, 0x3, 1},
    MaskPart{"configuration", 8, 0xf, 5}, MaskPart{"partition", 12, 0x3, 2},
};

}  // namespace

void apply_fabric(FaultEffect& effect) {
  if (!effect.is_active) return;
  if (effect.kind == "not_started") effect.set(effect.key, "fabric.state", yaml_integer(1));
  if (effect.kind == "in_progress") effect.set(effect.key, "fabric.state", yaml_integer(2));
  if (effect.kind == "refused") effect.set(effect.key, "fabric.status", yaml_integer(kNvmlUnknown));
  for (const MaskPart& part : kMaskParts) {
    if (effect.kind != part.kind) continue;
    const auto before = static_cast<unsigned>(effect.number(effect.key, "fabric.health_mask"));
    effect.set(effect.key, "fabric.health_mask",
               yaml_integer((before & ~(part.mask << part.shift)) | (part.value << part.shift)));
  }
}

}  // namespace autopilot::simulator
