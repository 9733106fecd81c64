// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "diagnostics/cluster/deep_test_steps.hpp"
#include "diagnostics/cluster/list_budget.hpp"
#include "kube/client.hpp"
#include "kube/cluster_writer.hpp"
#include "kube/objects.hpp"
#include "net/event_loop.hpp"

namespace autopilot::diagnostics {

// Does what next_step says: takes sights of Jobs and pods as far as `lists` allows, and writes through the
// writer of this node. Begins nothing while another agent writes for the node. On the loop's thread.
class DeepTester {
 public:
  // What a test said, before the release that carries it goes: it may be told again. `test`: its id.
  using OnResult = std::function<void(const std::string& test, const DeepTestResult& result)>;

  // pod: that we run in, which is asked for what `policy` lacks: image and owner of the Jobs; empty: none.
  DeepTester(net::EventLoop& loop, kube::Client& client, kube::ClusterWriter& writer, ListBudget& lists,
             const Clock& clock, DeepTestPolicy policy, std::string pod, OnResult on_result);
  DeepTester(const DeepTester&) = delete;
  DeepTester& operator=(const DeepTester&) = delete;
  ~DeepTester() = default;

  // The Node object, each time it was seen. Nothing is done before the first time.
  void see(const kube::Node& node);
  // Whether a test should be made as soon as the node is idle.
  void want(bool is_wanted);
  // A test that is made now or not at all; one that is under way is as good.
  struct Asked {
    std::function<void(std::string why)> on_wait;  // what it waits for, when that changes
    // Once, not from within test_now. What the test said, or an error: conflict: pods have accelerators of
    // the node, and nothing was tested; others: what kept it from telling anything. record: that stands on
    // the Node object now; nothing: no test has begun.
    std::function<void(Result<std::string> said, std::optional<DeepTestRecord> record)> on_end;
  };
  // unavailable: the node was not seen yet, or another agent writes for it.
  [[nodiscard]] Status test_now(Asked asked);
  // Nobody waits any more; a test that is under way is ended.
  void cancel();

 private:
  using Kind = DeepTestStep::Kind;

  void go_on();
  void go_on_soon();
  void wait(const DeepTestStep& step);
  void tell_kept_from(const DeepTestStep& step);
  void tell_released();
  void tell_end(Result<std::string> said, std::optional<DeepTestRecord> record);
  void look(bool is_glance);
  void list_pods(DeepTestSight sight);
  void take_no_sight(const Error& why);
  [[nodiscard]] bool must_ask_for_pod() const;
  void ask_for_pod();
  void take_pod(const kube::ApiResult<std::string>& answer);
  [[nodiscard]] std::optional<net::Exchange> send(kube::OnObject on_answer);
  [[nodiscard]] net::Exchange send(const DeepTestStep& step, kube::OnObject on_answer);
  void note_written(const std::string& json);
  void note_failed();
  void say(const DeepTestStep& step);

  net::EventLoop& loop_;
  kube::Client& client_;
  kube::ClusterWriter& writer_;
  ListBudget& lists_;
  const Clock& clock_;
  DeepTestPolicy policy_;
  const std::string pod_;
  const OnResult on_result_;
  DeepTestWorld world_;  // its node has no name before it was seen
  bool has_asked_for_pod_ = false;
  bool is_writing_ = false;  // a write waits for its turn, or is on its way
  Kind sent_ = Kind::wait;   // which one, when it is on its way
  std::optional<Asked> asked_;
  std::string said_;  // why it waits, as it was said last
  net::Subscription next_;
  net::Exchange exchange_;  // last: it calls
};

}  // namespace autopilot::diagnostics
