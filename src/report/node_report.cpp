// SPDX-License-Identifier: Apache-2.0
#include "report/node_report.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "api/json.hpp"
#include "api/wire.hpp"
#include "incidents/verdict.hpp"
#include "logging/build_info.hpp"
#include "report/report_cuts.hpp"

namespace autopilot::report {
namespace {

using api::JsonWriter;
using incidents::SavedFinding;

// Parts of kMaxReportBytes; the rest is for incidents.
constexpr std::size_t kCheckBytes = 24 * 1024;
constexpr std::size_t kGpuBytes = 12 * 1024;
constexpr std::size_t kPassRecordBytes = 16 * 1024;
constexpr std::size_t kFixedBytes = 12 * 1024;
constexpr std::size_t kIncidentBytes =
    kMaxReportBytes - kCheckBytes - kGpuBytes - kPassRecordBytes - kFixedBytes;

constexpr std::size_t kLongestMessage = 256;  // of a check
constexpr std::size_t kLongestWorst = 120;    // in a column of a table
constexpr std::size_t kMaxMissingRights = 32;

template <class T>
std::size_t bytes_of(const T& item, void (*write)(JsonWriter&, const T&)) {
  JsonWriter out;
  write(out, item);
  return out.take().size();
}

// Writes as many as fit. Returns the number left out.
template <class Items, class T>
std::size_t write_list(JsonWriter& out, std::string_view name, const Items& items, std::size_t bytes,
                       void (*write)(JsonWriter&, const T&)) {
  std::size_t written = 0;
  out.begin_list(name);
  for (const T& item : items) {
    const std::size_t size = bytes_of(item, write);
    if (size > bytes) break;
    bytes -= size;
    write(out, item);
    ++written;
  }
  out.end_list();
  return items.size() - written;
}

void write_left_out(JsonWriter& out, std::string_view name, std::size_t count) {
  if (count > 0) out.count(name, count);
}

void write_check(JsonWriter& out, const CheckResult& result) {
  out.begin_object();
  out.word("check", result.check);
  out.word("health", to_string(result.health));
  out.flag("required", result.required);
  out.time_if_any("completed", result.completed);
  if (result.health != Health::healthy) {
    const auto worst = std::ranges::find(result.findings, result.health, &Finding::health);
    if (worst != result.findings.end())
      out.word("message", short_text(to_string(worst->subject) + ": " + worst->message, kLongestMessage));
  }
  out.end_object();
}

// A GPU, from the observations of the checks.
struct Gpu {
  Subject subject;
  Health health = Health::healthy;  // the worst finding about it
};

void write_gpu(JsonWriter& out, const Gpu& gpu) {
  out.begin_object();
  out.word("key", gpu.subject.key);
  if (gpu.subject.index) out.integer("index", *gpu.subject.index);
  out.word_if_any("uuid", gpu.subject.uuid);
  out.word_if_any("serial", gpu.subject.serial);
  out.word("health", to_string(gpu.health));
  out.end_object();
}

// By address.
std::vector<Gpu> gpus_of(const NodeSnapshot& snapshot) {
  constexpr std::string_view kLists = "gpu.present";  // the check that lists all GPUs
  std::map<std::string, Gpu> gpus;
  for (const CheckResult& result : snapshot.results) {
    if (result.check != kLists) continue;
    for (const Observation& seen : result.observations)
      if (seen.subject.kind == SubjectKind::gpu) {
        Gpu& gpu = gpus[seen.subject.key];
        if (gpu.subject.uuid.empty()) gpu.subject = seen.subject;
      }
  }
  for (const CheckResult& result : snapshot.results)
    for (const Finding& finding : result.findings) {
      if (!incidents::is_accelerator_part(finding.subject.kind) || finding.injected) continue;
      const std::string key = finding.subject.key.substr(0, finding.subject.key.find('/'));
      if (const auto gpu = gpus.find(key); gpu != gpus.end())
        gpu->second.health = worst(gpu->second.health, finding.health);
    }
  std::vector<Gpu> list;
  for (auto& [key, gpu] : gpus)
    list.push_back(std::move(gpu));
  return list;
}

void write_saved_finding(JsonWriter& out, const SavedFinding& saved) {
  out.begin_object();
  out.word("check", saved.check);
  out.word("bootId", saved.boot_id);
  out.word("stateWords", saved.state);
  out.begin_object("finding");
  api::write_finding_members(out, saved.finding);
  out.end_object();
  out.end_object();
}

void write_pass_record(JsonWriter& out, const PassRecord& record) {
  out.begin_object();
  out.word("gpuUuid", record.gpu_uuid);
  out.word("test", record.test);
  out.time("time", record.time);
  out.word("bootId", record.boot_id);
  out.word("operation", record.operation);
  out.end_object();
}

// The reported incidents, and their findings.
struct Told {
  std::vector<Incident> incidents;
  std::vector<SavedFinding> findings;
  std::size_t incidents_left_out = 0;
  std::size_t findings_left_out = 0;
};

// Selects incidents and findings until the size limit is reached.
class Choice {
 public:
  explicit Choice(const incidents::SavedState& saved) {
    for (const SavedFinding& finding : saved.findings)
      findings_[incidents::incident_of(finding)].push_back(&finding);
  }

