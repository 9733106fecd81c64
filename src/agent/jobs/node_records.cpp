// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/node_records.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/observation.hpp"
#include "core/parse.hpp"

namespace autopilot::agent {
namespace {

constexpr std::array<std::string_view, 3> kDownReasons{"link_down", "ib_port_down", "efa_port_down"};

bool states_port_down(std::string_view reason) {
  return std::ranges::find(kDownReasons, reason) != kDownReasons.end();
}

// "mlx5_0" of "mlx5_0/1"; "0000:3b:00.0" of "0000:3b:00.0/17"
std::string_view before_slash(std::string_view key) {
  return key.substr(0, key.find('/'));
}

std::optional<int> code_of(const Event& event) {
  const Value* value = find_attribute(event.details, "value");
  const auto* code = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  if (code == nullptr || *code < 1 || *code > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(*code);
}

jobs::LinkRecord link_change(WallTime time, const std::string& node, std::string_view nic, bool is_up) {
  return {.time = time, .node = node, .nic = std::string(nic), .is_up = is_up};
}

}  // namespace

void NodeRecords::learn_gpus(const NodeSnapshot& snapshot) {
  for (const CheckResult& result : snapshot.results)
    for (const Finding& finding : result.findings)
      if (finding.subject.kind == SubjectKind::gpu && finding.subject.index)
        gpus_[finding.subject.key] = *finding.subject.index;
  for (const CheckResult& result : snapshot.results)
    for (const Observation& observation : result.observations)
      if (observation.subject.kind == SubjectKind::gpu && observation.subject.index)
        gpus_[observation.subject.key] = *observation.subject.index;
}

std::string NodeRecords::subject_of(const Subject& subject) const {
  switch (subject.kind) {
    case SubjectKind::gpu:
    case SubjectKind::gpu_instance:
    case SubjectKind::nvlink: {
      if (subject.kind == SubjectKind::gpu && subject.index) return "gpu/" + std::to_string(*subject.index);
      const auto found = gpus_.find(before_slash(subject.key));
      return found == gpus_.end() ? "host" : "gpu/" + std::to_string(found->second);
    }
    case SubjectKind::nic_port:
      if (is_port_at_node(subject)) return {};
      return "nic/" + std::string(before_slash(subject.key));
    case SubjectKind::nvswitch:
    case SubjectKind::disk:
    case SubjectKind::mount:
    case SubjectKind::host:
      return "host";
    case SubjectKind::link:
    case SubjectKind::peer:
    case SubjectKind::process:
    case SubjectKind::pod:
    case SubjectKind::job:
    case SubjectKind::domain:
      break;
  }
  return {};
}

NodeRecords::Findings NodeRecords::findings_of(const NodeSnapshot& snapshot) const {
  Findings found;
  for (const CheckResult& result : snapshot.results)
    for (const Finding& finding : result.findings) {
      const bool is_bad = finding.health == Health::degraded || finding.health == Health::failed;
      std::string subject = is_bad && !finding.injected ? subject_of(finding.subject) : std::string();
      if (subject.empty() || found.size() >= kMostFindings) continue;
      const Open open{finding.health, finding.since};
      Open& held =
          found.try_emplace(Key{result.check, std::move(subject), finding.reason}, open).first->second;
      if (held.health < open.health) held = open;
      if (held.health == open.health) held.since = std::min(held.since, open.since);
    }
  return found;
}

void NodeRecords::state(const Key& key, const Open& held, bool is_new, WallTime now,
                        std::vector<jobs::Record>& records) const {
  const auto& [check, subject, reason] = key;
  const bool has_begin = is_new && held.since != WallTime{} && held.since < now;
  records.emplace_back(
      jobs::NodeFindingRecord{.time = now,
                              .node = node_,
                              .subject = subject,
                              .check = check,
                              .reason = reason,
                              .health = held.health,
                              .since = has_begin ? std::optional(held.since) : std::nullopt});
  const bool was_down = has_begin && held.since < now - kLatePort;
  if (states_port_down(reason) && subject.starts_with("nic/") && !was_down)
    records.emplace_back(link_change(now, node_, subject.substr(4), held.health == Health::healthy));
}

std::vector<jobs::Record> NodeRecords::take(const NodeSnapshot& snapshot) {
  learn_gpus(snapshot);
  std::vector<jobs::Record> records;
  Findings now = findings_of(snapshot);
  for (const auto& [key, held] : now) {
    const auto before = open_.find(key);
    const bool is_new = before == open_.end();
    if (is_new || before->second.health != held.health) state(key, held, is_new, snapshot.time, records);
  }
  for (const auto& [key, held] : open_)
    if (!now.contains(key)) state(key, {.health = Health::healthy}, false, snapshot.time, records);
  open_ = std::move(now);
  return records;
}

std::vector<jobs::Record> NodeRecords::take(const std::vector<Event>& events) const {
  std::vector<jobs::Record> records;
  for (const Event& event : events) {
    if (event.kind != EventKind::kernel_record || event.reason != "xid" || event.injected) continue;
    const auto code = code_of(event);
    if (!code) continue;
    jobs::XidRecord record{
        .time = event.time, .node = node_, .xid = *code, .text = to_printable(event.message, 400)};
    if (const std::string subject = subject_of(event.subject); subject.starts_with("gpu/"))
      record.gpu = parse_number<int>(std::string_view(subject).substr(4));
    records.emplace_back(std::move(record));
  }
  return records;
}

}  // namespace autopilot::agent
