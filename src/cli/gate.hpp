// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/preflight.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/http_client.hpp"
#include "net/tls.hpp"
#include "net/url.hpp"

namespace autopilot::cli {

// From the end of a diagnostic to the end of its answer; the agent commits the result in between.
inline constexpr Duration kAnswerGrace = std::chrono::seconds{15};

// Address of the agent.
struct GateTarget {
  net::HttpTarget socket;                      // if it has a path: this Unix socket, without a token
  net::ServerUrl url;                          // else this address, over TLS
  std::shared_ptr<const net::TlsContext> tls;  // trusted CA and expected node name
};
// authority: PEM. malformed: an argument is not valid.
[[nodiscard]] Result<GateTarget> gate_target(const std::string& url, const std::string& node,
                                             const std::string& authority);

// Outcome of one request.
struct GateAnswer {
  std::optional<api::PreflightResult> result;
  bool may_come = false;  // without a result: a retry may succeed
  std::string why;        // without a result: the reason, in a sentence
};

// Sends the request, reports progress and returns the answer. Gives up after `patience`, later if the agent
// announces a longer wait, or within 200 ms after `stop` becomes true.
[[nodiscard]] GateAnswer ask_gate(const GateTarget& target, const std::string& token,
                                  const api::PreflightRequest& request, Duration patience,
                                  const std::function<void(const api::PreflightProgress&)>& on_progress,
                                  const std::atomic<bool>& stop);

// Lines of `autopilot preflight` in the log of the container. Pure.

// "node gpu-7: gpu.pcie_bandwidth passed 2 h ago on the 8 GPUs of this pod; the job may start"
[[nodiscard]] std::string line_of(const api::PreflightResult& result);
// "node gpu-7: gpu.pcie_bandwidth is running"
[[nodiscard]] std::string line_of(const api::PreflightProgress& progress);

// Parses "gpu.pcie_bandwidth,gpu.memory_bandwidth"; ignores blanks.
[[nodiscard]] std::vector<std::string> parse_test_list(const std::string& text);

// True if the line differs from the previous one, apart from the progress of a diagnostic.
[[nodiscard]] bool is_news(const std::optional<api::PreflightProgress>& before,
                           const api::PreflightProgress& now);

}  // namespace autopilot::cli
