// SPDX-License-Identifier: Apache-2.0
#include "postflight/snapshot_facts.hpp"

#include <string_view>

#include "core/text.hpp"
#include "learning/baseline/kind.hpp"

namespace autopilot::postflight {
namespace {

constexpr std::string_view kModel = "gpu.model";
constexpr std::string_view kDriverVersion = "driver.version";
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

}  // namespace autopilot::postflight
