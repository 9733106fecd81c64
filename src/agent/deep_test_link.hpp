// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/observation.hpp"
#include "core/operation.hpp"
#include "core/result.hpp"
#include "core/snapshot.hpp"
#include "diagnostics/cluster/deep_test_words.hpp"
#include "diagnostics/cluster/deep_tester.hpp"
#include "diagnostics/cluster/list_budget.hpp"
#include "diagnostics/operations/operations.hpp"
#include "incidents/verdict.hpp"
#include "kube/client.hpp"
#include "kube/cluster_writer.hpp"
#include "kube/objects.hpp"
#include "net/event_loop.hpp"

namespace autopilot::agent {

// What deep tests change in the rest of the agent. Called on the loop's thread.
struct DeepTestOutlets {
  // The node is kept for a test, or is no more.
  std::function<void(bool is_reserved)> reserve;
  // What the check gpu.diagnosis sees from now on; calls back when it has judged that.
  std::function<void(Result<Observations> seen, std::function<void()> on_judged)> judge;
  // New pass records.
  std::function<void(std::vector<PassRecord> records)> pass;
};

// Deep tests of this node, between its Node object and the rest of the agent. All that is remembered of them
// stands on the Node object. On the loop's thread.
class DeepTestLink {
 public:
  // lists, pod: see DeepTester.
  DeepTestLink(net::EventLoop& loop, kube::Client& client, kube::ClusterWriter& writer,
               diagnostics::ListBudget& lists, const Clock& clock, diagnostics::DeepTestPolicy policy,
               std::string pod, DeepTestOutlets outlets);
  DeepTestLink(const DeepTestLink&) = delete;
  DeepTestLink& operator=(const DeepTestLink&) = delete;
  ~DeepTestLink() = default;

  void see(const kube::Node& node);
  void note(const NodeSnapshot& snapshot);
  void note(const incidents::WrittenVerdict& written, Verdict verdict);
  // See DeepTester::test_now. Its end is told when what stands on the Node object has been judged.
  // unavailable as well: deep tests are switched off.
  [[nodiscard]] Status test_now(diagnostics::OwnTest::Calls calls);
  void cancel();
  [[nodiscard]] bool is_on() const { return view_.is_on; }
  // How long a test takes at most.
  [[nodiscard]] Duration longest() const { return longest_; }

  // What stands on the Node object, as it was seen last, has been judged; the next snapshot has it. Before,
  // the verdict may be that of an earlier test, or of none.
  [[nodiscard]] bool is_judged() const { return is_judged_; }
  [[nodiscard]] const diagnostics::DeepTestRecord& record() const { return view_.record; }
  // When the last test of the whole node began, if it passed: what happened while it ran, it may have missed.
  [[nodiscard]] std::optional<WallTime> passed() const;

 private:
  void judge();
  void reserve();
  void tell_end();

  const std::string prefix_;
  const std::vector<std::string> fatal_;
  const Duration longest_;
  const DeepTestOutlets outlets_;
  diagnostics::DeepTestView view_;
  std::string boot_id_;
  bool has_seen_ = false;
  bool is_marked_ = false;    // by taint or annotation
  bool is_reserved_ = false;  // as it was told
  bool is_judged_ = false;
  std::uint64_t judgement_ = 0;  // the one that is asked for
  // A test that was asked for has ended, and this will be known when that record has been judged.
  struct End {
    diagnostics::DeepTestRecord record;
    std::function<void()> tell;
  };
  std::optional<End> end_;
  diagnostics::DeepTester tester_;
};

}  // namespace autopilot::agent
