// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/seen_jobs.hpp"
#include "collect/telemetry/growth.hpp"
#include "core/clock.hpp"
#include "host/files/files.hpp"
#include "host/process/process_reader.hpp"
#include "host/process/processes.hpp"
#include "jobs/records.hpp"

namespace autopilot::collect {

// The process columns of one window. Reads /proc, which the kernel answers from memory: one file of each main
// process once a second, up to three of each process of a rank at the edges of a window. A process that
// ended, or whose pid another process has now, has no row. For one thread.
class ProcessTable {
 public:
  static constexpr std::size_t kMaxRows = 256;      // of a window; further ranks are left out
  static constexpr std::size_t kMaxChildren = 256;  // of a rank; further ones do not count

  // `files` outlives the table. `reader`: reads the I/O of processes of other users where this process may
  // not; null: none.
  explicit ProcessTable(const host::Files& files, std::shared_ptr<const host::ProcessReader> reader = {})
      : files_(files), reader_(std::move(reader)) {}

  // The state of each main process now. `now`: begins the measurement of a rank that is new.
  void sample(const SeenJobs& jobs, MonoTime now);
  // The window ends: appends keys and columns. The next window begins.
  void close(const SeenJobs& jobs, MonoTime now, jobs::WindowRecord& window);
  void drop() { rows_.clear(); }

  // Ranks whose /proc/<pid>/io neither this process nor the reader may read, at the last edge.
  [[nodiscard]] std::size_t denied_io() const { return denied_io_; }

 private:
  // What a process has used since its start.
  struct Used {
    std::uint64_t started_ticks = 0;
    std::uint64_t cpu_ticks = 0;
    std::optional<host::TaskIo> io;
    std::optional<Duration> run_delay;
    bool is_io_denied = false;
  };
  using Usage = std::map<std::int64_t, Used>;  // by pid
  struct Row {
    jobs::ProcessKey key;
    std::int64_t pid = 0;
    std::uint64_t started_ticks = 0;
    MonoTime begin{};
    Usage usage;  // at `begin`
    Mean disk_sleep, stopped;
  };
  struct Rates {
    float cpu = jobs::kMissing;
    float io_bytes_s = jobs::kMissing;
    float run_delay = jobs::kMissing;
  };

  [[nodiscard]] Row* find(const std::string& job, const RankProcess& process);
  [[nodiscard]] std::optional<Used> read_used(std::int64_t pid) const;
  [[nodiscard]] Usage read_usage(const RankProcess& process) const;
  [[nodiscard]] static Rates rates_of(const Row& row, const Usage& now, MonoTime time);

  const host::Files& files_;
  std::shared_ptr<const host::ProcessReader> reader_;
  std::vector<Row> rows_;
  std::size_t denied_io_ = 0;
};

}  // namespace autopilot::collect
