// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/parse.hpp"
#include "faults/effect.hpp"

namespace autopilot::simulator {
namespace {

constexpr const char* kModule = "/sys/devices/system/edac/mc/mc0";

// Adds to the number of a row "NAME:   N kB" or "NAME N".
void add_number(FaultEffect& effect, const std::string& path, std::string_view name, std::int64_t amount) {
  const std::string* text = effect.files.text(path);
  if (text == nullptr) return;
  std::string changed;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = split_words(line);
    if (words.size() >= 2 && words[0] == name) {
      const auto before = parse_number<std::int64_t>(words[1]).value_or(0);
      changed += std::string(words[0]) + " " + std::to_string(before + amount) +
                 (words.size() > 2 ? " " + std::string(words[2]) : "") + "\n";
    } else if (!line.empty()) {
      changed += std::string(line) + "\n";
    }
  }
  effect.files.write(path, changed);
}

std::string module_label(FaultEffect& effect) {
  return effect.files.value(std::string(kModule) + "/dimm1/dimm_label").value_or("unknown label");
}

}  // namespace

void apply_clock_unsynchronised(FaultEffect& effect) {
  if (!effect.is_active) return;
  YamlNode& sync = yaml_member(effect.machine.machine, "time_sync");
  yaml_member(sync, "synchronised") = yaml_flag(false);
  yaml_member(sync, "clock_error") = yaml_flag(true);
  yaml_member(sync, "max_error_us") = yaml_integer(16000000);
  yaml_member(sync, "estimated_error_us") = yaml_integer(16000000);
}

void apply_clocksource_fallback(FaultEffect& effect) {
  const std::string path = "/sys/devices/system/clocksource/clocksource0";
  effect.log(0, 4,
             "clocksource: timekeeping watchdog on CPU5: Marking clocksource 'tsc' as unstable because the "
             "skew is too large:");
  effect.log(0, 4, "tsc: Marking TSC unstable due to clocksource watchdog");
  effect.log(0.1, 6, "clocksource: Switched to clocksource " + effect.kind);
  if (!effect.is_active) return;
  effect.files.write_value(path + "/current_clocksource", effect.kind);
  effect.files.write_value(path + "/available_clocksource", "hpet acpi_pm");
}

void apply_memory_uncorrected(FaultEffect& effect) {
  effect.add_file(std::string(kModule) + "/ue_count", effect.count());
  effect.add_file(std::string(kModule) + "/dimm1/dimm_ue_count", effect.count());
  effect.log(0, 0, "mce: [Hardware Error]: Machine check events logged");
  effect.log(0, 0,
             "EDAC MC0: " + std::to_string(effect.count()) + " UE memory read error on " +
                 module_label(effect) +
                 " (channel:1 slot:0 page:0x1c2a4f offset:0x400 grain:32 -  err_code:0x0000:0x009f)");
}

void apply_memory_poison(FaultEffect& effect) {
  constexpr std::int64_t page_kilobytes = 4;
  add_number(effect, "/proc/meminfo", "HardwareCorrupted:", effect.count() * page_kilobytes);
  for (std::int64_t page = 0; page < effect.count() && page < 64; ++page)
    effect.log(0, 3, "Memory failure: 0x1c2a4f: recovery action for dirty LRU page: Recovered");
}

void apply_oom(FaultEffect& effect) {
  const bool is_global = effect.kind == "global";
  add_number(effect, "/proc/vmstat", "oom_kill", effect.count());
  for (std::int64_t i = 0; i < effect.count() && i < 64; ++i) {
    const std::string pid = std::to_string(184220 + i);
    effect.log(0, 4,
               "python3 invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO), "
               "order=0, oom_score_adj=0");
    effect.log(0, 6,
               std::string("oom-kill:constraint=") + (is_global ? "CONSTRAINT_NONE" : "CONSTRAINT_MEMCG") +
                   ",nodemask=(null),cpuset=/,mems_allowed=0-1," + (is_global ? "global_oom," : "") +
                   "task_memcg=/kubepods.slice/pod1,task=python3,pid=" + pid + ",uid=1000");
    effect.log(0, 3,
               std::string(is_global ? "Out of memory" : "Memory cgroup out of memory") +
                   ": Killed process " + pid +
                   " (python3) total-vm:88412012kB, anon-rss:81220144kB, file-rss:0kB, shmem-rss:0kB, "
                   "UID:1000 pgtables:161204kB oom_score_adj:0");
  }
}

void apply_edac_corrected(FaultEffect& effect) {
  effect.add_file(std::string(kModule) + "/ce_count", effect.grown());
  effect.add_file(std::string(kModule) + "/dimm1/dimm_ce_count", effect.grown());
  for (const double after : effect.repeats(60, 60))
    effect.log(after, 4,
               "EDAC MC0: " + std::to_string(static_cast<std::int64_t>(effect.magnitude * 60)) +
                   " CE memory read error on " + module_label(effect) +
                   " (channel:1 slot:0 page:0x1c2a4f offset:0x400 grain:32 syndrome:0x0)");
}

}  // namespace autopilot::simulator
