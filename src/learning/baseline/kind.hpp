// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.hpp"

namespace autopilot::learning {

// What machines of one kind have in common. An empty member is unknown, or left out.
struct MachineKind {
  std::string gpu;   // "NVIDIA H100 80GB HBM3"
  std::string form;  // form factor: "SXM5"
  std::string nics;  // model and count: "ConnectX-7 x8"
  std::string cpu;
  std::string image;     // versions of CUDA and NCCL of the test image
  std::string power;     // power profile of the rack
  std::string driver;    // major version
  std::string firmware;  // major version
};

// From the most specific to the most general.
enum class KindLevel : std::uint8_t {
  full,
  without_firmware,
  without_driver,  // nor firmware
  gpu_and_nics,    // nothing else
};
inline constexpr std::array kKindLevels{KindLevel::full, KindLevel::without_firmware,
                                        KindLevel::without_driver, KindLevel::gpu_and_nics};
// "full", "without_firmware" ...
[[nodiscard]] std::string_view to_string(KindLevel level);

// Text of a kind in records and baselines: "gpu=NVIDIA H100 80GB HBM3;nics=ConnectX-7 x8;driver=570". Members
// that the level leaves out, and empty members, are missing. A semicolon or equals sign in a value becomes a
// comma.
[[nodiscard]] std::string kind_text(const MachineKind& kind, KindLevel level = KindLevel::full);
// `malformed`: an unknown or repeated member, or more than 1024 bytes.
[[nodiscard]] Result<MachineKind> parse_kind(std::string_view text);

}  // namespace autopilot::learning
