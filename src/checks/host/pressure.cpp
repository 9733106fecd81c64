// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace host_pressure {
namespace {

constexpr std::string_view kPressure = "/proc/pressure";
// A file that every kernel has.
constexpr std::string_view kLoad = "/proc/loadavg";

// For processors only the share in which some tasks waited exists, and a program at its own CPU limit waits
// even on an idle machine: the value is shown, not judged.
struct Resource {
  std::string_view name;
  bool is_full;  // all tasks waited at once, not only some
};
constexpr std::array kResources = {Resource{"cpu", false}, Resource{"io", true}};
constexpr std::string_view kIo = "pressure.io_full_avg300";

std::string name_of(const Resource& resource) {
  return "pressure." + std::string(resource.name) + (resource.is_full ? "_full" : "_some") + "_avg300";
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  std::optional<Error> problem;
  bool is_judged = false;
  for (const Resource& resource : kResources) {
    const auto text = host.files.read(std::string(kPressure) + "/" + std::string(resource.name));
    const auto pressure = text ? host::parse_pressure(*text) : fail(text.error());
    Observation& observation = observed.observations.emplace_back();
    observation.name = name_of(resource);
    observation.source = kPressure;
    observation.unit = "ratio";
    observation.time = request.now;
    if (pressure) {
      observation.value = resource.is_full ? pressure->full.avg300 : pressure->some.avg300;
      is_judged = is_judged || resource.name == "io";
      continue;
    }
    observation.missing = to_string(pressure.error().code);
    if (!problem) problem = pressure.error();
  }
  if (!is_judged) {
    const Error error = problem.value_or(Error{Errc::unavailable, std::string(kPressure)});
    if (error.code == Errc::not_found && host.files.exists(kLoad))
      return fail(Errc::unsupported, "this kernel does not report pressure");
    return fail(error);
  }
  observed.witnesses.emplace_back(kPressure);
  return observed;
}

Findings judge(const JudgeInput& input) {
  const Limit most = limit(input, "host.pressure.io_full_share");
  const auto share = input.history.number(host_subject(), kIo);
  if (!share || *share <= most.value) return {};
  return {make_finding(input, host_subject(), "io_pressure", Health::degraded,
                       "all tasks waited for disks for " + percent(*share) +
                           " of the last five minutes (limit " + percent(most.value) + ")",
                       *share, most)};
}

}  // namespace
}  // namespace host_pressure

const Check kHostPressure = {
    .info = {.id = "host.pressure",
             .title = "Pressure on CPU and disks",
             .tags = {"host", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{5},
             .window = std::chrono::minutes{10},
             .cost = Cost::cheap,
             .witnesses = {std::string(host_pressure::kPressure)},
             .rights = {},
             .needs_window = false},
    .observe = host_pressure::observe,
    .judge = host_pressure::judge,
};

}  // namespace autopilot::checks
