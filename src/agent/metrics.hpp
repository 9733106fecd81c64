// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "compat/ibm_autopilot/health_gauges.hpp"
#include "core/snapshot.hpp"
#include "net/http_server.hpp"
#include "net/node_keys.hpp"
#include "preflight/gate_stats.hpp"

namespace autopilot::agent {

// The node as Prometheus text, and the family of IBM Autopilot beside it. What belongs to a snapshot is
// rendered once per snapshot and kept; ages, the TLS keys and the server's own counters are rendered at
// every scrape.
// Thread-safe.
class MetricsExporter {
 public:
  explicit MetricsExporter(std::string cpu_model) : cpu_model_(std::move(cpu_model)) {}

  // Call it for each snapshot, also for a snapshot without a scrape: a value that cannot be read keeps its
  // previous value.
  void note(const SnapshotPtr& snapshot);
  // tls: empty: TLS is off.
  [[nodiscard]] std::string render(const SnapshotPtr& snapshot, const net::ServerStats& server,
                                   const std::optional<net::TlsStatus>& tls, const preflight::GateStats& gate,
                                   WallTime now);

 private:
  const std::string cpu_model_;
  std::mutex mutex_;
  compat::ibm_autopilot::HealthGauges health_;
  std::weak_ptr<const NodeSnapshot> noted_;
  std::weak_ptr<const NodeSnapshot> rendered_;  // weak: the next scrape may never come
  std::string body_;
};

// The part that depends on the snapshot alone, in the memory of `room`.
[[nodiscard]] std::string render_snapshot_metrics(const NodeSnapshot& snapshot, std::string room = {});

}  // namespace autopilot::agent
