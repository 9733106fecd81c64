// SPDX-License-Identifier: Apache-2.0
#include "host/diagnostic_results/earlier_rates.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace autopilot::host {
namespace {

// Empty: of what may be another one the next time.
std::string of_whom(const Subject& subject, std::string_view gpus) {
  return std::string(subject.kind == SubjectKind::host ? gpus : std::string_view(subject.uuid));
}

std::optional<double> rate_of(const Observation& found, std::string_view gpus) {
  const bool is_rate = found.unit == "gigabytes_per_second" || found.unit == "teraflops";
  if (!is_rate || !found.value || of_whom(found.subject, gpus).empty()) return std::nullopt;
  return as_number(*found.value);
}

}  // namespace

void EarlierRates::add(const std::string& check, const Observation& found, std::string_view gpus) {
  const auto rate = rate_of(found, gpus);
  if (!rate) return;
  const Key key{check, of_whom(found.subject, gpus), std::string(found.name)};
  if (last_.size() >= kMost && !last_.contains(key)) last_.clear();
  std::deque<double>& last = last_[key];
  last.push_back(*rate);
  if (last.size() > kKept) last.pop_front();
}

std::optional<double> EarlierRates::usual(const std::string& check, const Observation& found,
                                          std::string_view gpus) const {
  if (!rate_of(found, gpus)) return std::nullopt;
  const auto known = last_.find({check, of_whom(found.subject, gpus), std::string(found.name)});
  if (known == last_.end() || known->second.size() < kFewest) return std::nullopt;
  std::vector<double> best(known->second.begin(), known->second.end());
  std::ranges::sort(best, std::greater<>{});
  return best[std::min(best.size(), kBest) / 2];
}

}  // namespace autopilot::host
