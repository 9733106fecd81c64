// SPDX-License-Identifier: Apache-2.0
#include "fleet/fleet.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "cli/cluster_access.hpp"
#include "cli/machine.hpp"
#include "cli/open_machine.hpp"
#include "fleet/simulated_agent.hpp"
#include "host/process/own_process.hpp"
#include "logging/log.hpp"
#include "net/event_loop.hpp"
#include "net/url.hpp"
#include "runtime/workers.hpp"

namespace autopilot::fleet {
namespace {

using logging::log_error;
using logging::log_info;

constexpr Duration kLookAtStart = std::chrono::milliseconds{20};
constexpr Duration kLookAtWrites = std::chrono::milliseconds{500};
constexpr Duration kReturnMemory = std::chrono::seconds{15};
constexpr std::uint64_t kFirstWrites = 2;  // label and conditions

class Fleet {
 public:
  explicit Fleet(FleetOptions options) : options_(std::move(options)) {}
  Status open(const kube::ClusterDoor& door);
  Status run();

 private:
  using Tenants = std::vector<SimulatedAgent*>;

  Result<agent::Machine> make_machine(const std::shared_ptr<Tenants>& tenants);
  void move_in(const std::string& node, agent::Machine machine, Tenants& tenants,
               const kube::ClusterDoor& door);
  Status listen();
  void start_next();
  void begin_timeline();
  void strike(const PlannedFault& fault);
  void tell_end() const;

  FleetOptions options_;
  net::EventLoop loop_;
  std::map<std::string, std::unique_ptr<SimulatedAgent>> agents_;  // by node
  net::Subscription signals_;
  net::Subscription memory_return_;
  std::map<std::string, std::unique_ptr<SimulatedAgent>>::iterator starting_ = agents_.end();
  net::Subscription start_watch_;
  net::Subscription writes_watch_;
  std::vector<net::Subscription> faults_to_come_;
  runtime::Workers lane_{{.threads = 1, .max_stuck = 1, .max_queued = 4096}};  // a fault comes by a program
};

Result<agent::Machine> Fleet::make_machine(const std::shared_ptr<Tenants>& tenants) {
  const cli::MachineChoice choice{.root = "", .simulate = options_.machine};
  auto known = TRY(cli::checks_of(choice, options_.config));
  const auto tell = [this, tenants](LogParts parts) {
    loop_.post([tenants, parts] {
      for (SimulatedAgent* one : *tenants)
        one->kernel_log_grew(parts);
    });
  };
  auto machine = TRY(cli::open_machine(choice, options_.config, cli::Timeline::live,
                                       {.tell = tell, .operator_rules = known.operator_rules}));
  TRY_STATUS(agent::may_be_written(machine.simulated, options_.allow_simulated));
  machine.checks = std::move(known.checks);
  machine.facts = std::move(known.facts);
  return machine;
}

void Fleet::move_in(const std::string& node, agent::Machine machine, Tenants& tenants,
                    const kube::ClusterDoor& door) {
  machine.node = node;
  auto& one = agents_[node];
  one =
      std::make_unique<SimulatedAgent>(loop_, std::move(machine), options_.config, door, options_.heartbeat);
  tenants.push_back(one.get());
}

Status Fleet::open(const kube::ClusterDoor& door) {
  std::set<std::string> struck;
  for (const PlannedFault& fault : options_.faults) {
    if (std::ranges::find(options_.nodes, fault.node) == options_.nodes.end())
      return fail(Errc::not_found, "there is no node " + fault.node + " that a fault could befall");
    struck.insert(fault.node);
  }
  const auto sound_ones = std::make_shared<Tenants>();
  const auto sound = TRY(make_machine(sound_ones));
  for (const std::string& node : options_.nodes) {
    if (!struck.contains(node)) {
      move_in(node, sound, *sound_ones, door);
      continue;
    }
    const auto alone = std::make_shared<Tenants>();
    move_in(node, TRY(make_machine(alone)), *alone, door);
  }
  return options_.listen.empty() ? Status{} : listen();
}

// Each at an address of its own and at the same port, as agents of real nodes.
Status Fleet::listen() {
  const net::IpPort first = TRY(net::parse_ip_port(options_.listen));
  in_addr address{};
  if (inet_pton(AF_INET, first.address.c_str(), &address) != 1)
    return fail(Errc::malformed, "--listen: expected an IPv4 address and a port, not " + options_.listen);
  std::uint32_t number = ntohl(address.s_addr);
  for (const std::string& node : options_.nodes) {
    address.s_addr = htonl(number++);
    std::array<char, INET_ADDRSTRLEN> text{};
    const net::IpPort own{inet_ntop(AF_INET, &address, text.data(), text.size()), first.port};
    TRY_STATUS(agents_.at(node)->listen(net::to_string(own), options_.config));
  }
  return {};
}

// One after the other: all at once would keep each other from looking in time, which real ones do not.
void Fleet::start_next() {
  const bool is_busy = starting_ != agents_.end() && !starting_->second->has_looked_once();
  if (is_busy) return;
  starting_ = starting_ == agents_.end() ? agents_.begin() : std::next(starting_);
  if (starting_ != agents_.end()) return starting_->second->start();
  start_watch_.cancel();
  writes_watch_ = loop_.every(kLookAtWrites, [this] {
    const auto has_written = [](const auto& entry) { return entry.second->status().writes >= kFirstWrites; };
    if (std::ranges::all_of(agents_, has_written)) begin_timeline();
  });
}

void Fleet::begin_timeline() {
  writes_watch_.cancel();
  log_info("every agent has written", {{"agents", std::to_string(agents_.size())}});
  for (const PlannedFault& fault : options_.faults)
    faults_to_come_.push_back(loop_.after(fault.at, [this, &fault] { strike(fault); }));
}

void Fleet::strike(const PlannedFault& fault) {
  log_info("a fault comes", {{"fault", to_string(fault)}});
  const auto ticket = lane_.submit([inject = agents_.at(fault.node)->machine().inject, fault] {
    if (const auto injected = inject(fault.request); !injected)
      log_error("the fault did not come", {{"fault", to_string(fault)}, {"cause", injected.error().what}});
  });
  if (ticket == 0) log_error("the fault did not come: too many at once", {{"fault", to_string(fault)}});
}

void Fleet::tell_end() const {
  std::uint64_t writes = 0;
  std::uint64_t failures = 0;
  for (const auto& [node, one] : agents_) {
    const ClusterStatus status = one->status();
    writes += status.writes;
    failures += status.failures;
    if (!status.problem.empty()) log_info("has a problem", {{"node", node}, {"problem", status.problem}});
  }
  log_info("stopping", {{"writes", std::to_string(writes)}, {"failures", std::to_string(failures)}});
}

Status Fleet::run() {
  signals_ = TRY(loop_.on_signal({SIGTERM, SIGINT}, [this](int) {
    tell_end();
    loop_.stop();
  }));
  memory_return_ = loop_.every(kReturnMemory, host::return_unused_memory);
  start_watch_ = loop_.every(kLookAtStart, [this] { start_next(); });
  log_info("fleet begins", {{"agents", std::to_string(agents_.size())}});
  loop_.run();
  for (const auto& [node, one] : agents_)
    one->stop();
  return {};
}

}  // namespace

Status run_fleet(FleetOptions options) {
  host::keep_allocator_small();
  const auto door =
      TRY(cli::open_cluster(options.config.kubernetes.kubeconfig, options.config.kubernetes.name_space, {}));
  Fleet fleet(std::move(options));
  TRY_STATUS(fleet.open(door));
  return fleet.run();
}

}  // namespace autopilot::fleet
