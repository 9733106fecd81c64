// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/observation.hpp"
#include "core/subject.hpp"

namespace autopilot::incidents {

// Detects resets of GPUs without a driver record, from the observations of all checks:
// - a check listed a GPU with its state, then did not list it, and a later run of any check reports the state
// `ok`;
// - the state was `lost` or `reset_required`, which only a reset ends, and a later run reports `ok`;
// - a counter decreased that only a reset or a new driver sets back.
// A replaced card is not a reset. A reset between two runs without any of these is not detected. Pure; one
// owner.
class ResetWitness {
 public:
  static constexpr std::size_t kMaxGpus = 256;

  // The GPUs whose reset this run proves, each once.
  [[nodiscard]] std::vector<Subject> note(std::string_view check, const Observations& round);

 private:
  struct Count {
    double value = 0;
    MonoTime time{};
  };
  struct Gpu {
    std::string card;                              // serial, else UUID; empty where unknown
    std::set<std::string, std::less<>> listed_by;  // checks whose last run listed the GPU
    std::optional<MonoTime> gone;                  // last time it was missing, lost, or waiting for a reset
    MonoTime well{};                               // last time with state `ok`
    std::map<std::string, Count, std::less<>> counts;
  };

  [[nodiscard]] Gpu* gpu_of(const Subject& subject);
  [[nodiscard]] static bool note_state(Gpu& gpu, const Observation& state);
  static void set_gone(Gpu& gpu, MonoTime time);
  [[nodiscard]] static bool note_count(Gpu& gpu, const Observation& count);
  void note_absent(std::string_view check, const std::set<Subject>& listed, MonoTime time);

  std::map<Subject, Gpu> gpus_;
};

}  // namespace autopilot::incidents
