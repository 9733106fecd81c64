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

// The operation of the check of a medium, as network.bandwidth: has nodes measured in pairs, those that are
// reserved for it ("peer/gpu-7") or all, and puts what it found on the board. When it is ended before its
// time what was measured until then is a result, too, and the agents are told to end what they still do. On
// the loop's thread.
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

  // What it would test between these nodes, or all, if it began now, as of kPlanRemembered at most. Each test
  // has other pairs than the one before it, as far as there are others. Errors as in its end; unsupported:
  // there is no pair to test; exhausted: kMostPlans others are asked for.
  using OnPlan = std::function<void(const Result<api::BandwidthPlan>& plan)>;
  void plan(const std::vector<Subject>& nodes, OnPlan done);
  // conflict: one is under way. malformed: it is to test what is no node, or only one.
  [[nodiscard]] Status begin(diagnostics::OwnTest::Calls calls);
  // With what was measured until now, in a sentence; empty: nothing.
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
  // Puts on the board what was measured until now. Errors: nothing was.
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
