// SPDX-License-Identifier: Apache-2.0
// Faults of GPUs that only the driver's answers show.
#include <array>
#include <cmath>

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

void apply_repair(FaultEffect& effect) {
  const char* reading = effect.kind == "channel" ? "repair.channel_pending"
                        : effect.kind == "tpc"   ? "repair.tpc_pending"
                                                 : "row_remap.unrepairable";
  effect.set(effect.key, reading, yaml_flag(effect.is_active));
}

void apply_inforom(FaultEffect& effect) {
  effect.set(effect.key, "inforom.valid", yaml_flag(!effect.is_active));
}

void apply_persistence_off(FaultEffect& effect) {
  effect.set(effect.key, "persistence", yaml_flag(!effect.is_active));
}

void apply_power_limit(FaultEffect& effect) {
  if (!effect.is_active) return;
  effect.set(effect.key, "power.limit", yaml_number(effect.magnitude));
  if (effect.kind == "set") effect.set(effect.key, "power.limit_requested", yaml_number(effect.magnitude));
}

void apply_slow_clock(FaultEffect& effect) {
  if (!effect.is_active) return;
  effect.make_busy(effect.key);
  const double full = effect.number(effect.key, "clocks.sm_max");
  effect.set(effect.key, "clocks.sm", yaml_integer(std::llround(full * effect.share())));
}

void apply_orphan(FaultEffect& effect) {
  if (!effect.is_active) return;
  effect.set(effect.key, "memory.used",
             yaml_number(effect.number(effect.key, "memory.total") * effect.share()));
  if (effect.kind == "ended") effect.set(effect.key, "processes.count", yaml_integer(1));
}

}  // namespace autopilot::simulator
