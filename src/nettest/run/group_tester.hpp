// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "diagnostics/operations/operations.hpp"
#include "host/diagnostic_results/results.hpp"
#include "net/event_loop.hpp"
#include "nettest/run/address_book.hpp"
#include "nettest/run/group_exchange.hpp"
#include "nettest/run/group_run.hpp"
#include "nettest/run/tester_doors.hpp"
#include "nettest/run/way_back.hpp"

namespace autopilot::nettest {

// The operation network.nccl_group: runs all-reduces over the GPUs of many nodes, first below each leaf
// switch and then of all, with the nodes that are reserved for it ("peer/gpu-7") or with all nodes, and puts
// the observations on the board. If it is stopped early, the measurements so far are the result. On the
// loop's thread.
class GroupTester {
 public:
  // Both steps with all their tries.
  static constexpr Duration kDeadline = std::chrono::minutes{15};

  GroupTester(net::EventLoop& loop, const Clock& clock, AddressBook& book, TesterDoors doors,
              std::shared_ptr<host::TestBoard> board);
  GroupTester(const GroupTester&) = delete;
  GroupTester& operator=(const GroupTester&) = delete;
  ~GroupTester() = default;

  // conflict: a test is running. malformed: a subject is not a node, or there is only one. unavailable: a
  // test may take only a share of each line.
  [[nodiscard]] Status begin(diagnostics::OwnTest::Calls calls);
  // Returns a sentence about the measurements so far; empty: there are none.
  std::string cancel();

 private:
  void take_peers(const Result<std::vector<fleet::Peer>>& peers);
  void run(std::vector<PeerNetwork> networks);
  // Puts the measurements so far on the board. Errors: there are none.
  [[nodiscard]] Result<std::string> conclude();
  void end(const Result<std::string>& said);

  net::EventLoop& loop_;
  const Clock& clock_;
  AddressBook& book_;
  const TesterDoors doors_;
  const std::shared_ptr<host::TestBoard> board_;
  std::optional<diagnostics::OwnTest::Calls> asked_;
  std::uint64_t number_ = 0;                     // of the test that was asked for last
  std::map<std::string, std::string> left_out_;  // of it, from its beginning: nodes, and why
  std::optional<GroupRun> run_;
  Abandoned<GroupExchange> abandoned_;
};

}  // namespace autopilot::nettest
