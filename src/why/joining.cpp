// SPDX-License-Identifier: Apache-2.0
#include "why/joining.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/value.hpp"
#include "incidents/evidence.hpp"
#include "why/waits.hpp"

namespace autopilot::why {
namespace {

constexpr std::size_t kMaxUsers = 64;

std::string line_of(const Evidence& evidence) {
  return incidents::word_of(evidence.finding, "line");
}

bool is_same_record(const Evidence& a, const Evidence& b) {
  return a.finding.subject == b.finding.subject && code_of(a) == code_of(b) && !line_of(a).empty() &&
         line_of(a) == line_of(b);
}

bool is_asked_for(const Evidence& evidence, const Target& target) {
  return std::ranges::find(target.pids, pid_of(evidence)) != target.pids.end();
}

// A program that ends again and again counts once, except the processes that a person asks about.
bool is_same_process(const Evidence& a, const Evidence& b, const Target& target) {
  if (pid_of(a) == pid_of(b) || pid_of(a) == 0 || pid_of(b) == 0) return true;
  if (is_asked_for(a, target) || is_asked_for(b, target)) return false;
  return !process_of(a).empty() && process_of(a) == process_of(b);
}

// The subject of a line can be the machine although the line names a device or a server.
bool is_same_device(const Evidence& a, const Evidence& b) {
  const auto is_same = [&](std::string_view name) {
    const std::string one = incidents::word_of(a.finding, name);
    const std::string other = incidents::word_of(b.finding, name);
    return one.empty() || other.empty() || one == other;
  };
  return is_same("device") && is_same("server") && is_same(kWaitsFor);
}

bool is_equal(const Evidence& a, const Evidence& b, const Target& target) {
  if (a.boots_ago != b.boots_ago || a.finding.injected != b.finding.injected) return false;
  if (is_same_record(a, b)) return a.source != b.source;
  return is_one_episode(a, b) && a.kind == b.kind && a.finding.reason == b.finding.reason &&
         a.finding.subject == b.finding.subject && code_of(a) == code_of(b) && is_same_device(a, b) &&
         is_same_process(a, b, target);
}

void set_count(Finding& finding, std::int64_t count) {
  std::erase_if(finding.evidence, [](const auto& one) { return one.first == "count"; });
  finding.evidence.emplace_back("count", count);
}

void add_users(std::vector<GpuUser>& known, std::vector<GpuUser> more) {
  for (GpuUser& user : more) {
    const auto is_same = [&user](const GpuUser& one) { return one.is_same(user) && one.owner == user.owner; };
    if (known.size() < kMaxUsers && std::ranges::none_of(known, is_same)) known.push_back(std::move(user));
  }
}

// A finding of a check names values and the device's index, so its sentence is the better one.
void join(Evidence& known, Evidence more) {
  if (known.source == more.source) set_count(known.finding, count_of(known) + count_of(more));
  const bool is_record = known.finding.health == Health::healthy || known.finding.health == Health::unknown;
  Finding& finding = known.finding;
  if (has_time(more) && (!has_time(known) || more.finding.since < finding.since))
    finding.since = more.finding.since;
  finding.last_seen = std::max(finding.last_seen, last_of(more));
  if (is_record && more.finding.health > finding.health) {
    finding.health = more.finding.health;
    finding.message = more.finding.message;
    finding.action = more.finding.action;
  }
  if (more.holds_now && !known.holds_now) finding.message = more.finding.message;
  for (auto& [name, value] : more.finding.evidence)
    if (find_attribute(finding.evidence, name) == nullptr)
      finding.evidence.emplace_back(name, std::move(value));
  if (!finding.subject.index) finding.subject = std::move(more.finding.subject);
  known.holds_now = known.holds_now || more.holds_now;
  add_users(known.users, std::move(more.users));
}

}  // namespace

bool is_one_episode(const Evidence& a, const Evidence& b) {
  constexpr Duration kLongestGap = std::chrono::hours{1};
  if (!has_time(a) || !has_time(b)) return true;
  return a.finding.since <= last_of(b) + kLongestGap && b.finding.since <= last_of(a) + kLongestGap;
}

std::vector<Evidence> joined_evidence(std::vector<Evidence> all, const Target& target) {
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [](const Evidence& one) { return one.finding.since; });
  std::vector<Evidence> known;
  for (Evidence& one : all) {
    const auto same =
        std::ranges::find_if(known, [&](const Evidence& other) { return is_equal(other, one, target); });
    if (same == known.end())
      known.push_back(std::move(one));
    else
      join(*same, std::move(one));
  }
  return known;
}

}  // namespace autopilot::why
