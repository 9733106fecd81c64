// SPDX-License-Identifier: Apache-2.0
// Faults of GPUs that the driver amdgpu reports in sysfs and in the kernel log.
#include <array>
#include <cstdio>

#include "core/parse.hpp"
#include "faults/effect.hpp"

namespace autopilot::simulator {
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

void say_line(FaultEffect& effect, std::string_view kind) {
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
  say_line(effect, "lost");
}

void apply_amd_not_loaded(FaultEffect& effect) {
  if (!effect.is_active) return;
  effect.files.remove("/sys/module/amdgpu");
  effect.files.remove("/sys/bus/pci/drivers/amdgpu");
}

void apply_amd_line(FaultEffect& effect) {
  say_line(effect, effect.kind);
}

}  // namespace autopilot::simulator
