// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/bandwidth.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "diagnostics/operations/operations.hpp"
#include "host/diagnostic_results/results.hpp"
#include "net/event_loop.hpp"
#include "nettest/run/address_book.hpp"
#include "nettest/run/bandwidth_run.hpp"
#include "nettest/run/pair_exchange.hpp"
#include "nettest/run/pair_medium.hpp"
#include "nettest/run/tester_doors.hpp"
#include "nettest/run/way_back.hpp"

namespace autopilot::nettest {

// The operation of the check of a medium, such as network.bandwidth: measures pairs of the nodes that are
// reserved for it ("peer/gpu-7"), or of all nodes, and puts the observations on the board. If it is stopped
// early, the measurements so far are the result, and the agents are asked to end their tests. On the loop's
// thread.
class BandwidthTester {
 public:
  static constexpr Duration kDeadline = std::chrono::minutes{10};
  static constexpr Duration kPlanRemembered = std::chrono::seconds{10};
  static constexpr std::size_t kMostPlans = 8;

  // medium: outlives it.
  BandwidthTester(net::EventLoop& loop, const Clock& clock, const PairMedium& medium, AddressBook& book,
                  TesterDoors doors, std::shared_ptr<host::TestBoard> board);
  BandwidthTester(const BandwidthTester&) = delete;
  BandwidthTester& operator=(const BandwidthTester&) = delete;
  ~BandwidthTester() = default;

  // Pairs that a test of these nodes, or of all, would measure if it began now; at most kPlanRemembered old.
  // Each test has other pairs than the test before, if there are others. Errors as of a test; unsupported:
  // there is no pair to test; exhausted: kMostPlans other plans are being made.
  using OnPlan = std::function<void(const Result<api::BandwidthPlan>& plan)>;
  void plan(const std::vector<Subject>& nodes, OnPlan done);
  // conflict: a test is running. malformed: a subject is not a node, or there is only one.
  [[nodiscard]] Status begin(diagnostics::OwnTest::Calls calls);
  // Returns a sentence about the measurements so far; empty: there are none.
  std::string cancel();

 private:
  struct Plan {
    std::optional<Result<api::BandwidthPlan>> answer;
    MonoTime until{};  // it counts
    std::vector<OnPlan> waiting;
  };

  [[nodiscard]] PairChoice next_choice() const;
  void make_plan(const std::vector<Subject>& nodes, const std::string& names);
  void take_plan(const std::string& names, const Result<api::BandwidthPlan>& plan);
  void take_peers(const Result<std::vector<fleet::Peer>>& peers);
  void run(std::vector<PeerNetwork> networks);
  // Puts the measurements so far on the board. Errors: there are none.
  [[nodiscard]] Result<std::string> conclude();
  void end(const Result<std::string>& said);

  net::EventLoop& loop_;
  const Clock& clock_;
  const PairMedium& medium_;
  AddressBook& book_;
  const TesterDoors doors_;
  const std::shared_ptr<host::TestBoard> board_;
  std::optional<diagnostics::OwnTest::Calls> asked_;
  std::uint64_t number_ = 0;  // of the test that was asked for last
  std::optional<BandwidthRun> run_;
  std::uint64_t begun_ = 0;            // runs
  std::vector<LeftOut> left_out_;      // of the run
  std::map<std::string, Plan> plans_;  // by the names of the nodes
  Abandoned<PairExchange> abandoned_;
};

}  // namespace autopilot::nettest