  void add(const Incident& incident) {
    const bool is_taken = add(incident, kWideCuts, true) || add(incident, kNarrowCuts, true) ||
                          add(incident, kNarrowCuts, false);
    if (!is_taken) {
      ++told_.incidents_left_out;
      told_.findings_left_out += findings_of(incident).size();
    }
  }
  Told take() { return std::move(told_); }

 private:
  [[nodiscard]] const std::vector<const SavedFinding*>& findings_of(const Incident& incident) const {
    static const std::vector<const SavedFinding*> none;
    const auto found = findings_.find(incident.id);
    return found == findings_.end() ? none : found->second;
  }

  // whole: with all its findings or not at all.
  bool add(const Incident& incident, const Cuts& cuts, bool whole) {
    Incident cut = short_incident(incident, cuts);
    std::size_t bytes = bytes_of(cut, api::write_incident);
    if (bytes > left_) return false;
    std::vector<SavedFinding> kept;
    for (const SavedFinding* finding : findings_of(incident)) {
      SavedFinding one = *finding;
      one.finding = short_finding(std::move(one.finding), cuts);
      const std::size_t more = bytes_of(one, write_saved_finding);
      if (bytes + more > left_) {
        if (whole || kept.empty()) return false;  // an incident without a finding would be closed
        break;
      }
      bytes += more;
      kept.push_back(std::move(one));
    }
    left_ -= bytes;
    told_.findings_left_out += findings_of(incident).size() - kept.size();
    told_.incidents.push_back(std::move(cut));
    std::ranges::move(kept, std::back_inserter(told_.findings));
    return true;
  }

