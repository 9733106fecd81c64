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

std::vector<jobs::Record> NodeRecords::take(const NodeSnapshot& snapshot) {
  learn_gpus(snapshot);
  std::vector<jobs::Record> records;
  std::map<Key, Health> now;
  const auto state = [&](const Key& key, Health health) {
    const auto& [check, subject, reason] = key;
    records.emplace_back(jobs::NodeFindingRecord{.time = snapshot.time,
                                                 .node = node_,
                                                 .subject = subject,
                                                 .check = check,
                                                 .reason = reason,
                                                 .health = health});
    if (states_port_down(reason) && subject.starts_with("nic/"))
      records.emplace_back(link_change(snapshot.time, node_, subject.substr(4), health == Health::healthy));
  };
  for (const CheckResult& result : snapshot.results)
    for (const Finding& finding : result.findings) {
      const bool is_bad = finding.health == Health::degraded || finding.health == Health::failed;
      std::string subject = is_bad && !finding.injected ? subject_of(finding.subject) : std::string();
      if (subject.empty() || now.size() >= kMostFindings) continue;
      const auto [held, is_new] =
          now.emplace(Key{result.check, std::move(subject), finding.reason}, finding.health);
      if (!is_new) held->second = std::max(held->second, finding.health);
    }
  for (const auto& [key, health] : now)
    if (const auto before = open_.find(key); before == open_.end() || before->second != health)
      state(key, health);
  for (const auto& [key, health] : open_)
    if (!now.contains(key)) state(key, Health::healthy);
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
