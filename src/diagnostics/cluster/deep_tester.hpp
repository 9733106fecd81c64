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

// Executes the steps of next_step: reads Jobs and pods within `lists`, and writes through the writer of this
// node. Begins nothing while another agent writes for the node. On the event loop's thread.
class DeepTester {
 public:
  // Takes a result, before its release is sent; the same result may come again. `test`: its id.
  using OnResult = std::function<void(const std::string& test, const DeepTestResult& result)>;

  // pod: the agent's own pod, read for the image and owner of the Jobs if `policy` lacks them; empty: none.
  DeepTester(net::EventLoop& loop, kube::Client& client, kube::ClusterWriter& writer, ListBudget& lists,
             const Clock& clock, DeepTestPolicy policy, std::string pod, OnResult on_result);
  DeepTester(const DeepTester&) = delete;
  DeepTester& operator=(const DeepTester&) = delete;
  ~DeepTester() = default;

  // Takes each version of the Node object. No step is executed before the first call.
  void see(const kube::Node& node);
  // True: a diagnostic begins as soon as the node is idle.
  void want(bool is_wanted);
  // Request for an immediate diagnostic.
  struct Asked {
    std::function<void(std::string why)> on_wait;  // called when the reason of a wait changes
    // Called once, never from within test_now. First argument: the result, or an error: conflict: pods have
    // accelerators of the node, and nothing was tested; others: why there is no result. record: the record on
    // the Node object; not set: no diagnostic has begun.
    std::function<void(Result<std::string> said, std::optional<DeepTestRecord> record)> on_end;
  };
  // Starts a diagnostic now, or waits for a running one. unavailable: the node has not been seen yet, or
  // another agent writes for it.
  [[nodiscard]] Status test_now(Asked asked);
  // Drops the callbacks of test_now and ends a running diagnostic.
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
  DeepTestWorld world_;  // its node has no name until the first see()
  bool has_asked_for_pod_ = false;
  bool is_writing_ = false;  // a write waits for its turn, or was sent
  Kind sent_ = Kind::wait;   // kind of the write that was sent
  std::optional<Asked> asked_;
  std::string said_;  // last logged reason of a wait
  net::Subscription next_;
  net::Exchange exchange_;  // last: it calls
};

}  // namespace autopilot::diagnostics
