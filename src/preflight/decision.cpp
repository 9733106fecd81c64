// SPDX-License-Identifier: Apache-2.0

#include "preflight/decision.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <utility>
#include <vector>

#include "incidents/verdict.hpp"

namespace autopilot::preflight {

namespace {

using api::PreflightOutcome;
using api::PreflightState;
using api::PreflightTest;

// Test name of the pass records of deep diagnostics.
constexpr std::string_view kDeepTestRecord = "deep_test";

std::string_view record_of(std::string_view test) {
  return test == incidents::kDeepTest ? kDeepTestRecord : test;
}

// "2 h"
std::string ago(Duration age) {
  using namespace std::chrono;
  const auto text = [](auto count, const char* unit) { return std::to_string(count.count()) + unit; };
  if (age < minutes{2}) return text(floor<seconds>(age), " s");
  if (age < hours{2}) return text(floor<minutes>(age), " min");
  if (age < days{2}) return text(floor<hours>(age), " h");
  return text(floor<days>(age), " d");
}

bool is_complete(const NodeSnapshot& snapshot) {
  return !snapshot.results.empty() && std::ranges::all_of(snapshot.results, [](const CheckResult& result) {
    return !result.required || result.completed != WallTime{};
  });
}

class Decider {
 public:
  explicit Decider(const GateWorld& world) : world_(world) {}

  GateDecision decide() {
    if (world_.snapshot.verdict == Verdict::evict || !world_.why_evicted.empty()) return refuse_for_node();
    if (!is_complete(world_.snapshot))
      return wait("this agent has just begun, and is running its first checks");
    const bool has_no_gpu = world_.held.gpus.empty() && world_.held.are_its_own;
    for (const std::string& id : world_.wanted)
      if (!has_no_gpu || is_of_host(id)) decision_.tests.push_back(look_at(id));
    conclude();
    if (has_no_gpu && decision_.tests.empty())
      decision_.message = "the pod has no GPU, so there is nothing to test";
    return std::move(decision_);
  }

 private:
  GateDecision wait(std::string why) {
    decision_.kind = GateDecision::Kind::wait;
    decision_.message = std::move(why);
    for (const std::string& id : world_.wanted)
      decision_.tests.push_back({id, PreflightState::waiting, {}, {}});
    return std::move(decision_);
  }

  // The node as a whole must be left, independent of the GPUs of the pod.
  GateDecision refuse_for_node() {
    decision_.kind = GateDecision::Kind::refuse;
    decision_.outcome = PreflightOutcome::failed;
    for (const Incident& incident : world_.snapshot.incidents)
      if (incidents::makes_evict(incident, world_.reasons)) add_cause(incident);
    for (const CheckResult& result : world_.snapshot.results)
      if (result.check == incidents::kDeepTest) add_failed(result);
    decision_.message = "the node is not fit for pods (EVICT)";
    if (!decision_.findings.empty())
      decision_.message += ": " + decision_.findings.front().finding.message;
    else if (!world_.why_evicted.empty())
      decision_.message += ": " + world_.why_evicted;
    for (const std::string& id : world_.wanted)
      decision_.tests.push_back({id, PreflightState::waiting, "not run: the node is not fit for pods", {}});
    return std::move(decision_);
  }

  void add_cause(const Incident& incident) {
    for (const IncidentMember& member : incident.members) {
      if (member.finding.health != Health::failed || member.cleared) continue;
      decision_.findings.push_back({member.check, member.finding});
      return;
    }
  }

  void add_failed(const CheckResult& result) {
    for (const Finding& finding : result.findings)
      if (finding.health == Health::failed && !finding.injected)
        decision_.findings.push_back({result.check, finding});
  }

  // Age of the oldest pass record; not set: a record is missing or expired.
  [[nodiscard]] std::optional<Duration> age_of_proof(const std::string& id) const {
    if (world_.held.gpus.empty()) return std::nullopt;
    Duration oldest{0};
    for (const Subject& gpu : world_.held.gpus) {
      const auto record = std::ranges::find_if(world_.passes, [&](const PassRecord& one) {
        return !gpu.uuid.empty() && one.gpu_uuid == gpu.uuid && one.test == record_of(id);
      });
      if (record == world_.passes.end() || record->boot_id != world_.snapshot.boot_id) return std::nullopt;
      const Duration age = std::max(Duration{0}, world_.now - record->time);
      if (age >= world_.max_age || record->time < world_.proofs_since) return std::nullopt;
      oldest = std::max(oldest, age);
    }
    return oldest;
  }

  [[nodiscard]] bool is_of_host(const std::string& id) const {
    const auto offered = std::ranges::find(world_.offered, id, &OfferedTest::id);
    return offered != world_.offered.end() && offered->is_of_host;
  }

  PreflightTest look_at(const std::string& id) {
    if (const auto made = world_.made.find(id); made != world_.made.end()) return look_at(id, made->second);
    // An earlier pass of the host does not count for now.
    if (const auto age = is_of_host(id) ? std::nullopt : age_of_proof(id))
      return {id, PreflightState::fresh, "passed " + ago(*age) + " ago on " + which(), age};
    const auto offered = std::ranges::find(world_.offered, id, &OfferedTest::id);
    if (offered == world_.offered.end())
      return cannot(id, "this node has no such test that can run while the pod has its GPUs");
    if (!offered->is_of_host && !world_.held.untestable.empty()) return cannot(id, world_.held.untestable);
    decision_.run.push_back(id);
    const bool is_kept = world_.snapshot.verdict == Verdict::testing;
    return {id, PreflightState::waiting, is_kept ? "the node is reserved for a deep test" : "", {}};
  }

