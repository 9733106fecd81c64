// SPDX-License-Identifier: Apache-2.0
#include "cli/output/gpu_identities.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "checks/gpu/gpu_check.hpp"
#include "cli/output/phrases.hpp"

namespace autopilot::cli {
namespace {

// The newest value of one kind, and its time.
template <class Value>
struct Newest {
  Value value{};
  WallTime time{};

  void see(Value seen, WallTime when) {
    if (when < time) return;
    value = std::move(seen);
    time = when;
  }
};

struct GpuSightings {
  Newest<std::optional<int>> index;
  Newest<std::string> model;
  Newest<std::string> serial;
};

class IdentityReader {
 public:
  explicit IdentityReader(const NodeSnapshot& snapshot) {
    for (const CheckResult& result : snapshot.results)
      for (const Observation& observation : result.observations)
        see(observation);
    // An index in a finding is as old as its first run: any observation is better.
    for (const CheckResult& result : snapshot.results)
      for (const Finding& finding : result.findings)
        see_stored(finding.subject);
    for (const Incident& incident : snapshot.incidents)
      see_stored(incident.blamed);
  }

  [[nodiscard]] GpuIdentities take() {
    GpuIdentities identities;
    for (auto& [address, seen] : gpus_) {
      GpuIdentity& gpu = identities[address];
      gpu.model = std::move(seen.model.value);
      gpu.serial = std::move(seen.serial.value);
      gpu.is_lost = is_lost(seen);
      if (!is_taken(address, seen)) gpu.index = seen.index.value;
    }
    return identities;
  }

 private:
  void see(const Observation& observation) {
    if (observation.name == checks::kDriverGpuCount)
      listed_ = std::max(listed_.value_or(WallTime{}), observation.time.wall);
    const Subject& subject = observation.subject;
    if (subject.kind != SubjectKind::gpu) return;
    const WallTime when = observation.time.wall;
    GpuSightings& gpu = gpus_[subject.key];
    if (subject.index) gpu.index.see(subject.index, when);
    if (!subject.serial.empty()) gpu.serial.see(std::string(subject.serial), when);
    if (observation.name == checks::kGpuModel && observation.value)
      gpu.model.see(to_string(*observation.value), when);
  }

  void see_stored(const Subject& subject) {
    if (subject.kind != SubjectKind::gpu) return;
    GpuSightings& gpu = gpus_[subject.key];
    if (!gpu.index.value) gpu.index.see(subject.index, WallTime{});
    if (gpu.serial.value.empty()) gpu.serial.see(std::string(subject.serial), WallTime{});
  }

  [[nodiscard]] bool is_lost(const GpuSightings& gpu) const {
    return listed_ && (!gpu.index.value || gpu.index.time < *listed_);
  }

  // Another GPU has the index, and its observation is not older. Of two of one age, neither gets the index.
  [[nodiscard]] bool is_taken(const std::string& address, const GpuSightings& gpu) const {
    const auto rank = [this](const GpuSightings& one) { return std::tuple(!is_lost(one), one.index.time); };
    return std::ranges::any_of(gpus_, [&](const auto& other) {
      return other.first != address && other.second.index.value == gpu.index.value &&
             rank(other.second) >= rank(gpu);
    });
  }

  std::map<std::string, GpuSightings> gpus_;
  std::optional<WallTime> listed_;  // when the driver listed its GPUs last
};

// Replaces "GPU ADDRESS" and "GPU 3 (ADDRESS)", whatever the number, by `name`.
std::string with_gpu_name(std::string text, const std::string& address, const std::string& name) {
  constexpr std::string_view kNoun = "GPU ";
  if (address.empty()) return text;
  for (std::size_t at = text.find(address); at != std::string::npos; at = text.find(address, at)) {
    std::size_t begin = at;
    std::size_t end = at + address.size();
    if (begin >= 2 && text.compare(begin - 2, 2, " (") == 0 && end < text.size() && text[end] == ')') {
      const std::size_t digits = text.find_last_not_of("0123456789", begin - 3);
      if (digits != std::string::npos && digits + 1 < begin - 2) {
        begin = digits + 1;
        ++end;
      }
    }
    if (begin < kNoun.size() || text.compare(begin - kNoun.size(), kNoun.size(), kNoun) != 0) {
      at += address.size();
      continue;
    }
    begin -= kNoun.size();
    text.replace(begin, end - begin, name);
    at = begin + name.size();
  }
  return text;
}

}  // namespace

GpuIdentities gpu_identities(const NodeSnapshot& snapshot) {
  return IdentityReader(snapshot).take();
}

std::string PlaceNames::full(const Subject& subject) const {
  if (subject.kind == SubjectKind::nvlink) return link(subject);
  return subject_text(with_index(subject));
}

std::string PlaceNames::brief(const Subject& subject) const {
  const Subject known = with_index(subject);
  return known.kind == SubjectKind::gpu && known.index ? "GPU " + std::to_string(*known.index)
                                                       : full(subject);
}

std::string PlaceNames::sentence(const Subject& subject, const std::string& message) const {
  std::string text = message;
  for (const auto& [address, gpu] : gpus_) {
    Subject named{SubjectKind::gpu, address, gpu.index, {}, {}};
    text = with_gpu_name(std::move(text), address, subject_text(named));
  }
  const std::string name = full(subject);
  if (name.empty() || text.find(name) != std::string::npos || text.find(subject.key) != std::string::npos)
    return text;
  return name + ": " + text;
}

Subject PlaceNames::with_index(Subject subject) const {
  const auto found = gpus_.find(subject.key);
  if (subject.kind == SubjectKind::gpu && found != gpus_.end()) subject.index = found->second.index;
  return subject;
}

std::string PlaceNames::link(const Subject& subject) const {
  const auto slash = subject.key.rfind('/');
  const auto gpu = slash == std::string::npos ? gpus_.end() : gpus_.find(subject.key.substr(0, slash));
  if (gpu == gpus_.end() || !gpu->second.index) return subject_text(subject);
  return "NVLink " + subject.key.substr(slash + 1) + " of GPU " + std::to_string(*gpu->second.index);
}

}  // namespace autopilot::cli
