// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "core/parse.hpp"
#include "faults/effect.hpp"
#include "machine/build.hpp"

namespace autopilot::simulator {

// Faults of GPUs that are visible only in the driver's replies.

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

// Changes of whole cards: a reset, another card in the slot, two cards that changed places. These are never
// undone. Cards are changed while the machine is off: a tree with such a change shows the next boot.

namespace {

// Clears the readings that a reset clears. Lifetime counters change only with the card.
void clear_readings(YamlNode& gpu, bool is_another_card) {
  yaml_remove(gpu, "state");
  for (YamlMember& reading : yaml_member(gpu, "readings").members) {
    const bool is_flag = reading.key == "row_remap.pending" ||
                         (is_another_card && (reading.key == "row_remap.failed" ||
                                              reading.key == "ecc.sram_threshold_exceeded"));
    const bool is_counter = reading.key.starts_with("ecc.") &&
                            (reading.key.find("volatile") != std::string::npos ||
                             (is_another_card && reading.key.find("aggregate") != std::string::npos));
    if (is_flag) reading.value = yaml_flag(false);
    if (is_counter) reading.value = yaml_integer(0);
  }
}

void show_in_procfs(FileTree& files, const std::string& address, const YamlNode& gpu) {
  const std::string path = "/proc/driver/nvidia/gpus/" + address + "/information";
  const std::string* text = files.text(path);
  const YamlNode* uuid = gpu.find("uuid");
  if (text == nullptr || uuid == nullptr) return;
  std::string changed;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty()) continue;
    changed += line.starts_with("GPU UUID:") ? "GPU UUID: \t " + uuid->text : std::string(line);
    changed += '\n';
  }
  files.write(path, std::move(changed));
}

}  // namespace

void apply_gpu_reset(FaultEffect& effect) {
  if (YamlNode* gpu = effect.machine.gpu(effect.key)) clear_readings(*gpu, false);
  effect.xid(0, effect.key, 154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)");
}

void apply_card_replaced(FaultEffect& effect) {
  YamlNode* gpu = effect.machine.gpu(effect.key);
  if (gpu == nullptr) return;
  const std::string serial = gpu->find("serial") == nullptr ? "0" : gpu->find("serial")->text;
  yaml_member(*gpu, "serial") = yaml_word("9" + serial);
  yaml_member(*gpu, "uuid") = yaml_word("GPU-" + uuid_of(effect.key + " replaced " + serial));
  clear_readings(*gpu, true);
  show_in_procfs(effect.files, effect.key, *gpu);
}

void apply_card_swapped(FaultEffect& effect) {
  const auto slots = effect.machine.gpus();
  const auto here = std::ranges::find(slots, effect.key);
  if (here == slots.end() || slots.size() < 2) return;
  const std::string& other = std::next(here) == slots.end() ? slots.front() : *std::next(here);
  YamlNode* one = effect.machine.gpu(effect.key);
  YamlNode* two = effect.machine.gpu(other);
  if (one == nullptr || two == nullptr) return;
  for (const char* word : {"uuid", "serial"})
    std::swap(yaml_member(*one, word), yaml_member(*two, word));
  YamlNode& first = yaml_member(*one, "readings");
  YamlNode& second = yaml_member(*two, "readings");
  std::swap(first, second);
  // The driver numbers slots, not cards.
  std::swap(yaml_member(first, "minor"), yaml_member(second, "minor"));
  for (const std::string& slot : {effect.key, other})
    show_in_procfs(effect.files, slot, *effect.machine.gpu(slot));
}

// Faults of GPUs that the driver amdgpu reports in sysfs and in the kernel log.

