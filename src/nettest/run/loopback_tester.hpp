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
// the check of that name (src/checks/network/rdma_loopback.cpp lists the names); then again out of the memory
// of the GPU that is nearest to the port, if perftest supports it. If a caller or a job stops it early, the
// measurements so far are the result, in which the other ports are not tested. On the loop's thread.
class LoopbackTester {
 public:
  static constexpr Duration kDeadline = std::chrono::minutes{10};
  static constexpr int kSeconds = 3;  // that count, of each port and memory

  struct Doors {
    OwnNetwork& own;
    BandwidthEnds& ends;
    BandwidthEnds& standing;  // servers that wait for the test of another caller: they make room
    // Sentence that names the job on this node; empty: no job is known.
    std::function<std::string()> job;
    // The board has something new.
    std::function<void()> look;
  };

  LoopbackTester(net::EventLoop& loop, const Clock& clock, Doors doors,
                 std::shared_ptr<host::TestBoard> board);
  LoopbackTester(const LoopbackTester&) = delete;
  LoopbackTester& operator=(const LoopbackTester&) = delete;
  ~LoopbackTester() = default;

  // conflict: a test is running, or a job is on this node. malformed: a subject is not a port of this node.
  [[nodiscard]] Status begin(diagnostics::OwnTest::Calls calls);
  // Returns a sentence about the measurements so far; empty: there are none.
  std::string cancel();

 private:
  struct Test {
    api::RdmaPort port;
    bool uses_gpu = false;  // the GPU that is nearest to the port
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
  std::vector<Test> tests_;   // that remain; the running test, or the next one, is last
  std::string end_;           // that measures now; empty: none
  Observations found_;
  std::size_t ports_ = 0;     // to test
  std::size_t measured_ = 0;  // of them
  bool lacks_cuda_ = false;   // perftest does
};

}  // namespace autopilot::nettest