  PreflightTest look_at(const std::string& id, const MadeTest& made) {
    if (made.is_under_way()) return {id, PreflightState::running, {}, {}};
    if (!made.verdict) return cannot(id, made.not_told);
    std::vector<std::string> wrong;
    std::string unknown;
    const std::vector<Subject> host{host_subject()};
    for (const Subject& gpu : made.verdict->host ? host : world_.held.gpus) {
      const TestedGpu* tested = made.verdict->find(gpu);
      const Health health = tested == nullptr ? Health::unknown : tested->health;
      if (health == Health::failed || health == Health::degraded) {
        wrong.push_back(tested->findings.front().message);
        for (const Finding& finding : tested->findings)
          decision_.findings.push_back({id, finding});
      } else if (health != Health::healthy) {
        const bool is_told = tested != nullptr && !tested->findings.empty();
        unknown = is_told ? tested->findings.front().message : "it has no result for " + to_string(gpu);
      }
    }
    if (!wrong.empty()) {
      if (wrong.size() > 1) wrong.front() += " (and " + std::to_string(wrong.size() - 1) + " more GPUs)";
      return {id, PreflightState::failed, wrong.front(), {}};
    }
    if (!unknown.empty()) return cannot(id, unknown);
    return {
        id, PreflightState::passed, "passed just now on " + (made.verdict->host ? "the node" : which()), {}};
  }

  PreflightTest cannot(const std::string& id, const std::string& why) {
    Finding finding;
    finding.reason = "could_not_look";
    finding.message = why;
    decision_.findings.push_back({id, std::move(finding)});
    return {id, PreflightState::could_not_look, why, {}};
  }

  [[nodiscard]] std::string which() const {
    const std::size_t count = world_.held.gpus.size();
    const std::string gpus = count == 1 ? "GPU" : std::to_string(count) + " GPUs";
    return world_.held.are_its_own ? "the " + gpus + " of this pod" : "all " + gpus + " of the node";
  }

  [[nodiscard]] bool has(PreflightState state) const {
    return std::ranges::find(decision_.tests, state, &PreflightTest::state) != decision_.tests.end();
  }

  // Order: proven faults, then tests that still wait or run, then unknown results.
  void conclude() {
    using Kind = GateDecision::Kind;
    if (has(PreflightState::failed)) {
      decision_.kind = Kind::refuse;
      decision_.outcome = PreflightOutcome::failed;
      decision_.run.clear();
      std::erase_if(decision_.findings,
                    [](const GateFinding& one) { return one.finding.health == Health::unknown; });
    } else if (!decision_.run.empty()) {
      const bool is_kept = world_.snapshot.verdict == Verdict::testing;
      if (is_kept) decision_.run.clear();
      decision_.kind = is_kept ? Kind::wait : Kind::run;
    } else if (has(PreflightState::running)) {
      decision_.kind = Kind::wait;
    } else if (has(PreflightState::could_not_look)) {
      decision_.kind = Kind::refuse;
      decision_.outcome = PreflightOutcome::could_not_look;
    } else {
      decision_.kind = Kind::open;
      decision_.outcome = PreflightOutcome::passed;
    }
    decision_.message = message_of(decision_.tests);
  }

  const GateWorld& world_;
  GateDecision decision_;
};

std::string text_of(const PreflightTest& test) {
  switch (test.state) {
    case PreflightState::waiting:
      return test.id + " waits" + (test.message.empty() ? "" : ": " + test.message);
    case PreflightState::running:
      return test.id + " is running";
    case PreflightState::failed:
      return test.id + " failed: " + test.message;
    case PreflightState::could_not_look:
      return test.id + " could not run: " + test.message;
    default:
      return test.id + " " + test.message;
  }
}

}  // namespace

std::string message_of(std::span<const api::PreflightTest> tests) {
  const bool has_failed =
      std::ranges::find(tests, PreflightState::failed, &PreflightTest::state) != tests.end();
  std::string text;
  for (const PreflightTest& test : tests)
    if (!has_failed || test.state == PreflightState::failed)
      text += (text.empty() ? "" : "; ") + text_of(test);
  return text.empty() ? "no test is requested" : text;
}

GateDecision decide(const GateWorld& world) {
  return Decider(world).decide();
}

namespace json = boost::json;

bool is_on_probation(const kube::Node& node, const std::string& prefix, WallTime now) {
  const auto note = node.meta.annotations.find(prefix + "/probation");
  if (note == node.meta.annotations.end()) return false;
  json::error_code error;
  const json::value value = json::parse(note->second, error);
  const json::object* object = error ? nullptr : value.if_object();
  const json::value* until = object == nullptr ? nullptr : object->if_contains("until");
  const json::string* text = until == nullptr ? nullptr : until->if_string();
  const auto time = text == nullptr ? std::nullopt : parse_time({text->data(), text->size()});
  return !time || now < *time;
}

}  // namespace autopilot::preflight
