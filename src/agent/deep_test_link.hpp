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

// Effects of deep diagnostics on the rest of the agent. Called on the loop's thread.
struct DeepTestOutlets {
  // The node is reserved for a diagnostic, or is released.
  std::function<void(bool is_reserved)> reserve;
  // seen: observations of the check gpu.diagnosis from now on. Calls back when the check has judged them.
  std::function<void(Result<Observations> seen, std::function<void()> on_judged)> judge;
  // New pass records.
  std::function<void(std::vector<PassRecord> records)> pass;
};

// Deep diagnostics of this node, between its Node object and the rest of the agent. Their only record is on
// the Node object. On the loop's thread.
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
  // See DeepTester::test_now. If a diagnostic began, on_end is called after the record on the Node object has
  // been judged. unavailable as well: deep diagnostics are switched off.
  [[nodiscard]] Status test_now(diagnostics::OwnTest::Calls calls);
  void cancel();
  [[nodiscard]] bool is_on() const { return view_.is_on; }
  // Longest duration of a diagnostic.
  [[nodiscard]] Duration longest() const { return longest_; }

  // The last seen record on the Node object has been judged, and the next snapshot has its result. Before
  // that, the verdict may be of an earlier diagnostic, or of none.
  [[nodiscard]] bool is_judged() const { return is_judged_; }
  [[nodiscard]] const diagnostics::DeepTestRecord& record() const { return view_.record; }
  // Start of the last diagnostic of the whole node, if it passed: it may have missed a fault while it ran.
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
  bool is_reserved_ = false;  // as outlets_.reserve last got it
  bool is_judged_ = false;
  std::uint64_t judgement_ = 0;  // number of the last request to judge
  // A requested diagnostic has ended; its caller is called back after that record has been judged.
  struct End {
    diagnostics::DeepTestRecord record;
    std::function<void()> tell;
  };
  std::optional<End> end_;
  diagnostics::DeepTester tester_;
};

}  // namespace autopilot::agent
