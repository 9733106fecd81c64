// SPDX-License-Identifier: Apache-2.0
// Faults of GPUs that are visible only in the driver's replies.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "faults/effect.hpp"

namespace autopilot::simulator {
namespace {

constexpr int kNvmlUnknown = 999;

// Bits of the fabric health mask during a kind of fault.
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

// NVIDIA numbers the instances of one slice from 7 on; there are at most seven.
constexpr std::int64_t kFirstSlice = 7;
constexpr std::int64_t kMostInstances = 7;

// "MIG-00000001-..." followed by the rest of the GPU's UUID.
std::string instance_uuid(const YamlNode& gpu, std::int64_t number) {
  constexpr std::size_t kNumbered = std::string_view("GPU-00000000").size();
  const YamlNode* uuid = gpu.find("uuid");
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "MIG-%08x", static_cast<unsigned>(number));
  return text.data() +
         (uuid == nullptr || uuid->text.size() < kNumbered ? std::string{} : uuid->text.substr(kNumbered));
}

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

void apply_divided(FaultEffect& effect) {
  YamlNode* gpu = effect.machine.gpu(effect.key);
  if (!effect.is_active || gpu == nullptr) return;
  effect.set(effect.key, "mig", yaml_flag(true));
  YamlNode instances = yaml_list();
  for (std::int64_t i = 0; i < std::clamp<std::int64_t>(effect.count(), 1, kMostInstances); ++i) {
    YamlNode& instance = instances.items.emplace_back(yaml_map());
    yaml_member(instance, "gpu_instance") = yaml_integer(kFirstSlice + i);
    yaml_member(instance, "compute_instance") = yaml_integer(0);
    yaml_member(instance, "uuid") = yaml_word(instance_uuid(*gpu, i));
  }
  yaml_member(*gpu, "instances") = std::move(instances);
}

}  // namespace autopilot::simulator
