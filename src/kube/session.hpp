// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "kube/cluster_door.hpp"
#include "kube/credentials.hpp"
#include "net/event_loop.hpp"

namespace autopilot::kube {

// Has a task done on a thread that may block. One that is dropped is asked for again.
using RunBlocking = std::function<void(std::function<void()> task)>;

// A client of one cluster whose credentials stay fresh: they are read and run beside the loop, again and
// again, and once more when the server rejects them. On the loop's thread.
class Session {
 public:
  // name: by which the server knows who asks and who wrote what: "autopilot-agent".
  Session(net::EventLoop& loop, const Clock& clock, const ClusterDoor& door, const std::string& name,
          RunBlocking run_blocking);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() = default;

  // on_ready: once, when the credentials were looked at for the first time, also where that failed: then the
  // server will say what it thinks of a client without any.
  void start(std::function<void()> on_ready);
  [[nodiscard]] Client& client() { return client_; }
  [[nodiscard]] const Client& client() const { return client_; }
  // What is wrong with the credentials; empty: nothing.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  struct Refreshed;  // what comes back from the other thread

  void look();
  void use(const Status& refreshed);

  net::EventLoop& loop_;
  const Clock& clock_;
  const RunBlocking run_blocking_;
  const std::shared_ptr<Credentials> credentials_;
  const std::shared_ptr<Refreshed> refreshed_;
  std::function<void()> on_ready_;  // until it was called
  std::string problem_;             // the one that was said last
  bool has_asked_ = false;
  Client client_;
  net::Subscription watch_;
};

}  // namespace autopilot::kube