namespace {

void say(FaultEffect& effect, double after, int priority, const std::string& text) {
  effect.log(after, priority, "amdgpu " + effect.key + ": amdgpu: " + text);
}

// Increases the count of a row such as "ue: 0".
void add_errors(FaultEffect& effect, std::string_view row) {
  const std::string path = effect.pci(effect.key) + "/ras/aca_umc";
  const std::string* text = effect.files.text(path);
  if (text == nullptr) return;
  std::string changed;
  for (const std::string_view line : split(trim(*text), '\n')) {
    const auto colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    const auto before = parse_number<std::int64_t>(trim(line.substr(colon + 1))).value_or(0);
    changed.append(name).append(": ").append(std::to_string(before + (name == row ? effect.count() : 0)));
    changed += '\n';
  }
  effect.files.write(path, changed);
}

struct Line {
  std::string_view kind;
  int priority;
  std::string_view text;
};

constexpr std::array kLines{
    Line{"fatal", 6, "uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!"},
    Line{"poison", 6, "GPU reset for GFX RAS poison consumption is issued!"},
    Line{"bad_pages", 3, "RAS records:132 exceed threshold:128"},
    Line{"boot", 6, "socket: 1, aid: 2, hbm: 3, fw_status: 0x80000040, hbm memory test failed"},
    Line{"init", 3, "Fatal error during GPU init"},
    Line{"lost", 3, "device lost from bus!"},
    Line{"reset_failed", 3, "GPU reset(2) failed"},
    Line{"reset", 6, "GPU reset(2) succeeded!"},
    Line{"firmware", 3,
         "SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x00000012 SMN_C2PMSG_82:0x00000005"},
    Line{"scheduler", 3, "MES failed to respond to msg=REMOVE_QUEUE"},
    Line{"overheat", 1, "ERROR: GPU over temperature range(SW CTF) detected!"},
    Line{"throttle", 4, "WARN: GPU is throttled, expect performance decrease. HBM."},
    Line{"power_cap", 4, "WARN: GPU is throttled, expect performance decrease. PPT."},
    Line{"page_fault", 3, "[gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:32769)"},
    Line{"timeout", 3, "ring gfx_0.0.0 timeout, signaled seq=81, emitted seq=83"},
};

void change_line(FaultEffect& effect, std::string_view kind) {
  for (const Line& line : kLines)
    if (line.kind == kind) say(effect, 0, line.priority, std::string(line.text));
}

}  // namespace

void apply_amd_errors(FaultEffect& effect) {
  const bool is_uncorrected = effect.kind == "uncorrected";
  add_errors(effect, is_uncorrected ? "ue" : effect.kind == "deferred" ? "de" : "ce");
  const std::string what = is_uncorrected              ? "uncorrectable"
                           : effect.kind == "deferred" ? "deferred"
                                                       : "correctable";
  say(effect, 0, 6,
      "{12}[socket: 1, die: 0] " + std::to_string(effect.count()) + " new " + what +
          " hardware errors detected in umc block");
}

void apply_amd_bad_pages(FaultEffect& effect) {
  const std::string path = effect.pci(effect.key) + "/ras/gpu_vram_bad_pages";
  const std::string* before = effect.files.text(path);
  if (before == nullptr) return;
  const char* flag = effect.kind == "pending" ? "P" : effect.kind == "unreserved" ? "F" : "R";
  std::string rows = *before;
  constexpr std::int64_t kMost = 4096;
  for (std::int64_t i = 0; i < std::min(effect.count(), kMost); ++i) {
    constexpr unsigned kFirst = 0x1a2b00;
    std::array<char, 40> row{};
    std::snprintf(row.data(), row.size(), "0x%08x : 0x%08x : %1s\n", kFirst + static_cast<unsigned>(i),
                  0x1000U, flag);
    rows += row.data();
  }
  effect.files.write(path, rows);
  if (effect.kind == "retired")
    say(effect, 0, 6, "Saved " + std::to_string(effect.count()) + " pages to EEPROM table.");
}

void apply_amd_temperature(FaultEffect& effect) {
  if (!effect.is_active) return;
  constexpr std::int64_t kMilli = 1000;
  const std::string folder = effect.pci(effect.key) + "/hwmon";
  for (const std::string& name : effect.files.list(folder))
    effect.files.write_number(std::string(folder).append("/").append(name).append(
                                  effect.kind == "memory" ? "/temp3_input" : "/temp2_input"),
                              effect.count() * kMilli);
}

void apply_amd_asleep(FaultEffect& effect) {
  if (effect.is_active)
    effect.files.write_value(effect.pci(effect.key) + "/power/runtime_status", "suspended");
}

void apply_amd_off_bus(FaultEffect& effect) {
  constexpr std::size_t kConfigBytes = 64;
  if (effect.is_active)
    effect.files.write(effect.pci(effect.key) + "/config", std::string(kConfigBytes, '\xff'));
  change_line(effect, "lost");
}

void apply_amd_not_loaded(FaultEffect& effect) {
  if (!effect.is_active) return;
  effect.files.remove("/sys/module/amdgpu");
  effect.files.remove("/sys/bus/pci/drivers/amdgpu");
}

void apply_amd_line(FaultEffect& effect) {
  change_line(effect, effect.kind);
}

}  // namespace autopilot::simulator
