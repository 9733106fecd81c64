// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/progress/log_reader.hpp"
#include "collect/progress/off_thread.hpp"
#include "collect/source.hpp"

namespace autopilot::collect {

// Steps, phases and ends of ranks from their logs. Files are read on a thread of its own, so that a disk that
// does not answer blocks nothing; records arrive one poll later.
class LogSource final : public Source {
 public:
  explicit LogSource(LogOptions options);

  void poll(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) override;
  [[nodiscard]] bool has_more() const override;
  [[nodiscard]] std::vector<std::string> not_seen() const override;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::optional<WallTime> started_;  // of the reading that runs
  bool is_stuck_ = false;
  OffThread thread_;
};

}  // namespace autopilot::collect
