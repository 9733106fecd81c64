// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "store/history/history_database.hpp"

// History in a file: SQLite in WAL mode, synchronous=FULL. Several processes can read and write one file; a
// writer waits two seconds for another one. Errors as History::open and History::open_read_only.
namespace autopilot::store {

struct OpenedHistoryFile {
  std::unique_ptr<HistoryDatabase> database;
  std::string moved_aside;
  std::string reason;
};
[[nodiscard]] Result<OpenedHistoryFile> open_history_file(const std::string& path, WallTime now,
                                                          bool moves_aside);
[[nodiscard]] Result<std::unique_ptr<HistoryDatabase>> open_history_file_read_only(const std::string& path);

}  // namespace autopilot::store
