// SPDX-License-Identifier: Apache-2.0
#include "host/tests/earlier_rates.hpp"

#include <algorithm>
#include <functional>

namespace autopilot::host {
namespace {

std::optional<double> rate_of(const Observation& found) {
  const bool is_rate = found.unit == "gigabytes_per_second" || found.unit == "teraflops";
  if (!is_rate || !found.value || found.subject.uuid.empty()) return std::nullopt;
  return as_number(*found.value);
}

}  // namespace

void EarlierRates::add(const std::string& check, const Observation& found) {
  const auto rate = rate_of(found);
  if (!rate) return;
  const Key key{check, found.subject.uuid, std::string(found.name)};
  if (best_.size() >= kMost && !best_.contains(key)) return;
  std::vector<double>& best = best_[key];
  best.insert(std::ranges::upper_bound(best, *rate, std::greater<>{}), *rate);
  if (best.size() > kKept) best.pop_back();
}

std::optional<double> EarlierRates::usual(const std::string& check, const Observation& found) const {
  if (!rate_of(found)) return std::nullopt;
  const auto known = best_.find({check, found.subject.uuid, std::string(found.name)});
  if (known == best_.end() || known->second.size() < kFewest) return std::nullopt;
  return known->second[known->second.size() / 2];
}

}  // namespace autopilot::host
