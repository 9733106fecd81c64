// SPDX-License-Identifier: Apache-2.0
#include "preflight/gate.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "diagnostics/cluster/deep_test_words.hpp"
#include "logging/log.hpp"

namespace autopilot::preflight {
namespace {

using api::PreflightOutcome;
using api::PreflightState;
using Kind = GateDecision::Kind;

// The GPUs are known only after gpu.present has run.
bool has_looked_for_gpus(const NodeSnapshot& snapshot) {
  const auto present = std::ranges::find(snapshot.results, "gpu.present", &CheckResult::check);
  return present == snapshot.results.end() || present->completed != WallTime{};
}

std::string percent(double share) {
  constexpr double kAll = 100;
  return std::to_string(static_cast<int>(share * kAll)) + " %";
}

std::string owner_of(const PodCaller& pod) {
  if (pod.claim.owner.pod.empty()) return "preflight";
  return "preflight of " + pod.claim.owner.pod_namespace + "/" + pod.claim.owner.pod;
}

// True if the policy lets a pod with this outcome start.
bool may_start(PreflightOutcome outcome, const config::Preflight& settings) {
  switch (outcome) {
    case PreflightOutcome::failed:
      return settings.failed == "start";
    case PreflightOutcome::could_not_look:
      return settings.could_not_look == "start";
    default:
      return true;
  }
}

void take(MadeTest& made, const Operation& operation, const std::optional<JudgedTest>& verdict,
          bool is_durable) {
  made.verdict = verdict;
  made.is_durable = is_durable;
  if (!verdict) made.not_told = operation.message.empty() ? "it found nothing" : operation.message;
}

}  // namespace

PreflightGate::PreflightGate(net::EventLoop& loop, GateMachine machine)
    : loop_(loop), machine_(std::move(machine)) {}

Error PreflightGate::too_many(std::string why) {
  ++stats_.refused;
  return {Errc::exhausted, std::move(why)};
}

GateStats PreflightGate::stats() const {
  GateStats stats = stats_;
  stats.waiting = questions_.size();
  return stats;
}

Result<std::uint64_t> PreflightGate::ask(const std::optional<PodCaller>& pod,
                                         const api::PreflightRequest& request, Listener listener) {
  const config::Preflight settings = machine_.settings();
  std::vector<std::string> wanted = request.tests.empty() ? settings.tests : request.tests;
  std::vector<std::string> in_order = wanted;
  std::ranges::sort(in_order);
  const Key key{pod ? pod->claim.owner.pod_uid : "", std::move(in_order)};
  const std::uint64_t number = ++next_listener_;
  if (const auto known = questions_.find(key); known != questions_.end()) {
    if (known->second.listeners.size() >= kMostListeners)
      return fail(too_many("this pod asks too often at once; wait for an answer"));
    known->second.listeners.emplace(number, std::move(listener));
    known->second.said.clear();
    return number;
  }
  if (questions_.size() >= kMostQuestions)
    return fail(too_many("too many pods wait for their tests; ask again"));
  Question& question = questions_[key];
  question.pod = pod.value_or(PodCaller{});
  question.has_pod = pod.has_value();
  question.wanted = std::move(wanted);
  question.wants_choice = request.tests.empty() && settings.choice == "learned" && machine_.choose;
  question.patience = request.deadline.value_or(settings.deadline);
  question.deadline = machine_.clock.now().mono + question.patience;
  question.listeners.emplace(number, std::move(listener));
  question.tick = loop_.every(kTick, [this, key] { advance(key); });
  question.end = loop_.after(question.patience, [this, key] { end_in_time(key); });
  loop_.post([this, key] { advance(key); });
  return number;
}

// A question that waits for other pods ends with its last listener.
void PreflightGate::leave(std::uint64_t listener) {
  for (auto& [key, question] : questions_)
    question.listeners.erase(listener);
  std::erase_if(questions_, [](const auto& one) { return one.second.gang && one.second.listeners.empty(); });
}

void PreflightGate::note() {
  advance_all();
}

void PreflightGate::note(const Operation& operation, const std::optional<JudgedTest>& verdict,
                         bool is_durable) {
  for (auto& [key, question] : questions_)
    for (auto& [test, made] : question.made)
      if (made.operation == operation.id) take(made, operation, verdict, is_durable);
  advance_all();
}

void PreflightGate::advance_all() {
  std::vector<Key> keys;
  for (const auto& [key, question] : questions_)
    keys.push_back(key);
  for (const Key& key : keys)
    advance(key);
}

void PreflightGate::advance(const Key& key) {
  const auto found = questions_.find(key);
  if (found == questions_.end()) return;
  Question& question = found->second;
  if (question.gang) return look_again(key, question);
  if (question.result) return;
  const SnapshotPtr snapshot = machine_.snapshot();
  if (!question.held && has_looked_for_gpus(*snapshot) && snapshot->verdict != Verdict::evict) {
    if (is_choosing(key, question, held_by(question, nullptr))) return;
    if (is_open_unseen(question)) return conclude(key, question, decide(question, question.held));
    look(key, question);
    if (!question.held) return;
  }
  if (question.held && is_choosing(key, question, *question.held)) return;
  GateDecision decision = decide(question, question.held);
  if (decision.kind == Kind::run) {
    begin(key, question, decision);
    decision = decide(question, question.held);
  }
  if (decision.kind == Kind::open || decision.kind == Kind::refuse) return conclude(key, question, decision);
  tell(question, decision);
}

HeldGpus PreflightGate::held_by(const Question& question, const CheckResult* look) const {
  const auto gpus = diagnostics::gpus_in(*machine_.snapshot());
  return held_gpus(question.pod.claim, {gpus, look, machine_.allocatable()});
}

// A pod that has all GPUs of the node, and pass records for them, does not wait for a run of gpu.processes.
bool PreflightGate::is_open_unseen(Question& question) const {
  HeldGpus held = held_by(question, nullptr);
  if (!held.are_its_own || decide(question, held).kind != Kind::open) return false;
  question.held = std::move(held);
  return true;
}

// Reads which GPUs the pod has: it has just received them.
void PreflightGate::look(const Key& key, Question& question) {
  if (std::exchange(question.is_looking, true)) return;
  const auto take = [this, key](const CheckResult* seen) {
    const auto found = questions_.find(key);
    if (found != questions_.end()) found->second.held = held_by(found->second, seen);
  };
  const bool is_asked = machine_.look([this, key, take](const CheckResult& seen) {
    take(&seen);
    loop_.post([this, key] { advance(key); });
  });
  if (!is_asked) take(nullptr);
}

Duration PreflightGate::max_age() const {
  const config::Preflight settings = machine_.settings();
  return machine_.is_on_probation() ? settings.max_age_on_probation : settings.max_age;
}

GateDecision PreflightGate::decide(const Question& question, const std::optional<HeldGpus>& held) const {
  static const HeldGpus unknown{{}, false, "it is not known yet which GPUs the pod has"};
  const auto offered = machine_.offered();
  const SnapshotPtr snapshot = machine_.snapshot();
  const auto& choice = question.choice;
  return preflight::decide({choice ? choice->tests : question.wanted, offered, held ? *held : unknown,
                            *snapshot, machine_.passes.records(), question.made, max_age(),
                            machine_.clock.now().wall, machine_.reasons, machine_.why_evicted(),
                            choice ? choice->proofs_since : WallTime{}});
}

// A diagnostic without a free place, or with reserved GPUs, begins later.
void PreflightGate::begin(const Key& key, Question& question, const GateDecision& decision) {
  if (!question.held) return;
  const auto offered = machine_.offered();
  for (const std::string& test : decision.run) {
    const Duration left = question.deadline - machine_.clock.now().mono;
    if (left <= Duration{0}) return;
    const auto one = std::ranges::find(offered, test, &OfferedTest::id);
    if (one == offered.end()) continue;
    if (one->is_between_nodes && (!knows_peers(key, question, test, left) || joins(question, test))) continue;
    const auto operation =
        machine_.start({test, owner_of(question.pod), reservation_for(question, *one), left});
    if (operation) {
      question.made[test] = {operation->id, std::nullopt, {}};
      question.waits_for.erase(test);
      continue;
    }
    const Errc code = operation.error().code;
    if (code == Errc::conflict || code == Errc::exhausted)
      question.waits_for[test] = operation.error().what;
    else
      question.made[test] = {{}, std::nullopt, operation.error().what};
  }
}

std::vector<Subject> PreflightGate::reservation_for(const Question& question, const OfferedTest& test) {
  if (test.is_between_nodes) return question.peers.value_or(std::vector<Subject>{});
  if (test.is_of_host || !question.held) return {};
  return question.held->gpus;
}

// Takes the nodes of the other pods of the job, once all of them have a node or the wait has ended.
bool PreflightGate::knows_peers(const Key& key, Question& question, const std::string& test, Duration left) {
  if (!question.peers && !question.placed && !is_in_gang(question)) question.peers.emplace();
  if (question.peers || question.placed) return question.peers.has_value();
  question.waits_for[test] = "waiting for the other pods of the job";
  question.placed = std::make_unique<GangWait>(
      loop_, api::GangQuestion{question.pod.claim.owner.pod_uid, question.pod.gang.value_or(0), false},
      std::min(machine_.settings().gang_wait, left / 2), machine_.gang,
      GangWait::Listener{[this, key, test](const std::string& message) {
                           const auto found = questions_.find(key);
                           if (found == questions_.end()) return;
                           found->second.waits_for[test] = message;
                           advance(key);
                         },
                         [this, key](const GangWait::End& end) { take_peers(key, end.nodes); }});
  return false;
}

// Pods of one job on this node have the same peers: they share one diagnostic.
bool PreflightGate::joins(Question& question, const std::string& test) {
  for (const auto& [key, other] : questions_) {
    const auto made = other.made.find(test);
    if (made == other.made.end() || !made->second.is_under_way() || other.peers != question.peers) continue;
    question.made[test] = {made->second.operation, std::nullopt, {}};
    question.waits_for.erase(test);
    return true;
  }
  return false;
}

void PreflightGate::take_peers(const Key& key, const std::vector<std::string>& nodes) {
  const auto found = questions_.find(key);
  if (found == questions_.end()) return;
  Question& question = found->second;
  question.placed.reset();
  question.peers.emplace();
  for (const std::string& node : nodes)
    question.peers->push_back({SubjectKind::peer, node, {}, {}, {}});
  advance(key);
}

void PreflightGate::tell(Question& question, const GateDecision& decision) {
  api::PreflightProgress progress{machine_.node, decision.message, decision.tests};
  for (api::PreflightTest& test : progress.tests) {
    const auto waits = question.waits_for.find(test.id);
    if (test.state == PreflightState::waiting && waits != question.waits_for.end())
      test.message = waits->second;
    const auto made = question.made.find(test.id);
    if (test.state != PreflightState::running || made == question.made.end()) continue;
    if (const auto operation = machine_.find(made->second.operation))
      test.message = percent(operation->progress);
  }
  if (!decision.tests.empty() && !question.waits_for.empty()) progress.message = message_of(progress.tests);
  std::string said = api::to_json(progress);
  if (said == std::exchange(question.said, said)) return;
  for (const auto& [number, listener] : question.listeners)
    listener.on_progress(progress);
}

// Tests without a result at the deadline are unknown.
void PreflightGate::end_in_time(const Key& key) {
  const auto found = questions_.find(key);
  if (found == questions_.end()) return;
  Question& question = found->second;
  if (question.result) return answer(key);
  const GateDecision before = decide(question, question.held);
  for (const api::PreflightTest& test : before.tests) {
    const bool is_open = test.state == PreflightState::waiting || test.state == PreflightState::running;
    if (!is_open) continue;
    const auto waits = question.waits_for.find(test.id);
    const std::string why = waits != question.waits_for.end() ? waits->second : test.message;
    question.made[test.id] = {
        {},
        std::nullopt,
        "not over within " + format_duration(question.patience) + (why.empty() ? "" : ": " + why)};
  }
  GateDecision decision = decide(question, question.held);
  if (decision.kind != Kind::open && decision.kind != Kind::refuse) {
    decision.kind = Kind::refuse;
    decision.outcome = PreflightOutcome::could_not_look;
    decision.message = "not over within " + format_duration(question.patience) + ": " + before.message;
  }
  conclude(key, question, decision);
}

api::PreflightResult PreflightGate::result_of(const Question& question, const GateDecision& decision) const {
  api::PreflightResult result;
  result.outcome = decision.outcome;
  result.may_start = may_start(decision.outcome, machine_.settings());
  result.node = machine_.node;
  result.tests = decision.tests;
  for (const api::PreflightTest& test : decision.tests)
    if (test.state == PreflightState::fresh) result.fresh.push_back(test.id);
  if (question.held && question.held->are_its_own)
    for (const Subject& gpu : question.held->gpus)
      result.gpus.push_back(gpu.uuid);
  result.message = decision.message;
  if (question.choice) {
    result.choice = question.choice->reason;
    result.left_out = question.choice->left_out;
  }
  result.simulated = machine_.snapshot()->simulated;
  result.is_durable =
      std::ranges::all_of(question.made, [](const auto& made) { return made.second.is_durable; });
  return result;
}

void PreflightGate::conclude(const Key& key, Question& question, GateDecision decision) {
  if (question.choice) decision.message += sentences_of(*question.choice);
  const api::PreflightResult result = result_of(question, decision);
  question.tick.cancel();
  if (has_gang(question, result)) return wait_for_gang(key, question, decision, result);
  finish(key, question, decision, result, decision.outcome != PreflightOutcome::passed);
}

bool PreflightGate::is_in_gang(const Question& question) const {
  return question.has_pod && question.pod.gang && machine_.gang &&
         machine_.settings().gang_wait > Duration{0};
}

// True if the pod may start and a listener waits for the gang. A pod that failed is not waited with: it
// proves nothing for others.
bool PreflightGate::has_gang(const Question& question, const api::PreflightResult& result) const {
  return result.may_start && result.outcome != PreflightOutcome::failed && is_in_gang(question) &&
         std::ranges::any_of(question.listeners | std::views::values, &Listener::waits_for_gang);
}

void PreflightGate::wait_for_gang(const Key& key, Question& question, const GateDecision& decision,
                                  const api::PreflightResult& result) {
  const Duration patience = machine_.settings().gang_wait;
  question.end.cancel();
  question.gang = std::make_unique<Gang>(Gang{decision, result, machine_.clock.now().mono + patience, {}});
  question.gang->wait = std::make_unique<GangWait>(
      loop_, api::GangQuestion{question.pod.claim.owner.pod_uid, question.pod.gang.value_or(0)}, patience,
      machine_.gang,
      GangWait::Listener{[this, key](const std::string& message) { tell_of_gang(key, message); },
                         [this, key](const GangWait::End& end) { end_gang(key, end.given_up); }});
  std::vector<Listener> impatient;
  std::erase_if(question.listeners, [&impatient](auto& one) {
    if (one.second.waits_for_gang) return false;
    impatient.push_back(std::move(one.second));
    return true;
  });
  for (const Listener& listener : impatient)
    listener.on_result(result);
}

void PreflightGate::tell_of_gang(const Key& key, const std::string& message) {
  const auto found = questions_.find(key);
  if (found == questions_.end() || !found->second.gang) return;
  Question& question = found->second;
  if (message == std::exchange(question.said, message)) return;
  const api::PreflightProgress progress{machine_.node, message, question.gang->decision.tests,
                                        question.gang->end - machine_.clock.now().mono};
  for (const Listener& listener : question.listeners | std::views::values)
    listener.on_progress(progress);
}

// The GPUs of the pod may have failed while it waited for other pods.
void PreflightGate::look_again(const Key& key, Question& question) {
  const GateDecision decision = decide(question, question.held);
  if (decision.kind != Kind::refuse || decision.outcome != PreflightOutcome::failed) return;
  question.gang.reset();
  conclude(key, question, decision);
}

void PreflightGate::end_gang(const Key& key, const std::string& given_up) {
  const auto found = questions_.find(key);
  if (found == questions_.end() || !found->second.gang) return;
  Question& question = found->second;
  const std::unique_ptr<Gang> gang = std::move(question.gang);
  if (!given_up.empty()) {
    gang->decision.message +=
        "; gave up after " + format_duration(machine_.settings().gang_wait) + " " + given_up;
    gang->result.message = gang->decision.message;
    ++stats_.gangs_given_up;
  }
  const bool is_written = !given_up.empty() || gang->decision.outcome != PreflightOutcome::passed;
  finish(key, question, gang->decision, gang->result, is_written);
}

void PreflightGate::finish(const Key& key, Question& question, const GateDecision& decision,
                           const api::PreflightResult& result, bool is_written) {
  logging::log_info(
      "pre-flight decision",
      {{"pod", question.has_pod ? question.pod.claim.owner.pod_namespace + "/" + question.pod.claim.owner.pod
                                : "none"},
       {"outcome", std::string(to_string(result.outcome))},
       {"why", result.message}});
  auto& count = result.outcome == PreflightOutcome::passed   ? stats_.passed
                : result.outcome == PreflightOutcome::failed ? stats_.failed
                                                             : stats_.could_not_look;
  ++count;
  question.result = result;
  if (is_written && question.has_pod && machine_.report)
    write_down(key, question, report_of(question, decision, result));
  else
    answer(key);
}

// Reports to the listeners why the pod is not moved: its report could not be written.
void PreflightGate::tell_unwritten(const Key& key, const std::string& why) {
  const auto found = questions_.find(key);
  if (found == questions_.end() || !found->second.result) return;
  found->second.result->message += "; the controller does not know of it: " + why;
  answer(key);
}

void PreflightGate::write_down(const Key& key, Question& question, kube::HealthCheckReport report) {
  question.end = loop_.after(kReportPatience, [this, key] {
    tell_unwritten(key,
                   "the API server has not taken the report yet; the agent sends it again for 15 minutes");
  });
  const std::string name = report.meta.name;
  machine_.report(std::move(report), [this, key, name](const Status& written) {
    if (!written) return tell_unwritten(key, written.error().what);
    const auto found = questions_.find(key);
    if (found == questions_.end() || !found->second.result) return;
    found->second.result->report = name;
    answer(key);
  });
}

kube::HealthCheckReport PreflightGate::report_of(const Question& question, const GateDecision& decision,
                                                 const api::PreflightResult& result) const {
  using kube::ReportedOutcome;
  const GpuUserOwner& owner = question.pod.claim.owner;
  kube::HealthCheckReport report;
  report.meta.name = kube::health_check_report_name(machine_.node, owner.pod_uid, question.wanted);
  report.node = machine_.node;
  report.pod = {owner.pod_namespace, owner.pod, owner.pod_uid};
  report.job = question.pod.job;
  report.tests = question.choice ? question.choice->tests : question.wanted;
  report.gpus = result.gpus;
  report.outcome = decision.outcome == PreflightOutcome::failed ? ReportedOutcome::failed
                   : result.may_start                           ? ReportedOutcome::started
                                                                : ReportedOutcome::could_not_look;
  report.message = decision.message;
  report.is_let_in = result.may_start && report.outcome == ReportedOutcome::failed;
  if (report.is_let_in)
    report.message += "; preflight.failed is start, so the pod starts; with stop it would be held back";
  for (const GateFinding& found : decision.findings) {
    kube::ReportedFinding& finding = report.findings.emplace_back();
    finding.subject = to_string(found.finding.subject);
    finding.check = found.check;
    finding.health = found.finding.health;
    finding.reason = found.finding.reason;
    finding.message = found.finding.message;
    for (const auto& [name, value] : found.finding.evidence)
      finding.evidence.emplace(name, autopilot::to_string(value));
    if (!found.finding.subject.uuid.empty()) finding.evidence.emplace("gpuUuid", found.finding.subject.uuid);
  }
  report.issuer = machine_.issuer;
  report.time = machine_.clock.now().wall;
  report.is_simulated = result.simulated;
  return report;
}

// A listener may leave or ask again from within its callback.
void PreflightGate::answer(const Key& key) {
  auto node = questions_.extract(key);
  if (node.empty()) return;
  const Question& question = node.mapped();
  if (!question.result) return;
  for (const Listener& listener : question.listeners | std::views::values)
    listener.on_result(*question.result);
}

}  // namespace autopilot::preflight
