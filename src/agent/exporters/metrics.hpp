// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/snapshot.hpp"
#include "net/http_server.hpp"

namespace autopilot::agent {

// The node as Prometheus text. What belongs to a snapshot is rendered once per snapshot and kept; ages and
// the server's own counters are rendered at every scrape. Thread-safe.
class MetricsExporter {
 public:
  [[nodiscard]] std::string render(const SnapshotPtr& snapshot, const net::ServerStats& server, WallTime now);

 private:
  std::mutex mutex_;
  std::weak_ptr<const NodeSnapshot> rendered_;  // not kept alive for whoever asks next, perhaps never
  std::string body_;
};

// The part that depends on the snapshot alone, in the memory of `room`.
[[nodiscard]] std::string render_snapshot_metrics(const NodeSnapshot& snapshot, std::string room = {});

}  // namespace autopilot::agent
