// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

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

void apply_lockup(FaultEffect& effect) {
  if (effect.kind == "hard") {
    effect.log(0, 0, "NMI watchdog: Watchdog detected hard LOCKUP on cpu 7");
    return;
  }
  if (effect.kind == "rcu") {
    effect.log(0, 3, "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:");
    effect.log(0, 3, "rcu: \t7-...!: (1 GPs behind) idle=0d4c/1/0x4000000000000000 softirq=1184/1185 fqs=2 ");
    return;
  }
  // The kernel repeats the line at this interval during the lockup.
  constexpr double kAgain = 26;
  constexpr std::int64_t kMost = 64;
  for (const double after : effect.repeats(0, kAgain, kMost))
    effect.log(after, 2,
               "watchdog: BUG: soft lockup - CPU#7 stuck for " +
                   std::to_string(static_cast<int>(after + kAgain)) + "s! [kworker/7:1:4242]");
}

void apply_kernel_oops(FaultEffect& effect) {
  // Bit 7 of the taints: died. It remains after the fault.
  const std::string path = "/proc/sys/kernel/tainted";
  const auto before = parse_number<std::int64_t>(effect.files.value(path).value_or("0")).value_or(0);
  effect.files.write_number(path, before | 128);
  effect.log(0, 1, "BUG: kernel NULL pointer dereference, address: 0000000000000008");
  effect.log(0, 4, "Oops: 0000 [#1] PREEMPT SMP NOPTI");
}

void apply_hung_task(FaultEffect& effect) {
  // By default, the kernel stops after ten reports.
  constexpr std::int64_t kMost = 10;
  for (const double after : effect.repeats(0, effect.magnitude, kMost))
    effect.log(after, 3, "INFO: task python3:4242 blocked for more than 120 seconds.");
}

void apply_machine_check(FaultEffect& effect) {
  for (std::int64_t i = 0; i < effect.count() && i < FaultEffect::kMaxRepeats; ++i) {
    const auto after = static_cast<double>(i);
    if (effect.kind == "firmware") {
      effect.log(after, 3, "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4");
      effect.log(after, 3, "{1}[Hardware Error]: event severity: recoverable");
      continue;
    }
    effect.log(after, 0, "mce: [Hardware Error]: Machine check events logged");
    effect.log(after, 0,
               std::string("mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 9: ") +
                   (effect.kind == "uncorrected" ? "bc00000000010091" : "8c00004000010091"));
  }
}

void apply_limit(FaultEffect& effect) {
  if (!effect.is_active) return;
  const auto part = [&](double limit) { return static_cast<std::int64_t>(limit * effect.share()); };
  constexpr double kMost = 1048576;
  const std::string most = std::to_string(static_cast<std::int64_t>(kMost));
  if (effect.kind == "files") {
    effect.files.write("/proc/sys/fs/file-nr", std::to_string(part(kMost)) + "\t0\t" + most + "\n");
  } else if (effect.kind == "conntrack") {
    const std::string folder = "/proc/sys/net/netfilter";
    effect.files.write_value(folder + "/nf_conntrack_max", most);
    effect.files.write_number(folder + "/nf_conntrack_count", part(kMost));
  } else {
    effect.files.write_value("/proc/sys/kernel/threads-max", most);
    effect.files.write("/proc/loadavg", "9.42 9.31 9.28 2/" + std::to_string(part(kMost)) + " 184220\n");
  }
}

void apply_cpu_offline(FaultEffect& effect) {
  const std::string folder = "/sys/devices/system/cpu";
  const std::string* present = effect.files.text(folder + "/present");
  const auto ids = parse_id_list(present == nullptr ? "" : *present).value_or(std::vector<int>{});
  const auto off = static_cast<std::size_t>(std::max<std::int64_t>(0, effect.count()));
  if (!effect.is_active || off >= ids.size()) return;
  effect.files.write_value(folder + "/online", "0-" + std::to_string(ids[ids.size() - off - 1]));
}

void apply_cpu_throttle(FaultEffect& effect) {
  const std::string counter = "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_total_time_ms";
  effect.add_file(counter, static_cast<std::int64_t>(effect.share() * effect.seconds * 1000));
  effect.log(0, 2, "mce: CPU0: Package temperature above threshold, cpu clock throttled (total events = 1)");
}

void apply_pressure(FaultEffect& effect) {
  if (!effect.is_active) return;
  const std::string share = std::to_string(effect.share() * 100);
  const std::string shares =
      " avg10=" + share + " avg60=" + share + " avg300=" + share + " total=9918402311\n";
  const bool is_cpu = effect.kind == "cpu";
  effect.files.write(
      "/proc/pressure/" + effect.kind,
      "some" + shares + (is_cpu ? "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n" : "full" + shares));
}

}  // namespace autopilot::simulator
