// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/bandwidth.hpp"
#include "core/result.hpp"
#include "net/event_loop.hpp"
#include "nettest/plan/pair_run.hpp"
#include "nettest/run/address_book.hpp"
#include "nettest/run/bandwidth_observations.hpp"
#include "nettest/run/pair_exchange.hpp"
#include "nettest/run/pair_medium.hpp"
#include "nettest/run/tester_doors.hpp"
#include "nettest/run/way_back.hpp"

namespace autopilot::nettest {

// Nodes as rails connect them: lines of the same name and rate are tested against each other; one process
// does not fill every line, so the rate does not predict the result. needs_rates: leave out lines of unknown
// rate. Errors as Fabric::create; unsupported: no two nodes have a line of the same name.
[[nodiscard]] Result<Fabric> fabric_of(const std::vector<PeerNetwork>& networks, const PairMedium& medium,
                                       bool needs_rates);
// Duration of a test in each direction, in seconds, without its start.
[[nodiscard]] std::size_t seconds_each_way(const PairTest& test);
// Result of a test, in that many samples at most; each sample is the mean of the seconds that it covers.
[[nodiscard]] PairResult pair_result_of(std::uint32_t id, std::size_t samples,
                                        const Result<api::BandwidthAnswer>& answer);

// Finds out which node, interface or path is slow, with most_percent of the rate of each line (100: without a
// limit, also on lines of unknown rate): tests the pairs that PairRun wants, round after round, all of a
// round at once; then again the pairs without a measurement, when the others have ended. Ends with this. On
// the loop's thread.
class BandwidthRun {
 public:
  static constexpr std::size_t kMostAtOnce = 256;  // pairs: each is two connections

  struct Listener {
    std::function<void(std::string message)> on_progress;
    // Once, not from within the constructor; it may destroy this.
    std::function<void()> on_end;
    // A node in another test may soon be free: a client gives up seconds after its server is gone.
    Duration before_again = std::chrono::seconds{4};
  };

  // medium: outlives it.
  BandwidthRun(net::EventLoop& loop, std::shared_ptr<const net::TlsContext> tls, const PairMedium& medium,
               std::vector<PeerNetwork> networks, PairRun run, int most_percent, Listener listener);
  BandwidthRun(const BandwidthRun&) = delete;
  BandwidthRun& operator=(const BandwidthRun&) = delete;
  ~BandwidthRun() = default;

  // Running exchanges; the caller abandons them.
  [[nodiscard]] std::vector<std::unique_ptr<PairExchange>> take_pairs();
  // From the measurements so far.
  [[nodiscard]] Verdict verdict() const { return run_.verdict(); }
  [[nodiscard]] const Fabric& fabric() const { return run_.fabric(); }
  [[nodiscard]] const std::vector<PeerNetwork>& networks() const { return networks_; }
  // Why nothing was measured, by id of the test.
  [[nodiscard]] const std::map<std::uint32_t, std::string>& problems() const { return problems_; }
  // Wrong results, likewise, also of tests that ran again.
  [[nodiscard]] const std::map<std::uint32_t, WrongSum>& wrong() const { return wrong_; }
  [[nodiscard]] const std::map<std::uint32_t, api::BandwidthLatency>& latencies() const { return latencies_; }

 private:
  void begin_round();
  void begin_all(const std::vector<PairTest>& tests, bool again);
  void begin_waiting();
  void begin(const PairTest& test);
  void take(const PairTest& test, const Result<api::BandwidthAnswer>& answer, const std::string& refused_by);
  void take_result(const PairTest& test, const Result<api::BandwidthAnswer>& answer);
  void leave(const std::string& node);
  [[nodiscard]] WrongSum wrong_sum_of(const PairTest& test, const api::BandwidthAnswer& answer) const;
  [[nodiscard]] std::uint64_t most_of(const PairTest& test) const;
  [[nodiscard]] Result<PairExchange::Wish> wish_of(const PairTest& test) const;

  net::EventLoop& loop_;
  const std::shared_ptr<const net::TlsContext> tls_;
  const PairMedium& medium_;
  const std::vector<PeerNetwork> networks_;
  PairRun run_;
  const int most_percent_;
  const Listener listener_;
  std::map<std::uint32_t, std::string> problems_;
  std::map<std::uint32_t, WrongSum> wrong_;
  std::map<std::uint32_t, api::BandwidthLatency> latencies_;
  std::size_t round_ = 0;
  std::deque<PairTest> waiting_;  // of the round, for room
  std::vector<PairTest> again_;   // to run when the running tests have ended
  std::string why_again_;         // the first of them
  bool is_one_busy_ = false;      // of them
  bool is_again_ = false;
  net::Subscription next_;
  WayBack way_back_;
  // By id of the test; null: it cannot run, which is about to be reported. Last: they call.
  std::map<std::uint32_t, std::unique_ptr<PairExchange>> exchanges_;
};

// The run of pair tests over these nodes. Removes the nodes of unknown addresses from `networks`; if a test
// may take only a share of a line, lines of unknown rate are not tested. Errors as fabric_of; unavailable:
// the rate of too many lines is unknown; exhausted: all pairs of too many nodes, or of nodes whose pairs take
// longer than a test may.
[[nodiscard]] Result<PairRun> plan_run(std::vector<PeerNetwork>& networks, const PairMedium& medium,
                                       const PairChoice& choice);

// How the run would begin. found: all nodes that were wanted, also the nodes that are not in the run.
[[nodiscard]] api::BandwidthPlan plan_of(const std::vector<PeerNetwork>& found, const PairMedium& medium,
                                         PairRun run, const PairChoice& choice);

}  // namespace autopilot::nettest
