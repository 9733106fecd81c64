// SPDX-License-Identifier: Apache-2.0
// The part of NvmlReader that reads the NVLinks of a GPU.
#include <algorithm>

#include "host/gpu/nvml_reader.hpp"
#include "host/gpu/readings.hpp"

namespace autopilot::host {
namespace {

using namespace reading;

}  // namespace

int NvmlReader::link_count() {
  fact(kNvLinkCount, std::nullopt, [&] {
    ask_fields();
    want(nvml::kFieldNvLinkLinkCount, kNvLinkCount);
    ask_fields();
  });
  const auto known = std::find_if(readings_.begin(), readings_.end(),
                                  [](const GpuReading& reading) { return reading.name == kNvLinkCount; });
  const auto value = known == readings_.end() ? std::nullopt : known->value;
  if (!value) return static_cast<int>(nvml::kNvLinkMaxLinks);
  const double count = as_number(*value).value_or(0);
  return static_cast<int>(std::clamp(count, 0.0, static_cast<double>(nvml::kNvLinkMaxLinks)));
}

void NvmlReader::read_nvlink() {
  const nvml::Functions& call = library_.functions();
  std::vector<int> links;
  bool are_old = false;
  const int count = link_count();
  for (int link = 0; link < count && !gone(); ++link) {
    const auto number = static_cast<unsigned>(link);
    unsigned active = 0;
    const nvml::Return code = ask(call.nvmlDeviceGetNvLinkState, number, &active);
    // Past the last link, or a GPU without NVLink.
    if (code == nvml::kInvalidArgument || code == nvml::kNotSupported || code == nvml::kSymbolAbsent) break;
    add_flag(kNvLinkActive, code, active, link);
    links.push_back(link);
    if (code != nvml::kSuccess || active != nvml::kFeatureEnabled) continue;
    fact(kNvLinkVersion, link, [&] {
      unsigned version = 0;
      const nvml::Return version_code = ask(call.nvmlDeviceGetNvLinkVersion, number, &version);
      add(kNvLinkVersion, version_code, std::int64_t{version}, link);
    });
    if (const auto& version = readings_.back().value)
      are_old = std::get<std::int64_t>(*version) <= nvml::kLastVersionWithLinkFields;
    fact(kNvLinkRemote, link, [&] {
      nvml::PciInfo remote{};
      const nvml::Return remote_code = ask(call.nvmlDeviceGetNvLinkRemotePciInfo_v2, number, &remote);
      const std::string text = driver_text(remote.busId, sizeof(remote.busId));
      add(kNvLinkRemote, remote_code, canonical_pci_address(text).value_or(text), link);
    });
  }
  if (links.empty()) return;
  ask_fields();
  for (const int link : links) {
    if (are_old)
      want_old_link_counters(link);
    else
      want_link_counters(link);
  }
  ask_fields();
}

void NvmlReader::want_link_counters(int link) {
  const auto scope = static_cast<unsigned>(link);
  wanted_.push_back({nvml::kFieldNvLinkErrorReplay, scope, kNvLinkReplays, link, 1});
  wanted_.push_back({nvml::kFieldNvLinkErrorRecovery, scope, kNvLinkRecoveries, link, 1});
  wanted_.push_back({nvml::kFieldNvLinkErrorCrc, scope, kNvLinkCrcErrors, link, 1});
  wanted_.push_back({nvml::kFieldNvLinkReceiveErrors, scope, kNvLinkReceiveErrors, link, 1});
  wanted_.push_back({nvml::kFieldNvLinkIntegrityErrors, scope, kNvLinkIntegrityErrors, link, 1});
  wanted_.push_back({nvml::kFieldNvLinkRecoveryFailed, scope, kNvLinkRecoveriesFailed, link, 1});
  wanted_.push_back({nvml::kFieldNvLinkSymbolBer, scope, kNvLinkSymbolBer, link, kAsBitErrorRate});
}

// Before the fourth generation each counter of each link has its own field; fields exist for twelve links.
void NvmlReader::want_old_link_counters(int link) {
  const auto number = static_cast<unsigned>(link);
  const unsigned range = number / nvml::kNvLinksPerFieldRange;
  if (range >= std::size(nvml::kFieldsNvLinkReplay)) return;
  const unsigned place = number % nvml::kNvLinksPerFieldRange;
  wanted_.push_back({nvml::kFieldsNvLinkReplay[range] + place, 0, kNvLinkReplays, link, 1});
  wanted_.push_back({nvml::kFieldsNvLinkRecovery[range] + place, 0, kNvLinkRecoveries, link, 1});
  wanted_.push_back({nvml::kFieldsNvLinkCrcFlit[range] + place, 0, kNvLinkCrcErrors, link, 1});
  wanted_.push_back({nvml::kFieldsNvLinkCrcData[range] + place, 0, kNvLinkCrcDataErrors, link, 1});
}

}  // namespace autopilot::host
