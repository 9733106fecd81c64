// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "kube/credentials.hpp"
#include "net/event_loop.hpp"

namespace autopilot::kube {

// Runs a task on a worker thread. A dropped task is submitted again.
using RunBlocking = std::function<void(std::function<void()> task)>;

// A client of one cluster with fresh credentials: they are refreshed on a worker thread at intervals, and
// once more when the server rejects them. On the loop's thread.
class Session {
 public:
  // name: user agent and field manager of our requests: "autopilot-agent".
  Session(net::EventLoop& loop, const Clock& clock, const ClusterDoor& door, const std::string& name,
          RunBlocking run_blocking);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() = default;

  // on_ready: called once after the first refresh of the credentials, also if it failed: then the server
  // decides about a client without credentials.
  void start(std::function<void()> on_ready);
  [[nodiscard]] Client& client() { return client_; }
  [[nodiscard]] const Client& client() const { return client_; }
  // Problem of the credentials; empty: none.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  struct Refreshed;  // result of the worker thread

  void look();
  void use(const Status& refreshed);

  net::EventLoop& loop_;
  const Clock& clock_;
  const RunBlocking run_blocking_;
  const std::shared_ptr<Credentials> credentials_;
  const std::shared_ptr<Refreshed> refreshed_;
  std::function<void()> on_ready_;  // until it is called
  std::string problem_;             // last reported
  bool has_asked_ = false;
  Client client_;
  net::Subscription watch_;
};

}  // namespace autopilot::kube
