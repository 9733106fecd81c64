// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/result.hpp"
#include "cuda/driver_table.hpp"
#include "machine/description.hpp"
#include "nvml/driver_state.hpp"
#include "scenario/simulation.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::scenario_fuzz {

// Whatever a file holds: an error that names its line, or a timeline whose faults can be laid on a machine at
// any moment.
int run(const std::uint8_t* data, std::size_t size) {
  static const simulator::Machine machine = simulator::builtin_machine("l40s-4").value();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(simulator::nvml::parse_driver_model(text, "nvml.yaml"));
  static_cast<void>(simulator::cuda::parse_driver_table(text, "cuda.yaml"));
  static_cast<void>(simulator::parse_log(text, "kmsg.jsonl"));
  const auto scenario = simulator::parse_scenario(text, "scenario.yaml");
  if (!scenario) {
    AUTOPILOT_ASSERT(scenario.error().what.starts_with("scenario.yaml:"));
    return 0;
  }
  constexpr std::size_t few = 8;
  if (scenario->timeline.size() > few) return 0;
  simulator::Simulation simulation(machine);
  for (const simulator::Fault& fault : scenario->timeline)
    static_cast<void>(simulation.add(fault));
  for (const Duration moment : {Duration{0}, Duration{std::chrono::minutes{1}}, simulation.end()})
    static_cast<void>(simulation.at(moment));
  return 0;
}

}  // namespace autopilot::scenario_fuzz
