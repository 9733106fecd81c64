// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "agent/agent.hpp"
#include "net/event_loop.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// Logs and records that a new version of `what` ("configuration", "TLS keys") is refused, and counts it.
void tell_refused(runtime::Runtime& runtime, const std::string& what, const Error& why, bool has_old = true);

// Reads the configuration again when its file changes, and on request. On the loop's thread.
class ConfigReload {
 public:
  // Everything outlives it.
  struct Context {
    net::EventLoop& loop;
    runtime::Runtime& runtime;
    AgentOptions& options;                                  // its configuration is replaced
    std::function<void(const config::Config& next)> apply;  // before the replacement
    std::function<void()> on_loaded;
    std::function<void()> poll_soon;
  };
  explicit ConfigReload(Context context);

  // Begins to watch the file.
  void start();
  void reload();

 private:
  void refuse(const Error& why);

  Context context_;
  std::string version_;  // of the file, as it was read last
  std::string refused_version_;
  net::Subscription watch_;
};

}  // namespace autopilot::agent
