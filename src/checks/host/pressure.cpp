// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <string>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPressure = "/proc/pressure";

// What is judged of each resource. Of processors only that somebody waits means anything: all of them at once
// never do.
struct Resource {
  std::string_view name;
  bool is_full;  // everything waited at once, not only somebody
  std::string_view threshold;
  std::string_view reason;
  std::string_view text;
};
constexpr std::array kResources = {
    Resource{"cpu", false, "host.pressure.cpu_some_share", "cpu_pressure",
             "programs waited for a processor for "},
    Resource{"io", true, "host.pressure.io_full_share", "io_pressure", "everything waited for disks for "},
};

std::string name_of(const Resource& resource) {
  return "pressure." + std::string(resource.name) + (resource.is_full ? "_full" : "_some") + "_avg300";
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  std::optional<Error> problem;
  bool is_counted = false;
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
      is_counted = true;
      continue;
    }
    observation.missing = to_string(pressure.error().code);
    if (!problem) problem = pressure.error();
  }
  if (!is_counted) {
    // A kernel without the counters has the other files of the same kind.
    if (problem->code == Errc::not_found && host.files.exists("/proc/loadavg"))
      return fail(Errc::unsupported, "this kernel does not count pressure");
    return fail(*problem);
  }
  observed.witnesses.emplace_back(kPressure);
  return observed;
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  for (const Resource& resource : kResources) {
    const Limit most = limit(input, resource.threshold);
    const auto share = input.history.number(host_subject(), name_of(resource));
    if (!share || *share <= most.value) continue;
    findings.push_back(make_finding(
        input, host_subject(), resource.reason, Health::degraded,
        std::string(resource.text) + percent(*share) + " of the last five minutes", *share, most));
  }
  return findings;
}

}  // namespace

const Check kHostPressure{{.id = "host.pressure",
                           .title = "Waiting for processors and disks",
                           .tags = {"host", "passive"},
                           .period = 60s,
                           .deadline = 5s,
                           .window = 10min,
                           .cost = Cost::cheap,
                           .witnesses = {std::string(kPressure)},
                           .rights = {},
                           .needs_window = false},
                          observe,
                          judge};

}  // namespace autopilot::checks
