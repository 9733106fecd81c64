// SPDX-License-Identifier: Apache-2.0
#include "fleet/simulated_agent.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/deep_test_outlets.hpp"
#include "agent/runtime_setup.hpp"
#include "catalog/catalog.hpp"

namespace autopilot::fleet {

SimulatedAgent::SimulatedAgent(net::EventLoop& loop, agent::Machine machine, const config::Config& config,
                               const kube::ClusterDoor& door, Duration heartbeat)
    : loop_(loop),
      machine_(std::move(machine)),
      passes_({}, [](const std::vector<PassRecord>&) {}),
      runtime_(machine_.host, *machine_.facts, machine_.checks, agent::runtime_options(config, machine_),
               agent::runtime_settings(config, machine_), outlets(), {}) {
  report::NodeWriterOptions options;
  options.node = machine_.node;
  options.prefix = config.kubernetes.label_prefix;
  options.heartbeat = heartbeat;
  cluster_ = std::make_unique<agent::ClusterLink>(loop_, machine_.host->clock, door, std::move(options),
                                                  config, sources(), report::ClusterMemory{});
  runtime_.events().set_listener([this](const std::vector<Event>& events) { cluster_->note(events); });
}

runtime::Outlets SimulatedAgent::outlets() {
  runtime::Outlets outlets;
  outlets.wake = [this] { poll_soon(); };
  outlets.complete_self = [this](SelfStatus& self) {
    if (machine_.complete_self) machine_.complete_self(self);
    if (cluster_) self.cluster = cluster_->status();
  };
  return outlets;
}

agent::ClusterSources SimulatedAgent::sources() {
  agent::ClusterSources sources;
  sources.reasons = [facts = machine_.facts](std::string_view id) { return facts->reason(id); };
  sources.saved_state = [this] { return runtime_.saved_state(); };
  // Nothing remembers it: there is no journal.
  sources.keep = [](const incidents::WrittenVerdict&, const std::function<void()>& on_kept) { on_kept(); };
  sources.deep_test = agent::deep_test_outlets(runtime_, passes_, machine_.tests, [this] { poll_soon(); });
  sources.passes = &passes_;
  return sources;
}

Status SimulatedAgent::listen(const std::string& address, const config::Config& config) {
  return door_.emplace(HttpDoor::Parts{loop_, runtime_, machine_, *cluster_, [this] { poll_soon(); }}, config)
      .listen(address);
}

void SimulatedAgent::start() {
  cluster_->start();
  poll();
}

void SimulatedAgent::kernel_log_grew(LogParts parts) {
  runtime_.kernel_log_grew(parts);
  poll();
}

void SimulatedAgent::poll() {
  const MonoTime next = runtime_.poll();
  passes_.note(*runtime_.snapshot());
  cluster_->note(runtime_.snapshot());
  next_poll_ = loop_.at(next, [this] { poll(); });
}

// Wakes from any thread become one call of poll on the loop.
void SimulatedAgent::poll_soon() {
  if (poll_posted_.exchange(true)) return;
  loop_.post([this] {
    poll_posted_ = false;
    poll();
  });
}

}  // namespace autopilot::fleet
