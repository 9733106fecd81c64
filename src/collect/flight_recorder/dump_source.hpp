// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collect/rank_environment.hpp"
#include "collect/source.hpp"
#include "core/clock.hpp"

namespace autopilot::collect {

struct DumpSettings {
  Duration interval = std::chrono::seconds{5};  // between searches
  Duration settled = std::chrono::seconds{2};   // a file that changed more recently is still being written
};

// Dumps of PyTorch's flight recorder, which a job writes when a collective times out or when it is asked to:
// one file for each rank, at the prefix that its environment names, as the process itself sees it. A file
// older than the process is of another attempt. Records: jobs::CollectivesRecord of all ranks of this node
// whose dumps were read; other members of a group have an unknown count. The path and the content are the
// job's: links never lead out of the root of the process, only regular files are read, and nothing in them is
// executed. It starts one thread, which ends after the search in progress.
class DumpSource final : public Source {
 public:
  static constexpr std::size_t kMaxRanks = 256;  // of the node; more are not searched

  DumpSource(EnvironmentOf environment_of, DumpSettings settings);
  DumpSource(const DumpSource&) = delete;
  DumpSource& operator=(const DumpSource&) = delete;
  ~DumpSource() override;

  void poll(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) override;
  [[nodiscard]] std::vector<std::string> not_seen() const override;

 private:
  class Worker;

  const EnvironmentOf environment_of_;
  const DumpSettings settings_;
  std::shared_ptr<Worker> worker_;
  WallTime due_{};
};

}  // namespace autopilot::collect
