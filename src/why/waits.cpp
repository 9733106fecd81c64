// SPDX-License-Identifier: Apache-2.0
#include "why/waits.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/clock.hpp"
#include "incidents/devices.hpp"
#include "incidents/evidence.hpp"

namespace autopilot::why {
namespace {

// The kernel reports a blocked process minutes after its disk or file server went silent.
constexpr Duration kReportedWithin = std::chrono::minutes{15};

// Rules of file servers, by what waits for them.
struct ServerRules {
  std::string_view waits_for;
  std::string_view prefix;
};
constexpr std::array<ServerRules, 5> kServers{{{waits::kNfs, "filesystem.nfs"},
                                               {waits::kLustre, "filesystem.lustre"},
                                               {waits::kCeph, "filesystem.ceph"},
                                               {waits::kFuse, "filesystem.weka"},
                                               {waits::kFuse, "filesystem.gpfs"}}};

bool is_of_storage(const std::string& rule) {
  return rule.starts_with("filesystem.") || rule.starts_with("storage.");
}

bool is_of_server(const std::string& rule) {
  return std::ranges::any_of(kServers,
                             [&rule](const ServerRules& one) { return rule.starts_with(one.prefix); });
}

bool is_of_gpu(const Evidence& error, const std::string& rule) {
  const SubjectKind kind = incidents::device_of(error.finding.subject).kind;
  return kind == SubjectKind::gpu || kind == SubjectKind::nvswitch || rule.starts_with("gpu.");
}

bool is_of_memory(const Evidence& error) {
  return error.kind == Kind::killed_for_memory || error.finding.reason == "memory_pressure";
}

bool is_what_it_waits_for(const Evidence& error, std::string_view waits_for) {
  const std::string rule = incidents::word_of(error.finding, "rule");
  if (waits_for.empty()) return is_of_storage(rule);
  if (waits_for == waits::kDisk) return is_of_storage(rule) && !is_of_server(rule);
  if (waits_for == waits::kGpu) return error.kind != Kind::blocked && is_of_gpu(error, rule);
  if (waits_for == waits::kAdapter)
    return rule.starts_with("network.") || error.finding.subject.kind == SubjectKind::nic_port;
  if (waits_for == waits::kMemory) return is_of_memory(error);
  return std::ranges::any_of(kServers, [&](const ServerRules& one) {
    return one.waits_for == waits_for && rule.starts_with(one.prefix);
  });
}

}  // namespace

bool may_block(const Evidence& error, const Evidence& blocked) {
  if (blocked.kind != Kind::blocked || error.boots_ago != blocked.boots_ago) return false;
  if (!has_time(error) || !has_time(blocked)) return false;
  const bool is_before = error.finding.since <= blocked.finding.since &&
                         blocked.finding.since <= last_of(error) + kReportedWithin;
  return is_before && is_what_it_waits_for(error, incidents::word_of(blocked.finding, kWaitsFor));
}

}  // namespace autopilot::why
