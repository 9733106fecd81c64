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

// Resets of GPUs that no driver's record told of, by what the looks of all checks saw together:
// - a check listed a GPU with its state, then the others without it, and a later look of any check found it
//   well;
// - its state was `lost` or `reset_required`, and a later look found it well: nothing but a reset ends that;
// - a counter fell that only a reset or a new driver sets back.
// One card in the place of another is no reset. Pure; one owner. What happened while nobody looked at such
// counters, and left no line in the log, stays unseen.
class ResetWitness {
 public:
  static constexpr std::size_t kMaxGpus = 256;

  // The GPUs of which this round proves a reset, each once.
  [[nodiscard]] std::vector<Subject> note(std::string_view check, const Observations& round);

 private:
  struct Count {
    double value = 0;
    MonoTime time{};
  };
  struct Gpu {
    std::string card;                              // serial, else UUID; empty where unknown
    std::set<std::string, std::less<>> listed_by;  // checks whose last look had it
    std::optional<MonoTime> gone;  // since then it was not there, lost, or waiting for a reset
    MonoTime well{};               // when a look found it well last
    std::map<std::string, Count, std::less<>> counts;
  };

  [[nodiscard]] Gpu* gpu_of(const Subject& subject);
  [[nodiscard]] static bool note_state(Gpu& gpu, const Observation& state);
  static void set_gone(Gpu& gpu, MonoTime time);
  [[nodiscard]] static bool note_count(Gpu& gpu, const Observation& count);
  void note_absent(std::string_view check, const std::set<Subject>& told, MonoTime time);

  std::map<Subject, Gpu> gpus_;
};

}  // namespace autopilot::incidents
