// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/kernel_log/journal_boots.hpp"

namespace autopilot::host {

// File of a machine tree beside root/, in the form of `journalctl -o json`.
inline constexpr std::string_view kTreeJournal = "/journal.jsonl";

struct JournalRequest {
  WallTime since{};     // entries of the kernel and of ends of programs since then
  MonoTime deadline{};  // for all reading
};

// Messages of the kernel, and ends of programs, from the systemd journal: of this boot and of earlier boots,
// and the last entries of the previous boot whatever their age. Starts journalctl, without a shell; of a
// machine tree it reads kTreeJournal. unsupported: this machine has no journalctl, or the tree no such file.
// denied: the journal of the system is not readable for this user. Blocks until the deadline at most.
[[nodiscard]] Result<std::vector<JournaledBoot>> read_journaled_boots(const Files& files,
                                                                      const JournalRequest& request);

}  // namespace autopilot::host
