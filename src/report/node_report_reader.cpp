// SPDX-License-Identifier: Apache-2.0
#include "report/node_report_reader.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "api/wire.hpp"
#include "incidents/finding_state.hpp"
#include "report/node_report.hpp"

namespace autopilot::report {
namespace {

using api::JsonObject;
using incidents::EvictingIncident;
using incidents::SavedFinding;
using incidents::WrittenVerdict;

// Limits above the content of a report of kMaxReportBytes, and above the length of our own words.
constexpr std::size_t kMaxIncidents = 512;
constexpr std::size_t kMaxFindings = 1024;
constexpr std::size_t kMaxPassRecords = 1024;
constexpr std::size_t kLongestWord = 253;
constexpr std::size_t kLongestState = 512;
// A number of an incident that can be counted on from.
constexpr std::uint64_t kMaxNumber = 100'000'000'000'000;
constexpr std::size_t kMaxDigits = 15;

std::optional<std::string> parse_kind(std::string_view word) {
  return word == kReportKind ? std::optional(std::string(word)) : std::nullopt;
}

std::optional<std::string> parse_api_version(std::string_view word) {
  return word == kReportApiVersion ? std::optional(std::string(word)) : std::nullopt;
}

std::string read_name(const JsonObject& metadata) {
  return metadata.word("name");
}

EvictingIncident read_evicting(const JsonObject& object) {
  return {object.word("incident"), object.time_if_any("closed"), object.flag("acknowledged")};
}

WrittenVerdict read_written(const JsonObject& object) {
  WrittenVerdict written;
  if (object.has("verdict")) written.word = object.choice("verdict", parse_verdict);
  if (object.has("evicting")) written.evicting = object.list("evicting", read_evicting);
  return written;
}

SavedFinding read_saved_finding(const JsonObject& object) {
  SavedFinding saved;
  saved.check = object.word("check");
  saved.boot_id = object.word("bootId");
  saved.state = object.word("stateWords");
  saved.finding = object.object("finding", api::read_finding);
  return saved;
}

PassRecord read_pass_record(const JsonObject& object) {
  PassRecord record;
  record.gpu_uuid = object.word("gpuUuid");
  record.test = object.word("test");
  record.time = object.time("time");
  record.boot_id = object.word("bootId");
  record.operation = object.word("operation");
  return record;
}

NodeReport read_status(const JsonObject& object) {
  NodeReport report;
  report.boot_id = object.word("bootId");
  report.simulated = object.flag("simulated");
  report.observed_at = object.time("observedAt");
  if (object.has("written")) report.written = object.object("written", read_written);
  if (object.has("incidents")) report.saved.incidents = object.list("incidents", api::read_incident);
  if (object.has("findings")) report.saved.findings = object.list("findings", read_saved_finding);
  if (object.has("nextIncident")) report.saved.next_incident = object.count("nextIncident");
  if (object.has("passRecords")) report.pass_records = object.list("passRecords", read_pass_record);
  return report;
}

NodeReport read_report(const JsonObject& object) {
  static_cast<void>(object.choice("apiVersion", parse_api_version));
  static_cast<void>(object.choice("kind", parse_kind));
  auto report = object.object("status", read_status);
  report.node = object.object("metadata", read_name);
  return report;
}

// --- limits beyond the types ---

Status refuse(const std::string& place, const std::string& why) {
  return fail(Errc::malformed, place + ": " + why);
}

std::string item(std::string_view list, std::size_t index) {
  return "status." + std::string(list) + "[" + std::to_string(index) + "]";
}

Status check_count(std::string_view list, std::size_t count, std::size_t limit) {
  if (count <= limit) return {};
  return refuse("status." + std::string(list), "more than " + std::to_string(limit) + " entries");
}

// A name of one word: it is used in paths, labels and lines of text.
Status check_word(const std::string& word, const std::string& place) {
  const bool is_word = !word.empty() && word.size() <= kLongestWord && std::ranges::all_of(word, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
  });
  if (is_word) return {};
  return refuse(place, "expected one word of letters, digits, - . and _");
}

// New ids continue from its number.
Status check_incident_id(const std::string& id, const std::string& place) {
  TRY_STATUS(check_word(id, place));
  const std::size_t dash = id.rfind('-');
  if (dash != std::string::npos && id.size() - dash - 1 > kMaxDigits)
    return refuse(place, "its number is too large");
  return {};
}

Status check_incident(const Incident& incident, const std::string& place) {
  TRY_STATUS(check_incident_id(incident.id, place + ".id"));
  TRY_STATUS(check_word(incident.check, place + ".check"));
  if (incident.members.size() > Incident::kMaxMembers)
    return refuse(place + ".members", "more than " + std::to_string(Incident::kMaxMembers) + " entries");
  if (incident.gpu_users.size() > Incident::kMaxGpuUsers)
    return refuse(place + ".workloads", "more than " + std::to_string(Incident::kMaxGpuUsers) + " entries");
  if (incident.confidence < 0 || incident.confidence > 1)
    return refuse(place + ".confidence", "expected 0 to 1");
  return {};
}

Status check_incidents(const std::vector<Incident>& incidents) {
  TRY_STATUS(check_count("incidents", incidents.size(), kMaxIncidents));
  for (std::size_t i = 0; i < incidents.size(); ++i)
    TRY_STATUS(check_incident(incidents[i], item("incidents", i)));
  return {};
}

// Checks only the members with which the state machine calculates.
Status check_state(const SavedFinding& finding, const std::string& place) {
  if (finding.state.size() > kLongestState) return refuse(place, "too long");
  const auto memory = incidents::parse_memory(finding.state);
  if (!memory) return {};  // its clear rule begins anew
  // What is older than this boot has a time before its beginning.
  constexpr MonoTime kEarliest{Duration::min() / 2};
  for (const Instant& time : {memory->reported, memory->fresh})
    if (time.wall < WallTime{} || time.mono < kEarliest) return refuse(place, "a time out of range");
  return check_incident_id(memory->incident, place);
}

Status check_findings(const std::vector<SavedFinding>& findings) {
  TRY_STATUS(check_count("findings", findings.size(), kMaxFindings));
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const std::string place = item("findings", i);
    TRY_STATUS(check_word(findings[i].check, place + ".check"));
    if (!findings[i].boot_id.empty()) TRY_STATUS(check_word(findings[i].boot_id, place + ".bootId"));
    TRY_STATUS(check_state(findings[i], place + ".stateWords"));
  }
  return {};
}

