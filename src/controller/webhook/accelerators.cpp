// SPDX-License-Identifier: Apache-2.0
#include "controller/webhook/accelerators.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "controller/webhook/json_lookup.hpp"
#include "core/parse.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

// Of one container. Sums of as many containers as a review can have stay exact.
constexpr std::int64_t kMostDevices = std::int64_t{1} << 31;

bool fits(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

// A device is asked for by its limit, a text ("8") or a number. What is no whole number of them is refused
// after us.
Counts devices_of(const json::object& container, const AcceleratorNames& names) {
  Counts counts;
  const json::object* limits = object_at(container, {"resources", "limits"});
  if (limits == nullptr) return counts;
  for (const auto& [name, amount] : *limits) {
    if (!is_accelerator(name, names)) continue;
    const auto count =
        amount.is_string() ? parse_number<std::int64_t>(text_of(amount)) : number_at(*limits, {name});
    if (count && *count > 0) counts.emplace(name, std::min(*count, kMostDevices));
  }
  return counts;
}

void add(Counts& to, const Counts& more) {
  for (const auto& [name, count] : more)
    to[name] += count;
}

void raise(Counts& to, const Counts& least) {
  for (const auto& [name, count] : least)
    to[name] = std::max(to[name], count);
}

void add_claims(const json::object& container, std::set<ClaimUse>& claims) {
  for (const json::object* use : objects_at(container, {"resources", "claims"}))
    claims.insert({std::string(text_at(*use, {"name"})), std::string(text_at(*use, {"request"}))});
}

// A container that has all of a claim may not name its requests as well.
std::vector<ClaimUse> each_once(const std::set<ClaimUse>& claims) {
  std::vector<ClaimUse> uses;
  for (const ClaimUse& use : claims)
    if (use.request.empty() || !claims.contains({use.claim, ""})) uses.push_back(use);
  return uses;
}

}  // namespace

bool is_accelerator(std::string_view resource, const AcceleratorNames& names) {
  return std::ranges::any_of(names.resources,
                             [&](const std::string& pattern) { return fits(pattern, resource); });
}

bool asks_for_accelerators(const json::object& container, const AcceleratorNames& names) {
  return (names.has_claims && !objects_at(container, {"resources", "claims"}).empty()) ||
         !devices_of(container, names).empty();
}

AcceleratorNeeds accelerator_needs(const json::object& pod, const AcceleratorNames& names,
                                   std::string_view but) {
  AcceleratorNeeds needs;
  std::set<ClaimUse> claims;
  const auto look_at = [&](const json::object& container) {
    if (names.has_claims) add_claims(container, claims);
    if (needs.container == nullptr && asks_for_accelerators(container, names)) needs.container = &container;
  };
  Counts staying;
  for (const json::object* container : objects_at(pod, {"spec", "containers"})) {
    look_at(*container);
    add(needs.devices, devices_of(*container, names));
  }
  Counts beginning;
  for (const json::object* container : objects_at(pod, {"spec", "initContainers"})) {
    if (text_at(*container, {"name"}) == but) continue;
    look_at(*container);
    Counts together = staying;
    add(together, devices_of(*container, names));
    raise(beginning, together);
    if (text_at(*container, {"restartPolicy"}) == "Always") staying = together;
  }
  add(needs.devices, staying);
  raise(needs.devices, beginning);
  needs.claims = each_once(claims);
  return needs;
}

}  // namespace autopilot::controller
