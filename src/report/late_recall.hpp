// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "kube/client.hpp"
#include "net/event_loop.hpp"
#include "report/node_report_reader.hpp"

namespace autopilot::report {

// Reads the report of an earlier agent that could not be read at the start: retries until the cluster returns
// it, or answers that there is no report for this agent. On the event loop's thread.
class LateRecall {
 public:
  // is_simulated: this agent's machine is simulated. on_end: called once, with the report if there is one.
  LateRecall(net::EventLoop& loop, kube::Client& client, std::string name_space, std::string node,
             bool is_simulated, std::function<void(std::optional<NodeReport>)> on_end,
             Duration pause = std::chrono::seconds{10});
  LateRecall(const LateRecall&) = delete;
  LateRecall& operator=(const LateRecall&) = delete;
  ~LateRecall() = default;

  void start();
  // Why the last read failed; empty: no read has failed yet.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void ask();
  void take(kube::ApiResult<std::string> json);
  void end(std::optional<NodeReport> report);

  net::EventLoop& loop_;
  kube::Client& client_;
  const std::string name_space_;
  const std::string node_;
  const bool is_simulated_;
  const std::function<void(std::optional<NodeReport>)> on_end_;
  const Duration pause_;  // between two reads
  std::string problem_;
  net::Subscription next_;
  net::Exchange exchange_;
};

}  // namespace autopilot::report