Status check_written(const WrittenVerdict& written) {
  TRY_STATUS(check_count("written.evicting", written.evicting.size(), incidents::kMaxEvictingKept));
  for (std::size_t i = 0; i < written.evicting.size(); ++i)
    TRY_STATUS(check_word(written.evicting[i].id, item("written.evicting", i) + ".incident"));
  return {};
}

Status check_pass_records(const std::vector<PassRecord>& records) {
  TRY_STATUS(check_count("passRecords", records.size(), kMaxPassRecords));
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string place = item("passRecords", i);
    TRY_STATUS(check_word(records[i].gpu_uuid, place + ".gpuUuid"));
    TRY_STATUS(check_word(records[i].test, place + ".test"));
  }
  return {};
}

Status check(const NodeReport& report) {
  TRY_STATUS(check_word(report.node, "metadata.name"));
  if (!report.boot_id.empty()) TRY_STATUS(check_word(report.boot_id, "status.bootId"));
  TRY_STATUS(check_incidents(report.saved.incidents));
  TRY_STATUS(check_findings(report.saved.findings));
  if (report.saved.next_incident > kMaxNumber) return refuse("status.nextIncident", "too large");
  if (report.written) TRY_STATUS(check_written(*report.written));
  return check_pass_records(report.pass_records);
}

}  // namespace

Result<NodeReport> parse_report(std::string_view json) {
  if (json.size() > kLargestObject)
    return fail(Errc::malformed, "larger than " + std::to_string(kLargestObject) + " bytes");
  auto report = TRY(api::read_text(json, read_report));
  TRY_STATUS(check(report));
  std::erase_if(report.saved.incidents,
                [](const Incident& one) { return one.state == IncidentState::closed; });
  return report;
}

}  // namespace autopilot::report
