// SPDX-License-Identifier: Apache-2.0
#include "host/slurm/scontrol.hpp"

#include <algorithm>
#include <utility>

#include "core/parse.hpp"
#include "host/process/child.hpp"

namespace autopilot::host {
namespace {

constexpr std::size_t kMaxShownOutput = 300;
constexpr RunLimits kScontrolLimits{.output_bytes = 16 * 1024};

// SLURM_CONF names the configuration where it is not in the default place.
std::vector<std::string> environment_of_scontrol() {
  constexpr std::string_view kConfiguration = "SLURM_CONF=";
  std::vector<std::string> environment{"LC_ALL=C"};
  for (std::string& entry : own_environment())
    if (entry.starts_with(kConfiguration)) environment.push_back(std::move(entry));
  return environment;
}

}  // namespace

bool is_slurm_node(std::string_view name) {
  constexpr std::size_t kMaxName = 253;
  const auto is_plain = [](char sign) {
    return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || (sign >= '0' && sign <= '9') ||
           sign == '.' || sign == '-' || sign == '_';
  };
  return !name.empty() && name.size() <= kMaxName && name.front() != '-' &&
         std::ranges::all_of(name, is_plain) && to_lower(name) != "all";
}

std::string scontrol_text(const std::vector<std::string>& arguments) {
  std::string text = "scontrol";
  for (const std::string& argument : arguments)
    text += ' ' + argument;
  return text;
}

Result<std::string> run_scontrol(ChildRunner& runner, const std::string& scontrol,
                                 const std::vector<std::string>& arguments, MonoTime deadline,
                                 const std::stop_token& stop) {
  ChildReport report =
      TRY(runner.run({.program = scontrol, .arguments = arguments, .environment = environment_of_scontrol()},
                     deadline, kScontrolLimits, stop));
  if (report.end == ChildEnd::timed_out)
    return fail(Errc::timed_out, scontrol_text(arguments) + ": no end before its deadline");
  if (report.end != ChildEnd::exited || report.status.code != 0)
    return fail(
        Errc::unavailable,
        scontrol_text(arguments) + ": " + to_string(report.status) + ", " +
            to_printable(trim(report.errors.empty() ? report.output : report.errors), kMaxShownOutput));
  return std::move(report.output);
}

}  // namespace autopilot::host
