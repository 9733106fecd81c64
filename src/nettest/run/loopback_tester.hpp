// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "diagnostics/operations/operations.hpp"
#include "host/diagnostic_results/results.hpp"
#include "net/event_loop.hpp"
#include "nettest/run/bandwidth_ends.hpp"
#include "nettest/run/observation_writer.hpp"
#include "nettest/run/own_network.hpp"

namespace autopilot::nettest {

inline constexpr std::string_view kLoopbackCheck = "network.rdma_loopback";

// The operation network.rdma_loopback: each RDMA port of this node writes to itself, one after the other, for
// the check of that name (src/checks/network/rdma_loopback.cpp lists the names); once more out of the memory
// of the GPU that is nearest to it, where perftest can. When it is ended before its time, or by a job,
// what was measured until then is a result, too, in which the other ports are not tested. On the loop's
// thread.
class LoopbackTester {
 public:
  static constexpr Duration kDeadline = std::chrono::minutes{10};
  static constexpr int kSeconds = 3;  // that count, of each port and memory

  struct Doors {
    OwnNetwork& own;
    BandwidthEnds& ends;
    BandwidthEnds& standing;  // servers that wait for a test of somebody else: they make room
    // Whose job is on this node, in a sentence; empty: nobody's that is known.
    std::function<std::string()> job;
    // The board has something new.
    std::function<void()> look;
  };

  LoopbackTester(net::EventLoop& loop, const Clock& clock, Doors doors,
                 std::shared_ptr<host::TestBoard> board);
  LoopbackTester(const LoopbackTester&) = delete;
  LoopbackTester& operator=(const LoopbackTester&) = delete;
  ~LoopbackTester() = default;

  // conflict: one is under way, or a job is on this node. malformed: it is to test what is no port of it.
  [[nodiscard]] Status begin(diagnostics::OwnTest::Calls calls);
  // With what was measured until now, in a sentence; empty: nothing.
  std::string cancel();

 private:
  struct Test {
    api::RdmaPort port;
    bool uses_gpu = false;  // the one that is nearest to it
  };

  void take_lines(const OwnNetwork::Lines& lines);
  [[nodiscard]] Status check_job() const;
  void test_next();
  void test(const Test& next);
  void take(const Test& test, const Result<BandwidthReport>& report);
  void note(const Test& test, const Result<BandwidthReport>& report);
  void note_rest();
  [[nodiscard]] std::string sentence() const;
  void conclude();
  void end(const Result<std::string>& said);

  net::EventLoop& loop_;
  const Clock& clock_;
  const Doors doors_;
  const std::shared_ptr<host::TestBoard> board_;
  std::optional<diagnostics::OwnTest::Calls> asked_;
  std::uint64_t number_ = 0;  // of the test that was asked for last
  std::vector<Test> tests_;   // to make, the one under way or the next one last
  std::string end_;           // that measures now; empty: none
  Observations found_;
  std::size_t ports_ = 0;     // to test
  std::size_t measured_ = 0;  // of them
  bool lacks_cuda_ = false;   // perftest does
};

}  // namespace autopilot::nettest
