// SPDX-License-Identifier: Apache-2.0
#include "agent/cluster_link.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <utility>

#include "agent/tls/cert_manager.hpp"
#include "diagnostics/operations/operation_kinds.hpp"
#include "diagnostics/operations/own_deep_diagnostic.hpp"
#include "kube/pacing.hpp"
#include "logging/log.hpp"
#include "report/event_words.hpp"
#include "report/node_report.hpp"

namespace autopilot::agent {
namespace {

using logging::log_info;

// A report is made of what changed together.
constexpr Duration kGather = std::chrono::seconds{1};
// That of IBM Autopilot, whose clients call it.
constexpr const char* kAgentsService = "autopilot-healthchecks";

// Greater than that of an agent that started earlier, and like no other.
std::string new_instance(WallTime now) {
  std::random_device random;
  return format_time(now) + "_" + std::to_string(random());
}

report::NodeWriterOptions with_instance(report::NodeWriterOptions options, std::string instance) {
  options.instance = std::move(instance);
  return options;
}

// Nothing is known of a node before each of its required checks has run once.
bool is_complete(const NodeSnapshot& snapshot) {
  return !snapshot.results.empty() && std::ranges::all_of(snapshot.results, [](const CheckResult& result) {
    return !result.required || result.completed != WallTime{};
  });
}

// What follows `--` on the command line of its helper.
std::vector<std::string> command_of(const config::Config& config) {
  const config::DeepTest& settings = config.deep_test;
  if (settings.is_own()) return diagnostics::own_deep_test_arguments(config);
  if (!settings.command.empty()) return settings.command;
  return {"dcgmi", "diag", "-j", "-r", std::to_string(settings.level)};
}

diagnostics::DeepTestPolicy policy_of(const config::Config& config, const kube::ClusterDoor& door,
                                      const report::NodeWriterOptions& options) {
  const config::DeepTest& settings = config.deep_test;
  diagnostics::DeepTestPolicy policy;
  policy.every = settings.every;
  policy.holder = door.pod.empty() ? options.node : door.pod;
  policy.fatal = settings.fatal;
  policy.excuses = diagnostics::dcgm_excuses(catalog::builtin());
  policy.level = settings.level;
  policy.asks_controller = settings.ask_controller;
  policy.job = {.prefix = options.prefix,
                .name_space = door.name_space,
                .image = settings.image,
                .is_own = settings.is_own(),
                .command = command_of(config),
                .pull_secrets = settings.pull_secrets,
                .tolerated = settings.tolerate,
                .deadline = settings.deadline,
                .owner = {}};
  return policy;
}

}  // namespace

Status may_be_written(bool is_simulated, bool allow_simulated) {
  if (!is_simulated || allow_simulated) return {};
  return fail(Errc::denied,
              "this machine is simulated, and kubernetes.write_node is on: it is written to no "
              "cluster without --allow-simulated");
}

ClusterLink::ClusterLink(net::EventLoop& loop, const Clock& clock, const kube::ClusterDoor& door,
                         report::NodeWriterOptions options, const config::Config& config,
                         ClusterSources sources, report::ClusterMemory memory)
    : loop_(loop),
      clock_(clock),
      sources_(std::move(sources)),
      name_space_(door.name_space),
      label_(options.prefix + "/gpuhealth"),
      node_name_(options.node),
      prefix_(options.prefix),
      instance_(new_instance(clock.now().wall)),
      last_instance_(std::move(memory.last_instance)),
      written_(memory.written.value_or(incidents::WrittenVerdict{})),
      knows_written_(memory.written.has_value()),
      may_lack_written_(memory.is_incomplete),
      lanes_({.threads = 1, .max_stuck = 1, .max_queued = 1}),
      session_(loop, clock, door, "autopilot-agent",
               [this](std::function<void()> task) { static_cast<void>(lanes_.submit(std::move(task))); }),
      client_(session_.client()),
      agents_(client_, clock, name_space_, kAgentsService),
      caller_reviews_(client_, clock),
      selected_nodes_(client_, clock),
      pod_callers_(client_, clock, node_name_, prefix_),
      report_sender_(loop, client_, name_space_, kube::dice()),
      writer_(loop, clock, kube::dice()),
      events_(client_, writer_, clock, options.node),
      report_(client_, writer_, clock, {.name_space = name_space_, .node = options.node}),
      deep_tests_(loop, client_, writer_, lists_, clock, policy_of(config, door, options), door.pod,
                  sources_.deep_test),
      node_(loop, client_, writer_, clock, with_instance(std::move(options), instance_), kube::dice(),
            [this](const kube::Node& node) { take_over(node); }) {
  if (sources_.note_holders)
    attribution_.emplace(loop, client_, clock, node_name_, kube::dice(), sources_.note_holders,
                         sources_.pods);
}

ClusterLink::~ClusterLink() = default;

Result<std::string> ClusterLink::gpu_holder() const {
  if (!attribution_) return fail(Errc::unavailable, "only the kubelet is asked, and it does not answer");
  return attribution_->holder();
}

void ClusterLink::test_storage(const config::Pvc& settings, std::shared_ptr<host::TestBoard> board) {
  diagnostics::PvcPlan plan{
      .targets = {},
      .period = settings.period,
      .times = {.patience = settings.patience, .cleaning = diagnostics::PvcTimes{}.cleaning}};
  for (const auto& [name, modes] : settings.storage_classes)
    for (const std::string& mode : modes)
      plan.targets.push_back({name, mode});
  diagnostics::PvcPlace place{.node = node_name_,
                              .node_uid = {},
                              .name_space = name_space_,
                              .prefix = prefix_,
                              .bytes = settings.size,
                              .image = settings.image};
  pvc_tester_.emplace(loop_, client_, writer_, lists_, clock_, std::move(place), std::move(plan),
                      kube::dice(), std::move(board));
}

std::vector<diagnostics::OperationKind> ClusterLink::tests() {
  std::vector<diagnostics::OperationKind> kinds;
  if (deep_tests_.is_on())
    kinds.push_back(
        {std::string(diagnostics::kDeepTestCheck),
         "All GPUs of the node under load, while it is kept for that", deep_tests_.longest(),
         diagnostics::OwnTest{[this](auto calls) { return deep_tests_.test_now(std::move(calls)); },
                              [this] {
                                deep_tests_.cancel();
                                return std::string();
                              }}});
  if (pvc_tester_)
    kinds.push_back(
        {std::string(diagnostics::kPvcCheck), "A volume from each storage class that is to be tested",
         pvc_tester_->longest_round(),
         diagnostics::OwnTest{[this](auto calls) { return pvc_tester_->test_now(std::move(calls)); },
                              [this] {
                                pvc_tester_->forget_asked();
                                return std::string();
                              }}});
  return kinds;
}

void ClusterLink::recall_report(bool is_simulated) {
  recall_.emplace(loop_, client_, name_space_, node_name_, is_simulated,
                  [this](std::optional<report::NodeReport> report) {
                    if (report && report->written) add_older(*report->written);
                    sources_.take_over(std::move(report));
                    // Not from within its own call.
                    loop_.post([this] { end_recall(); });
                  });
}

// Adds incidents of the journal that this run does not know.
void ClusterLink::add_older(const incidents::WrittenVerdict& written) {
  if (written.evicting.empty()) return;
  // The reason of the earlier EVICT is known now, which replaces the guess.
  std::erase_if(written_.evicting,
                [](const incidents::EvictingIncident& one) { return one.id == incidents::kPredecessor; });
  for (const incidents::EvictingIncident& one : written.evicting)
    if (std::ranges::find(written_.evicting, one.id, &incidents::EvictingIncident::id) ==
        written_.evicting.end())
      written_.evicting.push_back(one);
  keep();
}

void ClusterLink::end_recall() {
  recall_.reset();
  tell();
}

void ClusterLink::start() {
  session_.start([this] {
    node_.start();
    if (recall_) recall_->start();
    if (attribution_) attribution_->start();
    if (keys_) keys_->start();
  });
}

void ClusterLink::issue_keys(const std::string& issuer, IssuedKeys::Listener listener) {
  auto signer = std::make_unique<CertManager>(
      loop_, client_, clock_, CertManagerWish{node_name_, name_space_, issuer}, CertManager::Pace{});
  keys_.emplace(loop_, clock_, node_name_, std::move(signer), std::move(listener), kube::dice(),
                IssuedKeys::Pace{});
}

void ClusterLink::note(SnapshotPtr snapshot) {
  const bool is_new = snapshot != snapshot_;
  snapshot_ = std::move(snapshot);
  if (is_new) deep_tests_.note(*snapshot_);
  events_.note(std::exchange(news_, {}), *snapshot_);
  if (!is_new) return;
  if (attribution_) attribution_->note(*snapshot_);
  tell();
}

void ClusterLink::note(const std::vector<Event>& events) {
  std::ranges::copy_if(events, std::back_inserter(news_), report::is_told);
}

ClusterStatus ClusterLink::status() const {
  ClusterStatus status{writer_.stats().writes, writer_.stats().failures, events_.dropped(),
                       session_.problem()};
  if (status.problem.empty()) status.problem = node_.problem();
  if (status.problem.empty()) status.problem = writer_.problem();
  if (status.problem.empty() && recall_) status.problem = recall_->problem();
  if (status.problem.empty() && attribution_) status.problem = attribution_->problem();
  return status;
}

// Whether an agent without this journal wrote the Node object after the last agent that had the journal; true
// also if that is not known. Instances sort by the time at which they began.
bool ClusterLink::is_of_stranger(const kube::Node& node) const {
  if (!knows_written_ || may_lack_written_) return true;
  const auto by = node.meta.annotations.find(prefix_ + "/checked-by");
  return !last_instance_.empty() && by != node.meta.annotations.end() && by->second > last_instance_;
}

// Subjects that need a deep diagnostic keep waiting; the log and an Event give the reason.
void ClusterLink::see_deep_test(const kube::Node& node) {
  const auto before = deep_tests_.record().tried;
  deep_tests_.see(node);
  const diagnostics::DeepTestRecord& record = deep_tests_.record();
  if (!has_seen_node_ || !record.tried || record.tried == before) return;
  logging::log_warning("a deep diagnostic returned no result for the GPUs", {{"why", record.why}});
  events_.tell({{},
                kube::EventType::warning,
                "DeepTestSaidNothing",
                "the deep diagnostic returned no result for the GPUs: " + record.why});
}

// An EVICT of a predecessor without a known reason is not retracted without a diagnostic.
void ClusterLink::take_over(const kube::Node& node) {
  events_.see(node);
  if (pvc_tester_) pvc_tester_->see(node);
  see_deep_test(node);
  node_uid_ = node.meta.uid;
  own_node_ = node;
  const bool is_first = !std::exchange(has_seen_node_, true);
  if (is_first) log_info("the node object is there", {{"node", node.meta.name}});
  const auto label = node.meta.labels.find(label_);
  const std::string word = label == node.meta.labels.end() ? "" : label->second;
  if (is_first && word == to_string(Verdict::evict) && is_of_stranger(node)) {
    written_.evicting.push_back({std::string(incidents::kPredecessor), clock_.now().wall, false});
    has_guessed_ = true;
  }
  const bool has_changed = incidents::see_label(written_, word, node.meta.uid);
  if (has_changed) keep();
  if (is_first || has_changed) tell();
}

// True: the verdict to write and the content of the Node object are both known.
bool ClusterLink::is_known() const {
  return snapshot_ && is_complete(*snapshot_) && has_seen_node_ && deep_tests_.is_judged();
}

std::string ClusterLink::why_evicted() const {
  return incidents::why_it_stays(written_.evicting, node_name_, label_);
}

// What an earlier report knows of it comes first.
void ClusterLink::tell_of_guess() {
  if (recall_ || !std::exchange(has_guessed_, false)) return;
  const bool stands = std::ranges::find(written_.evicting, incidents::kPredecessor,
                                        &incidents::EvictingIncident::id) != written_.evicting.end();
  if (!stands) return;
  const std::string why = why_evicted();
  logging::log_warning("the node is to be left", {{"why", why}});
  events_.tell({{}, kube::EventType::warning, "EvictStays", why});
}

void ClusterLink::tell() {
  if (!is_known()) return;
  auto written = incidents::next_written(written_, {.verdict = snapshot_->verdict,
                                                    .incidents = snapshot_->incidents,
                                                    .reasons = sources_.reasons,
                                                    .deep_test_passed = deep_tests_.passed(),
                                                    .now = clock_.now().wall});
  const bool is_news = !std::exchange(knows_written_, true) || written != written_;
  written_ = std::move(written);
  has_told_ = true;
  if (is_news) keep();
  tell_of_guess();
  write();
  deep_tests_.note(written_, snapshot_->verdict);
  if (!next_report_.is_active()) next_report_ = loop_.after(kGather, [this] { report(); });
}

void ClusterLink::keep() {
  ++unkept_;
  sources_.keep(written_, [this] {
    --unkept_;
    write();
  });
}

// What others act on is kept first: an agent that is killed in between finds it.
void ClusterLink::write() {
  if (unkept_ > 0 || !has_told_) return;
  report::NodeWords words = report::words_of(*snapshot_, written_.word, why_evicted());
  words.deep_test = words_of(deep_tests_.record());
  node_.note(std::move(words));
}

void ClusterLink::report() {
  if (recall_) return;
  const auto saved = sources_.saved_state();
  report_.note(report::report_text({.snapshot = *snapshot_,
                                    .saved = saved,
                                    .written = written_,
                                    .pass_records = sources_.passes->records(),
                                    .name_space = name_space_,
                                    .node_uid = node_uid_,
                                    .why_evicted = why_evicted()}));
}

}  // namespace autopilot::agent
