// SPDX-License-Identifier: Apache-2.0
#include "incidents/reset_witness.hpp"

#include <algorithm>
#include <array>

namespace autopilot::incidents {
namespace {

// Observation of each GPU in every run that reads a driver.
constexpr std::string_view kState = "gpu.state";
constexpr std::string_view kWell = "ok";
constexpr std::array<std::string_view, 2> kEndedByResetAlone{"lost", "reset_required"};
// Without volatile ECC counts, which `nvidia-smi --reset-ecc-errors=0` clears on a faulty GPU.
constexpr std::array<std::string_view, 9> kSetBackByResetAlone{
    "pcie.replays",        "throttle.power_cap",   "throttle.thermal",
    "throttle.sync_boost", "throttle.board_limit", "throttle.reliability",
    "throttle.sw_thermal", "throttle.hw_thermal",  "throttle.hw_power_brake"};

bool is_in(const auto& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string card_of(const Subject& gpu) {
  return gpu.serial.empty() ? gpu.uuid : gpu.serial;
}

void add_once(std::vector<Subject>& gpus, const Subject& gpu) {
  if (std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
}

}  // namespace

std::vector<Subject> ResetWitness::note(std::string_view check, const Observations& round) {
  std::vector<Subject> reset;
  std::set<Subject> listed;  // in any state, or without an answer
  std::optional<MonoTime> completed;
  for (const Observation& observation : round) {
    if (observation.is_event() || observation.subject.kind != SubjectKind::gpu) continue;
    const bool is_state = observation.name == kState;
    if (is_state) listed.insert(observation.subject);
    if (!observation.value || !(is_state || is_in(kSetBackByResetAlone, observation.name))) continue;
    Gpu* gpu = gpu_of(observation.subject);
    if (gpu == nullptr) continue;
    if (is_state) {
      gpu->listed_by.emplace(check);
      completed = std::max(completed.value_or(MonoTime{}), observation.time.mono);
    }
    if (is_state ? note_state(*gpu, observation) : note_count(*gpu, observation))
      add_once(reset, observation.subject);
  }
  if (completed) note_absent(check, listed, *completed);
  return reset;
}

// Null beyond kMaxGpus. A new card starts without history.
ResetWitness::Gpu* ResetWitness::gpu_of(const Subject& subject) {
  if (!gpus_.contains(subject) && gpus_.size() >= kMaxGpus) return nullptr;
  Gpu& gpu = gpus_[subject];
  const std::string card = card_of(subject);
  if (!card.empty() && !gpu.card.empty() && gpu.card != card) gpu = Gpu{};
  if (!card.empty()) gpu.card = card;
  return &gpu;
}

bool ResetWitness::note_state(Gpu& gpu, const Observation& state) {
  if (!state.value) return false;
  const std::string word = to_string(*state.value);
  if (is_in(kEndedByResetAlone, word)) set_gone(gpu, state.time.mono);
  if (word != kWell) return false;
  gpu.well = std::max(gpu.well, state.time.mono);
  if (!gpu.gone || state.time.mono <= *gpu.gone) return false;
  gpu.gone.reset();
  gpu.counts.clear();
  return true;
}

// Runs of several checks may end in another order than they started.
void ResetWitness::set_gone(Gpu& gpu, MonoTime time) {
  if (time > gpu.well) gpu.gone = time;
}

bool ResetWitness::note_count(Gpu& gpu, const Observation& count) {
  const auto value = count.value ? as_number(*count.value) : std::nullopt;
  if (!value) return false;
  const auto known = gpu.counts.find(count.name);
  if (known != gpu.counts.end() && count.time.mono <= known->second.time) return false;
  const bool has_fallen = known != gpu.counts.end() && *value < known->second.value;
  if (has_fallen) gpu.counts.clear();
  gpu.counts.insert_or_assign(count.name, Count{*value, count.time.mono});
  return has_fallen;
}

void ResetWitness::note_absent(std::string_view check, const std::set<Subject>& listed, MonoTime time) {
  for (auto& [subject, gpu] : gpus_) {
    if (listed.contains(subject)) continue;
    const auto lister = gpu.listed_by.find(check);
    if (lister == gpu.listed_by.end()) continue;
    gpu.listed_by.erase(lister);
    set_gone(gpu, time);
  }
}

}  // namespace autopilot::incidents
