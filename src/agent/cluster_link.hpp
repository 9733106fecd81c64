// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/deep_test_link.hpp"
#include "agent/tls/issued_keys.hpp"
#include "compat/ibm_autopilot/service/selected_nodes.hpp"
#include "config/config.hpp"
#include "core/clock.hpp"
#include "core/event.hpp"
#include "core/result.hpp"
#include "core/snapshot.hpp"
#include "diagnostics/cluster/list_budget.hpp"
#include "diagnostics/cluster/pvc_tester.hpp"
#include "diagnostics/operations/operations.hpp"
#include "diagnostics/operations/pass_book.hpp"
#include "incidents/verdict.hpp"
#include "kube/attribution/attribution.hpp"
#include "kube/callers/caller_reviews.hpp"
#include "kube/client.hpp"
#include "kube/cluster_writer.hpp"
#include "kube/credentials.hpp"
#include "kube/service_endpoints.hpp"
#include "kube/session.hpp"
#include "net/event_loop.hpp"
#include "preflight/pod_callers.hpp"
#include "preflight/report_sender.hpp"
#include "report/event_writer.hpp"
#include "report/late_recall.hpp"
#include "report/node_writer.hpp"
#include "report/recall.hpp"
#include "report/report_writer.hpp"
#include "runtime/workers.hpp"

namespace autopilot::agent {

// What it needs of the rest of the agent. Called on the loop's thread.
struct ClusterSources {
  incidents::ReasonLookup reasons;
  std::function<incidents::SavedState()> saved_state;
  // What an earlier agent left, found late; nothing: it is known now that there is none.
  std::function<void(std::optional<report::NodeReport> report)> take_over;
  // Each time it changed: it must be there after a restart. Calls back when it will be, or when a journal
  // that does not answer has been waited for long enough.
  std::function<void(const incidents::WrittenVerdict& written, std::function<void()> on_kept)> keep;
  DeepTestOutlets deep_test;
  // What its GPUs have passed, for the report; outlives it.
  const diagnostics::PassBook* passes = nullptr;
  // The pods that hold GPUs of the node; empty: the cluster is not asked for them.
  std::function<void(const Observations& holders)> note_holders;
  kube::PodListener pods = {};  // gets them if note_holders is set
};

// denied: a simulated machine is not written to a cluster, unless allow_simulated.
[[nodiscard]] Status may_be_written(bool is_simulated, bool allow_simulated);

// The node as its cluster sees it: keeps credentials fresh, the Node object as the snapshots are, and reports
// events as Kubernetes Events. On the loop's thread.
class ClusterLink {
 public:
  ClusterLink(net::EventLoop& loop, const Clock& clock, const kube::ClusterDoor& door,
              report::NodeWriterOptions options, const config::Config& config, ClusterSources sources,
              report::ClusterMemory memory);
  ClusterLink(const ClusterLink&) = delete;
  ClusterLink& operator=(const ClusterLink&) = delete;
  ~ClusterLink();

  // Requests volumes of the storage classes; the board holds the results. Before start().
  void test_storage(const config::Pvc& settings, std::shared_ptr<host::TestBoard> board);
  // The diagnostics that run through the cluster. They are used no longer than this.
  [[nodiscard]] std::vector<diagnostics::OperationKind> tests();
  // Keys of this node are asked for, and renewed. Before start().
  void issue_keys(const std::string& issuer, IssuedKeys::Listener listener);
  // Of these keys; all 0 where none are asked for.
  [[nodiscard]] net::Renewals renewals() const { return keys_ ? keys_->renewals() : net::Renewals{}; }
  void start();
  // Derives the published verdict from the snapshot, and requests the writes of the label, the conditions and
  // the report that changed.
  void note(SnapshotPtr snapshot);
  // What the cluster has of an earlier agent is asked for, and nothing is written over it before. Before
  // start().
  void recall_report(bool is_simulated);
  // written: from a journal that could not be read before; its incidents keep holding an EVICT.
  void add_older(const incidents::WrittenVerdict& written);
  // New events; they are reported with the next snapshot.
  void note(const std::vector<Event>& events);
  [[nodiscard]] ClusterStatus status() const;
  // How this agent calls itself on the Node object.
  [[nodiscard]] const std::string& instance() const { return instance_; }
  // The agents of this cluster, as its Service has them.
  void list_agents(kube::ServiceEndpoints::OnEndpoints on_agents) { agents_.get(std::move(on_agents)); }
  // What callers of the agent may do.
  [[nodiscard]] kube::CallerReviews& caller_reviews() { return caller_reviews_; }
  [[nodiscard]] compat::ibm_autopilot::SelectedNodes& selected_nodes() { return selected_nodes_; }
  // Pods of this node that ask at the gate.
  [[nodiscard]] preflight::PodCallers& pod_callers() { return pod_callers_; }
  [[nodiscard]] preflight::ReportSender& report_sender() { return report_sender_; }
  // A pod of this node that has GPUs; empty: none does. unavailable: that is not known.
  [[nodiscard]] Result<std::string> gpu_holder() const;
  // See incidents::why_it_stays; of what was seen until now.
  [[nodiscard]] std::string why_evicted() const;
  // The Node object as it was seen last; null: it was not.
  [[nodiscard]] const kube::Node* own_node() const { return own_node_ ? &*own_node_ : nullptr; }

 private:
  void take_over(const kube::Node& node);
  [[nodiscard]] bool is_of_stranger(const kube::Node& node) const;
  [[nodiscard]] bool is_known() const;
  void tell();
  void keep();
  void write();
  void tell_of_guess();
  void see_deep_test(const kube::Node& node);
  void end_recall();
  void report();

  net::EventLoop& loop_;
  const Clock& clock_;
  const ClusterSources sources_;
  const std::string name_space_;
  const std::string label_;
  const std::string node_name_;
  const std::string prefix_;
  const std::string instance_;
  const std::string last_instance_;  // of the journal; empty: not known
  SnapshotPtr snapshot_;
  std::vector<Event> news_;  // not reported yet
  incidents::WrittenVerdict written_;
  bool knows_written_;           // no guess from the Node object needed
  const bool may_lack_written_;  // written_ may not be the last that was written
  bool has_guessed_ = false;     // a predecessor was taken over, and not reported yet
  bool has_told_ = false;        // written_ is of this run, not only of a predecessor
  std::size_t unkept_ = 0;       // of written_, how many are not kept yet
  bool has_seen_node_ = false;
  std::string node_uid_;
  std::optional<kube::Node> own_node_;
  net::Subscription next_report_;
  runtime::Workers lanes_;  // for what of the credentials may block
  kube::Session session_;
  kube::Client& client_;
  kube::ServiceEndpoints agents_;
  kube::CallerReviews caller_reviews_;
  compat::ibm_autopilot::SelectedNodes selected_nodes_;
  preflight::PodCallers pod_callers_;
  preflight::ReportSender report_sender_;
  kube::ClusterWriter writer_;
  diagnostics::ListBudget lists_;
  report::EventWriter events_;
  report::ReportWriter report_;
  std::optional<report::LateRecall> recall_;  // while the content of the report is not known
  DeepTestLink deep_tests_;
  report::NodeWriter node_;
  std::optional<diagnostics::PvcTester> pvc_tester_;
  std::optional<kube::Attribution> attribution_;
  std::optional<IssuedKeys> keys_;
};

}  // namespace autopilot::agent
