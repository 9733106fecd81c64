// SPDX-License-Identifier: Apache-2.0
#include "agent/validation_part.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "agent/history_facts.hpp"
#include "core/event.hpp"
#include "logging/metrics_text.hpp"
#include "net/responses.hpp"
#include "runtime/fresh_look.hpp"
#include "store/journal.hpp"

namespace autopilot::agent {
namespace {

using postflight::Allowed;
using postflight::JobFacts;

static_assert(postflight::kMostOpenBytes <= store::Journal::kMaxValueBytes);
constexpr std::size_t kLongestValidatedJob = 253;
constexpr double kSuspected = 0.5;  // least probability of a culprit that counts
constexpr std::string_view kPassiveTag = "passive";
constexpr std::string_view kPairCheck = "network.bandwidth";  // offered with and without RDMA
// Diagnostics that take longer and find more than those of gpu_tests.checks.
constexpr std::string_view kDeepDiagnostics[] = {"gpu.memory_test", "gpu.p2p"};

learning::JobOutcome outcome_in(const jobs::JobReport& report) {
  const learning::JobOutcome stated = outcome_of(report.outcome.value_or(jobs::Outcome::unknown));
  // A typed failure was found for ranks that ended with an error.
  return stated == learning::JobOutcome::unknown && report.failure ? learning::JobOutcome::failed : stated;
}

void note_culprit(JobFacts& facts, const jobs::Entity& culprit, const std::string& node) {
  using enum jobs::EntityKind;
  if (culprit.kind == leaf || culprit.kind == nic) facts.suspects_network = true;
  if (culprit.is_accused() && culprit.node == node) facts.suspects_node = true;
}

bool offers(const diagnostics::Operations& operations, std::string_view check) {
  return std::ranges::find(operations.kinds(), check, &diagnostics::OperationKind::id) !=
         operations.kinds().end();
}

std::vector<std::string> offered_of(const diagnostics::Operations& operations,
                                    const std::vector<std::string>& checks) {
  std::vector<std::string> offered;
  for (const std::string& check : checks)
    if (offers(operations, check)) offered.push_back(check);
  return offered;
}

std::vector<std::string> passive_checks_of(const runtime::Runtime& runtime) {
  std::vector<std::string> checks;
  const SnapshotPtr snapshot = runtime.snapshot();
  for (const CheckInfo& info : runtime.check_infos()) {
    if (std::ranges::find(info.tags, kPassiveTag) == info.tags.end()) continue;
    const auto last = std::ranges::find(snapshot->results, info.id, &CheckResult::check);
    if (last != snapshot->results.end() && last->health == Health::unsupported) continue;
    checks.push_back(info.id);
  }
  return checks;
}

Result<Operation> start_diagnostic(const ValidationParts& parts, const std::string& check,
                                   const std::vector<Subject>& gpus, Duration most) {
  const auto& kinds = parts.operations.kinds();
  const auto kind = std::ranges::find(kinds, check, &diagnostics::OperationKind::id);
  const Duration deadline = kind == kinds.end() ? most : std::min(most, kind->deadline);
  auto operation =
      parts.operations.start({check, std::string(postflight::kValidationOwner), gpus, deadline, true});
  if (operation) parts.note_changes();
  return operation;
}

Health health_of_verdict(learning::Verdict verdict) {
  switch (verdict) {
    case learning::Verdict::passed:
      return Health::healthy;
    case learning::Verdict::failed:
      return Health::failed;
    case learning::Verdict::unknown:
      break;
  }
  return Health::unknown;
}

Event finished_event(const learning::ValidationResult& result) {
  Event event;
  event.kind = EventKind::validation_finished;
  event.health = health_of_verdict(result.record.verdict);
  event.subject = {SubjectKind::job, result.record.job, {}, {}, {}};
  event.message =
      "job " + (result.name.empty() ? result.record.job : result.name) + " ended: " + result.summary;
  return event;
}

postflight::EndedJob ended_job_of(const JobSpan& span) {
  return {.job = span.job, .name = span.name, .start = span.begin, .end = span.end, .gpus = span.gpus};
}

std::string wanted_job_of(const net::HttpRequest& request) {
  const auto found = request.query.find("job");
  return found == request.query.end() ? std::string() : found->second;
}

}  // namespace

Allowed allowed_by(const config::Config& config) {
  const std::string& word = config.validation.on_job_end;
  if (word == "off") return Allowed::off;
  if (word == "quick") return Allowed::quick;
  return word == "auto" && config.gpu_tests.every > Duration{0} ? Allowed::quick : Allowed::passive;
}

JobFacts facts_of(const jobs::JobReport& report, const std::string& node) {
  JobFacts facts;
  facts.outcome = outcome_in(report);
  if (report.failure) {
    facts.failure = std::string(jobs::to_string(report.failure->kind));
    facts.failure_text = report.failure->sentence;
    note_culprit(facts, report.failure->culprit, node);
  }
  for (const jobs::JobFinding& finding : report.findings)
    if (finding.probability >= kSuspected && finding.is_confirmed) note_culprit(facts, finding.culprit, node);
  return facts;
}

std::vector<std::string> pair_nodes_of(const jobs::JobReport& report, const std::vector<fleet::Peer>& peers) {
  std::vector<std::string> nodes = report.nodes;
  std::erase_if(nodes, [&peers](const std::string& node) { return !fleet::has_node(peers, {node}); });
  std::ranges::sort(nodes);
  if (nodes.size() > diagnostics::Operations::kMaxReserved)
    nodes.resize(diagnostics::Operations::kMaxReserved);
  return nodes;
}

ValidationPart::ValidationPart(ValidationParts parts)
    : parts_(std::move(parts)), validator_(parts_.node, parts_.clock, doors()), way_back_(parts_.loop) {}

void ValidationPart::start(std::string_view open) {
  validator_.restore(open);
  poll();
}

void ValidationPart::stop() {
  next_.cancel();
  validator_.stop();
}

postflight::ValidatorSettings ValidationPart::settings() const {
  const config::Config& config = parts_.config();
  postflight::ValidatorSettings settings;
  settings.allowed = allowed_by(config);
  settings.most = std::chrono::minutes{config.validation.max_minutes};
  settings.retry = config.validation.retry;
  settings.quick = offered_of(parts_.operations, config.gpu_tests.checks);
  if (offers(parts_.operations, kPairCheck)) settings.pair_check = kPairCheck;
  for (const std::string_view check : kDeepDiagnostics)
    if (offers(parts_.operations, check) && std::ranges::find(settings.quick, check) == settings.quick.end())
      settings.deep.emplace_back(check);
  return settings;
}

postflight::ValidatorDoors ValidationPart::doors() {
  postflight::ValidatorDoors doors;
  doors.settings = [this] { return settings(); };
  doors.snapshot = [this] { return parts_.runtime.snapshot(); };
  doors.passive_checks = [this] { return passive_checks_of(parts_.runtime); };
  doors.run_check = [this](const std::string& check, const auto& done) {
    return runtime::look_afresh(parts_.runtime, parts_.clock, check, parts_.poll_soon, done);
  };
  doors.holder = [this]() -> std::optional<Result<std::string>> {
    const ClusterLink* cluster = parts_.cluster();
    if (cluster == nullptr) return std::nullopt;
    return cluster->gpu_holder();
  };
  doors.passes = [this] { return parts_.passes.records(); };
  doors.wanted_by = [this]() -> std::string {
    if (parts_.is_gate_waiting()) return "a pod waits at the pre-flight gate";
    const bool is_reserved = parts_.runtime.snapshot()->verdict == Verdict::testing;
    return is_reserved ? "the node is reserved for a deep diagnostic" : "";
  };
  doors.start = [this](const std::string& check, const std::vector<Subject>& gpus, Duration most) {
    return start_diagnostic(parts_, check, gpus, most);
  };
  doors.cancel = [this](const std::string& id, const std::string& why) {
    (void)parts_.operations.cancel(id, std::string(postflight::kValidationOwner) + ": " + why);
  };
  doors.ask = [this](const std::string& job, std::function<void(std::optional<JobFacts>)> done) {
    parts_.ask(job, [this, done = std::move(done)](const std::optional<jobs::JobReport>& report) {
      if (!report) return done(JobFacts{});
      if (!report->ended) return done(std::nullopt);
      state_facts(*report, done);
    });
  };
  doors.remember_open = [this](std::string value) {
    parts_.runtime.remember(postflight::kOpenValidations, std::move(value));
    parts_.poll_soon();
  };
  doors.sink = parts_.sink;
  doors.on_finished = [this](const learning::ValidationResult& result) {
    (void)parts_.runtime.tell(finished_event(result));
    if (parts_.on_result) parts_.on_result(result);
    parts_.poll_soon();
  };
  return doors;
}

// Without the list of agents, no test between nodes starts.
void ValidationPart::state_facts(const jobs::JobReport& report,
                                 const std::function<void(std::optional<JobFacts>)>& done) const {
  JobFacts facts = facts_of(report, parts_.node);
  if (!facts.suspects_network) return done(std::move(facts));
  parts_.peers([facts = std::move(facts), report, done](const Result<std::vector<fleet::Peer>>& peers) {
    JobFacts known = facts;
    if (peers) known.pair_nodes = pair_nodes_of(report, *peers);
    done(std::move(known));
  });
}

// What other threads state arrives on the loop.
std::function<void(const JobSpan&)> ValidationPart::begin_listener() {
  return [this, post = way_back_.post()](const JobSpan& span) {
    post([this, job = span.job] { validator_.begin_job(job); });
  };
}

std::function<void(const JobSpan&)> ValidationPart::end_listener() {
  return [this, post = way_back_.post()](const JobSpan& span) {
    post([this, span] {
      validator_.end_job(ended_job_of(span));
      poll();
    });
  };
}

void ValidationPart::note(const Operation& operation) {
  validator_.note(operation);
}

void ValidationPart::poll() {
  next_ = parts_.loop.at(validator_.poll(), [this] { poll(); });
}

api::ValidationList ValidationPart::list(std::string_view job) const {
  api::ValidationList list{.node = parts_.node,
                           .is_simulated = parts_.runtime.snapshot()->simulated,
                           .waiting = validator_.counts().waiting,
                           .validations = validator_.results()};
  if (job.empty()) return list;
  std::erase_if(list.validations, [job](const learning::ValidationResult& result) {
    return result.record.job != job && result.name != job;
  });
  return list;
}

std::string ValidationPart::metrics() const {
  const postflight::ValidatorCounts counts = validator_.counts();
  logging::MetricsText metrics;
  metrics.family("autopilot_validations_total", logging::MetricType::counter,
                 "Validations of this node after a job, by verdict; repetitions count again.");
  metrics.sample({{"verdict", "passed"}}, static_cast<double>(counts.passed));
  metrics.sample({{"verdict", "failed"}}, static_cast<double>(counts.failed));
  metrics.sample({{"verdict", "unknown"}}, static_cast<double>(counts.unknown));
  const auto add = [&](logging::MetricType type, std::string_view name, std::string_view help, double value) {
    metrics.family(name, type, help);
    metrics.sample(value);
  };
  add(logging::MetricType::counter, "autopilot_validations_yielded_total",
      "Validations whose diagnostics ended for another user of the GPUs.",
      static_cast<double>(counts.yielded));
  add(logging::MetricType::counter, "autopilot_validations_dropped_total",
      "Jobs that were not validated, because too many validations waited.",
      static_cast<double>(counts.dropped));
  add(logging::MetricType::counter, "autopilot_validations_joined_total",
      "Jobs that share one run of the passive checks, because too many validations waited.",
      static_cast<double>(counts.joined));
  add(logging::MetricType::counter, "autopilot_validations_repetitions_dropped_total",
      "Repetitions of validations that did not happen, because too many waited.",
      static_cast<double>(counts.dropped_retries));
  add(logging::MetricType::gauge, "autopilot_validations_waiting", "Validations that have not ended.",
      static_cast<double>(counts.waiting));
  return std::move(metrics).take();
}

void add_validation_routes(net::HttpServer& server, const ValidationPart& part) {
  server.route("GET", api::kValidationsPath,
               [&part](const net::HttpRequest& request, net::Responder responder) {
                 const std::string job = wanted_job_of(request);
                 if (job.size() > kLongestValidatedJob || (job.empty() && request.query.contains("job")))
                   return responder.respond({Errc::malformed, "job: expected 1 to 253 bytes"});
                 responder.respond(net::json_response(api::to_json(part.list(job))));
               });
}

}  // namespace autopilot::agent
