// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "agent/tls/node_keys.hpp"
#include "config/config.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/access.hpp"
#include "net/event_loop.hpp"
#include "runtime/lanes.hpp"

namespace autopilot::agent {

[[nodiscard]] Result<NodeKeys> read_keys(const config::Tls& files, const kube::ReadFile& read_file);

// Looks at the files of the keys now and then, on a thread of its own, and tells when they were renewed. On
// the loop's thread.
class KeyFiles {
 public:
  static constexpr Duration kEvery = std::chrono::seconds{5};

  struct Listener {
    std::function<void(const ReadyKeys& keys)> on_keys;
    // Once for each state of the files that makes no sense: the old keys stay. Files that are being replaced
    // have some time for it.
    std::function<void(const Error& why)> on_refused;
  };

  // used: what the files said at the start.
  KeyFiles(net::EventLoop& loop, config::Tls files, kube::ReadFile read_file, NodeKeys used,
           Listener listener, Duration every = kEvery);
  KeyFiles(const KeyFiles&) = delete;
  KeyFiles& operator=(const KeyFiles&) = delete;
  ~KeyFiles();

  // A look at files that make no sense is one that failed, but for those at which they may just be replaced.
  [[nodiscard]] const Renewals& renewals() const { return renewals_; }

 private:
  struct Seen;  // what comes back from the lane

  void look();
  void take(const Result<NodeKeys>& keys);
  void object(const Error& why);

  const config::Tls files_;
  const kube::ReadFile read_file_;
  const Listener listener_;
  NodeKeys used_;
  std::string objection_;     // to what was seen last; empty: none
  std::size_t objected_ = 0;  // how many times in a row
  Renewals renewals_;
  std::shared_ptr<Seen> seen_;
  runtime::Lanes lanes_;
  net::Subscription watch_;
};

}  // namespace autopilot::agent
