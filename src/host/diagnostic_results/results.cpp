// SPDX-License-Identifier: Apache-2.0
#include "host/diagnostic_results/results.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/not_started.hpp"

namespace autopilot::host {
namespace {

class NoTestResults final : public TestResults {
 public:
  [[nodiscard]] Result<Observations> last(std::string_view check) const override {
    // Tests between nodes need a cluster, not only a command on this node.
    const bool is_local = !check.starts_with("network.");
    return fail(Errc::unsupported,
                std::string(kNotStarted) +
                    (is_local ? "autopilot test " + std::string(check) : "see docs/network-tests.md"));
  }
  [[nodiscard]] std::vector<std::string> checks() const override { return {}; }
};

// New observations of a GPU replace all earlier observations of that GPU, also those of other names. An
// observation of the host replaces only the host's observation of the same name.
bool replaces(const Observation& now, const Observation& old) {
  return now.subject == old.subject && (now.subject != host_subject() || now.name == old.name);
}

// True for a link between two GPUs that were tested anew.
bool is_link_of(const Observations& found, const Subject& link) {
  if (link.kind != SubjectKind::link) return false;
  const auto has = [&found](std::string_view key) {
    return std::ranges::any_of(found, [key](const Observation& one) {
      return one.subject.kind == SubjectKind::gpu && one.subject.key == key;
    });
  };
  return has(ends_of(link).first) && has(ends_of(link).second);
}

// The GPUs that took part: "0000:1b:00.0 0000:43:00.0 ".
std::string gpus_of(const Observations& found) {
  std::set<std::string_view> gpus;
  for (const Observation& one : found)
    if (one.subject.kind == SubjectKind::gpu) gpus.insert(one.subject.key);
  std::string text;
  for (const std::string_view gpu : gpus)
    text.append(gpu).append(" ");
  return text;
}

}  // namespace

const TestResults& TestResults::none() {
  static const NoTestResults none;
  return none;
}

void TestBoard::put(const std::string& check, Result<Observations> found) {
  const std::lock_guard lock(mutex_);
  found_.insert_or_assign(check, std::move(found));
}

Observations TestBoard::add(const std::string& check, Observations found) {
  const std::string gpus = gpus_of(found);
  const std::lock_guard lock(mutex_);
  for (Observation& now : found) {
    if (const auto usual = earlier_.usual(check, now, gpus))
      now.attributes.emplace_back(kUsualBefore, *usual);
    earlier_.add(check, now, gpus);
  }
  const auto known = found_.find(check);
  Observations all;
  if (known != found_.end() && known->second)
    for (const Observation& old : *known->second)
      if (!is_link_of(found, old.subject) &&
          std::ranges::none_of(found, [&old](const Observation& now) { return replaces(now, old); }))
        all.push_back(old);
  all.insert(all.end(), found.begin(), found.end());
  found_.insert_or_assign(check, std::move(all));
  return found;
}

void TestBoard::remember(const std::string& check, const Observations& found) {
  const std::string gpus = gpus_of(found);
  const std::lock_guard lock(mutex_);
  for (const Observation& one : found)
    earlier_.add(check, one, gpus);
}

Result<Observations> TestBoard::last(std::string_view check) const {
  const std::lock_guard lock(mutex_);
  const auto found = found_.find(check);
  return found == found_.end() ? none().last(check) : found->second;
}

std::vector<std::string> TestBoard::checks() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  for (const auto& [id, found] : found_)
    ids.push_back(id);
  return ids;
}

}  // namespace autopilot::host
