// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "diagnostics/cluster/list_budget.hpp"
#include "diagnostics/cluster/pvc_steps.hpp"
#include "diagnostics/operations/operations.hpp"
#include "host/diagnostic_results/results.hpp"
#include "kube/client.hpp"
#include "kube/cluster_writer.hpp"
#include "kube/objects.hpp"
#include "kube/pacing.hpp"
#include "net/event_loop.hpp"

namespace autopilot::diagnostics {

inline constexpr std::string_view kPvcCheck = "storage.pvc";

struct PvcPlan {
  std::vector<PvcTarget> targets;
  Duration period{0};  // interval between rounds; 0: rounds only on request
  PvcTimes times;
};

// Tests one storage class after the other, once in a period and on request, and stores the observations on
// the board under "storage.pvc". Removes objects of an earlier agent at once. The first round begins at a
// random time before kLatestStart, so that the nodes of a cluster do not send requests at the same moment; a
// requested round begins at once. Lists claims and pods within `lists`, reads the claim of a running
// diagnostic at most once a second, and writes through the writer of this node. On the event loop's thread.
class PvcTester {
 public:
  static constexpr Duration kLatestStart = std::chrono::minutes{10};

  // place: without the uid of the node. random: in [0, 1).
  PvcTester(net::EventLoop& loop, kube::Client& client, kube::ClusterWriter& writer, ListBudget& lists,
            const Clock& clock, PvcPlace place, PvcPlan plan, std::function<double()> random,
            std::shared_ptr<host::TestBoard> board);
  PvcTester(const PvcTester&) = delete;
  PvcTester& operator=(const PvcTester&) = delete;
  ~PvcTester() = default;

  // Takes this node's object; no round begins before the first call.
  void see(const kube::Node& node);
  // Requests a round that begins after this call. unavailable: the node has not been seen yet.
  [[nodiscard]] Status test_now(OwnTest::Calls calls);
  // Drops the callbacks of test_now; the round continues.
  void forget_asked() { asked_.reset(); }
  // Longest duration of a round.
  [[nodiscard]] Duration longest_round() const;

 private:
  void go_on();
  // The running diagnostic; only while there is one.
  [[nodiscard]] PvcTest& test();
  [[nodiscard]] bool begin_next(MonoTime now);
  void wait_for_next();
  [[nodiscard]] PvcNames names_of(const std::string& object);
  void conclude(MonoTime now);
  void begin_round();
  void tell_asked();
  void put_on_board() const;
  [[nodiscard]] bool is_seen_empty(MonoTime now) const;
  void look();
  void list_pods();
  void get_class();
  void look_at_own();
  void look_at_consumer(std::optional<kube::PersistentVolumeClaim> claim);
  void take_failure(const kube::ApiError& why);
  [[nodiscard]] std::optional<net::Exchange> send(kube::OnObject on_answer);
  template <class T>
  void get(const kube::ApiPath& path, Result<T> (*parse)(std::string_view),
           std::function<void(std::optional<T>)> on_found);
  [[nodiscard]] std::string path_of(const std::string& kind, const std::string& name = {}) const;
  [[nodiscard]] kube::ApiPath list_of(const std::string& kind) const;

  net::EventLoop& loop_;
  kube::Client& client_;
  kube::ClusterWriter& writer_;
  ListBudget& lists_;
  const Clock& clock_;
  PvcPlace place_;
  const PvcPlan plan_;
  const std::function<double()> random_;
  const std::shared_ptr<host::TestBoard> board_;

  std::vector<std::optional<PvcResult>> results_;  // one for each target
  std::vector<Instant> ended_;
  std::optional<PvcTest> test_;          // the running diagnostic
  std::size_t current_ = 0;              // its target, or the next target of this round
  std::optional<MonoTime> next_round_;   // next scheduled round
  std::optional<OwnTest::Calls> asked_;  // of the caller that waits for the end of a round
  bool begins_anew_ = false;             // the running diagnostic began before that request
  bool wants_sweep_ = true;              // old objects may be left
  MonoTime next_sweep_{};
  kube::BackOff sweeps_;
  std::optional<MonoTime> seen_empty_;  // time without any object; no diagnostic has begun since
  PvcWorld seen_;                       // of the read in progress
  std::optional<PvcStep> write_;        // waits for the writer, or was sent
  net::Subscription next_;
  net::Exchange exchange_;  // last: it calls
};

}  // namespace autopilot::diagnostics