  std::map<std::string, std::vector<const SavedFinding*>, std::less<>> findings_;  // by incident
  std::size_t left_ = kIncidentBytes;
  Told told_;
};

std::vector<const Incident*> worst_first(const ReportInput& input) {
  std::vector<const Incident*> order;
  for (const Incident& incident : input.saved.incidents)
    order.push_back(&incident);
  const auto evicts = [&input](const Incident& incident) {
    return std::ranges::find(input.written.evicting, incident.id, &incidents::EvictingIncident::id) !=
           input.written.evicting.end();
  };
  std::ranges::stable_sort(order, {}, [&evicts](const Incident* one) {
    return std::tuple(!evicts(*one), one->injected, one->health != Health::failed,
                      one->health != Health::degraded, -one->opened.time_since_epoch().count(),
                      std::string_view(one->id));
  });
  return order;
}

void write_metadata(JsonWriter& out, const ReportInput& input) {
  out.word("apiVersion", kReportApiVersion);
  out.word("kind", kReportKind);
  out.begin_object("metadata");
  out.word("name", input.snapshot.node);
  out.word("namespace", input.name_space);
  if (!input.node_uid.empty()) {
    out.begin_list("ownerReferences");
    out.begin_object();
    out.word("apiVersion", "v1");
    out.word("kind", "Node");
    out.word("name", input.snapshot.node);
    out.word("uid", input.node_uid);
    out.end_object();
    out.end_list();
  }
  out.end_object();
}

void write_coverage(JsonWriter& out, const Coverage& coverage) {
  out.begin_object("coverage");
  out.integer("looked", coverage.looked);
  out.integer("of", coverage.of);
  out.word("summary", std::to_string(coverage.looked) + " of " + std::to_string(coverage.of));
  auto rights = coverage.missing_rights;
  rights.resize(std::min(rights.size(), kMaxMissingRights));
  out.words("missingRights", rights);
  out.end_object();
}

void write_written(JsonWriter& out, const ReportInput& input) {
  const incidents::WrittenVerdict& written = input.written;
  out.begin_object("written");
  out.word_if_any("verdict", to_string(written.word));
  out.word_if_any("why", input.why_evicted);
  out.begin_list("evicting");
  const std::size_t count = std::min(written.evicting.size(), incidents::kMaxEvictingKept);
  for (const incidents::EvictingIncident& one : std::span(written.evicting).first(count)) {
    out.begin_object();
    out.word("incident", one.id);
    if (one.closed) out.time("closed", *one.closed);
    out.flag("acknowledged", one.is_acknowledged);
    out.end_object();
  }
  out.end_list();
  out.end_object();
}

void write_incidents(JsonWriter& out, const ReportInput& input) {
  Choice choice(input.saved);
  const auto order = worst_first(input);
  for (const Incident* incident : order)
    choice.add(*incident);
  const Told told = choice.take();
  if (!order.empty() && !order.front()->injected)
    out.word("worstIncident", short_text(order.front()->summary, kLongestWorst));
  else
    out.word_if_any("worstIncident", short_text(input.why_evicted, kLongestWorst));
  out.begin_list("incidents");
  for (const Incident& incident : told.incidents)
    api::write_incident(out, incident);
  out.end_list();
  write_left_out(out, "incidentsLeftOut", told.incidents_left_out);
  out.begin_list("findings");
  for (const SavedFinding& finding : told.findings)
    write_saved_finding(out, finding);
  out.end_list();
  write_left_out(out, "findingsLeftOut", told.findings_left_out);
  out.count("nextIncident", input.saved.next_incident);
}

std::vector<PassRecord> newest_first(std::span<const PassRecord> records) {
  std::vector<PassRecord> order(records.begin(), records.end());
  std::ranges::stable_sort(order, {}, [](const PassRecord& one) {
    return std::tuple(-one.time.time_since_epoch().count(), std::string_view(one.gpu_uuid),
                      std::string_view(one.test));
  });
  return order;
}

void write_status(JsonWriter& out, const ReportInput& input) {
  const NodeSnapshot& snapshot = input.snapshot;
  out.begin_object("status");
  out.time("observedAt", snapshot.time);
  out.word("agentVersion", logging::build_info().version);
  out.word("bootId", snapshot.boot_id);
  out.word("profile", snapshot.profile);
  out.flag("simulated", snapshot.simulated);
  out.word("health", to_string(snapshot.health));
  out.word_if_any("verdict", to_string(snapshot.verdict));
  write_written(out, input);
  write_coverage(out, snapshot.coverage);
  write_left_out(out, "checksLeftOut", write_list(out, "checks", snapshot.results, kCheckBytes, write_check));
  write_left_out(out, "gpusLeftOut", write_list(out, "gpus", gpus_of(snapshot), kGpuBytes, write_gpu));
  write_incidents(out, input);
  write_left_out(
      out, "passRecordsLeftOut",
      write_list(out, "passRecords", newest_first(input.pass_records), kPassRecordBytes, write_pass_record));
  out.end_object();
}

// One step through a JSON text: a string with its quotes, or one other character.
std::string_view next_token(std::string_view& text) {
  std::size_t length = 1;
  if (text.front() == '"') {
    while (length < text.size() && text[length] != '"')
      length += text[length] == '\\' ? 2U : 1U;
    length = std::min(length + 1, text.size());
  }
  const std::string_view token = text.substr(0, length);
  text.remove_prefix(length);
  return token;
}

// "2026-11-21T03:04:05.678Z" with its quotes.
bool is_time(std::string_view token) {
  return token.size() == 26 && parse_time(token.substr(1, 24)).has_value();
}

}  // namespace

std::string report_path(std::string_view name_space, std::string_view node) {
  std::string path = "/apis/" + std::string(kReportApiVersion) + "/namespaces/";
  return path.append(name_space).append("/nodehealthreports/").append(node);
}

std::string report_text(const ReportInput& input) {
  JsonWriter out;
  out.begin_object();
  write_metadata(out, input);
  write_status(out, input);
  out.end_object();
  return out.take();
}

bool is_news(std::string_view before, std::string_view after) {
  std::string_view name;  // of the value that comes
  while (!before.empty() && !after.empty()) {
    const std::string_view one = next_token(before);
    const std::string_view other = next_token(after);
    const bool is_round_by_round = name == "\"stateWords\"" || (is_time(one) && is_time(other));
    if (one != other && !is_round_by_round) return true;
    if (one != ":") name = one;
  }
  return before.empty() != after.empty();
}

}  // namespace autopilot::report
