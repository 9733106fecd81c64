// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "host/kernel_log/core_dump_trace.hpp"
#include "host/kernel_log/kernel_log.hpp"
#include "host/kernel_log/text_log.hpp"

namespace autopilot::host {

// The end of a program, as systemd states it.
struct ProgramEnd {
  enum class Kind : std::uint8_t {
    core_dump,    // a signal ended it, and it was dumped
    unit_memory,  // a process of the unit was killed for lack of memory
    unit_failed,  // the unit failed
  };

  Kind kind = Kind::unit_failed;
  WallTime time{};
  std::int64_t pid = 0;  // 0: unknown
  std::string process;   // of a core dump; chosen by the process
  std::string unit;      // "train.service"
  std::string cgroup;    // of a core dump
  std::string word;      // the signal ("SIGSEGV"), or the result of the unit ("oom-kill")
  CrashPlace place;      // of a core dump
};

// What the systemd journal has of one boot.
struct JournaledBoot {
  static constexpr std::size_t kMaxRecords = 20'000;
  static constexpr std::size_t kMaxEnds = 1'000;

  std::string id;
  WallTime first{};  // time of the first entry that was read
  WallTime last{};
  bool was_stopped = false;          // the journal states that the machine was shut down or restarted
  bool has_system_entries = false;   // entries of the kernel, or of a process of root
  std::deque<KernelRecord> records;  // of the kernel, oldest first; beyond kMaxRecords the newest
  std::deque<ProgramEnd> ends;       // oldest first; beyond kMaxEnds the newest
};

// Matches of journalctl that select the entries which JournalReader uses.
[[nodiscard]] std::vector<std::string> journal_matches();

// Reads lines of `journalctl -o json`, from any mixture of boots. Lines of another form are skipped. Pure.
class JournalReader {
 public:
  static constexpr std::size_t kMaxBoots = 32;  // the newest

  JournalReader();
  JournalReader(const JournalReader&) = delete;
  JournalReader& operator=(const JournalReader&) = delete;
  ~JournalReader();

  void add_line(std::string_view line);
  // By first time. The reader is empty afterwards.
  [[nodiscard]] std::vector<JournaledBoot> finish();

 private:
  struct Boot;
  [[nodiscard]] Boot* boot_of(const std::string& id, WallTime time);
  std::vector<std::unique_ptr<Boot>> boots_;
};

}  // namespace autopilot::host
