// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/clock.hpp"
#include "core/event.hpp"
#include "core/health.hpp"
#include "core/snapshot.hpp"
#include "jobs/records.hpp"

namespace autopilot::agent {

// What the agent's own checks state about this node, as records for the in-flight engine. Findings that are
// injected, unknown, or about another node are left out. Not thread-safe.
class NodeRecords {
 public:
  static constexpr std::size_t kMostFindings = 1024;

  explicit NodeRecords(std::string node) : node_(std::move(node)) {}

  // Findings that are new, changed their health or ended since the last snapshot, new ones with their own
  // begin; ports that went down within the last kLatePort or came up. A port that was down before is a
  // finding only.
  static constexpr Duration kLatePort = std::chrono::minutes(10);
  [[nodiscard]] std::vector<jobs::Record> take(const NodeSnapshot& snapshot);
  // Xids among the events, with the GPU's index by the last snapshot.
  [[nodiscard]] std::vector<jobs::Record> take(const std::vector<Event>& events) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // check, subject, reason

  void learn_gpus(const NodeSnapshot& snapshot);
  // Empty: not a part of this node that a job uses.
  [[nodiscard]] std::string subject_of(const Subject& subject) const;

  std::string node_;
  std::map<std::string, int, std::less<>> gpus_;  // indexes by PCI address
  struct Open {
    Health health = Health::unknown;
    WallTime since{};  // the epoch: unknown
  };
  using Findings = std::map<Key, Open>;
  [[nodiscard]] Findings findings_of(const NodeSnapshot& snapshot) const;
  void state(const Key& key, const Open& held, bool is_new, WallTime now,
             std::vector<jobs::Record>& records) const;

  Findings open_;
};

}  // namespace autopilot::agent
