// SPDX-License-Identifier: Apache-2.0
#include "postflight/snapshot_facts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "core/text.hpp"
#include "host/gpu/gpus.hpp"
#include "learning/baseline/kind.hpp"

namespace autopilot::postflight {
namespace {

constexpr std::string_view kModel = "gpu.model";
constexpr std::string_view kDriverVersion = "driver.version";
constexpr std::string_view kDriverState = "driver.state";
constexpr std::string_view kAllVisible = "processes.all_visible";
constexpr std::string_view kSilent = "NVIDIA's driver does not answer";
// A kind fits into a name of history.
constexpr std::size_t kLongestModel = 160;
constexpr std::size_t kLongestVersion = 32;

// The text of the newest observation with this name about the subject; empty: none has a value.
std::string text_in(const NodeSnapshot& snapshot, std::string_view name, const Subject& subject) {
  std::string text;
  MonoTime newest{};
  for (const CheckResult& result : snapshot.results)
    for (const Observation& one : result.observations) {
      if (one.name != name || one.subject.kind != subject.kind || one.subject.key != subject.key) continue;
      if (!one.value || (!text.empty() && one.time.mono < newest)) continue;
      text = to_string(*one.value);
      newest = one.time.mono;
    }
  return text;
}

}  // namespace

std::string kind_of(const NodeSnapshot& snapshot, const Subject& gpu) {
  learning::MachineKind kind;
  kind.gpu = cut_utf8(text_in(snapshot, kModel, gpu), kLongestModel);
  if (kind.gpu.empty()) return {};
  const std::string version = text_in(snapshot, kDriverVersion, host_subject());
  kind.driver = cut_utf8(version.substr(0, version.find('.')), kLongestVersion);
  return learning::kind_text(kind);
}

bool is_driver_silent(const NodeSnapshot& snapshot) {
  using enum host::DriverState;
  constexpr std::array kStates{unresponsive, crashed, exhausted};
  const auto state = host::parse_driver_state(text_in(snapshot, kDriverState, host_subject()));
  return state && std::ranges::find(kStates, *state) != kStates.end();
}

std::string why_users_unknown(const NodeSnapshot& snapshot, const CheckResult& look) {
  const bool has_answer = std::ranges::any_of(
      look.observations, [](const Observation& one) { return one.name == kAllVisible && one.value; });
  if (has_answer) return {};
  if (is_driver_silent(snapshot)) return std::string(kSilent);
  const std::string why = look.findings.empty() ? "" : ": " + look.findings.front().message;
  return "the users of the GPUs are not known: gpu.processes has no result" + why;
}

}  // namespace autopilot::postflight
