// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/progress/off_thread.hpp"
#include "collect/source.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/sockets/http_get.hpp"

namespace autopilot::collect {

// Annotation of a pod, and setting of JobPod: the port of its Prometheus metrics.
inline constexpr std::string_view kMetricsPort = "autopilot.ibm.com/metrics-port";

struct ServingOptions {
  // For inference jobs without the annotation; 0: they are not read.
  std::uint16_t port = 0;
  std::string path = "/metrics";
  // The IP address of a pod according to the API server; nullopt: unknown. Processes outside pods, and pods
  // without an address, are read on the loopback address. Called on the reading thread; must not block.
  std::function<std::optional<std::string>(const std::string& pod_uid)> pod_address;
  // Reads a resource; replaced in tests. Empty: host::http_get.
  std::function<Result<std::string>(const host::HttpPlace& place, std::size_t limit, MonoTime deadline)>
      fetch;
};

// Requests, tokens and latencies of inference servers from their Prometheus metrics, for each replica (a pod,
// or a process outside pods). Read every kInterval on a thread of its own; records arrive with a later poll.
class ServingSource final : public Source {
 public:
  static constexpr std::size_t kMaxReplicas = 16;                 // of the node
  static constexpr std::size_t kMaxBytes = std::size_t{4} << 20;  // of an answer
  static constexpr Duration kDeadline = std::chrono::seconds{2};  // of an answer
  static constexpr Duration kInterval = std::chrono::seconds{5};

  explicit ServingSource(ServingOptions options);

  void poll(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) override;
  [[nodiscard]] std::vector<std::string> not_seen() const override;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::optional<WallTime> read_;
  OffThread thread_;
};

}  // namespace autopilot::collect
