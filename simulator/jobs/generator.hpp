// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "jobs/labels.hpp"
#include "jobs/records.hpp"
#include "simulator/jobs/scenario.hpp"

namespace autopilot::simulated_jobs {

// Records of a scenario, window by window of 10 s. Equal scenarios give equal records on all machines. It
// keeps one window, not the past. Not thread-safe.
class Generator {
 public:
  explicit Generator(Scenario scenario);
  Generator(Generator&&) noexcept;
  Generator& operator=(Generator&&) noexcept;
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;
  ~Generator();

  // Replaces `records` by those of the next window, in order of time; the first window begins with the nodes
  // and jobs. Between calls the time falls by at most 4 s, because clocks of nodes differ. false: the
  // scenario has ended, and `records` is empty.
  [[nodiscard]] bool next(std::vector<jobs::Record>& records);

  // What was really wrong. Complete after next() returned false: a fault that would begin while its job does
  // not train begins later, or not at all if the scenario ends before.
  [[nodiscard]] const jobs::Labels& labels() const;
  [[nodiscard]] const Scenario& scenario() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace autopilot::simulated_jobs
