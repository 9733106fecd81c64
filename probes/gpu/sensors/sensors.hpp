// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/result.hpp"
#include "probes/gpu/sensors/nvml_abi.h"

namespace autopilot::probes::gpu {

namespace nvml {

// Where the functions are.
struct Calls {
#define AUTOPILOT_NVML_MEMBER(member, name, arguments) std::add_pointer_t<Return arguments> member = nullptr;
  AUTOPILOT_PROBE_NVML_FUNCTIONS(AUTOPILOT_NVML_MEMBER)
  AUTOPILOT_PROBE_NVML_OPTIONAL_FUNCTIONS(AUTOPILOT_NVML_MEMBER)  // null where it is not there
#undef AUTOPILOT_NVML_MEMBER
};

}  // namespace nvml

inline constexpr const char* kSensorLibrary = "libnvidia-ml.so.1";

// What a GPU says of itself at one moment; nothing where it does not say it.
struct SensorValues {
  std::optional<unsigned> temperature_c;
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<unsigned> sm_clock_mhz;
  std::optional<std::uint64_t> throttle_reasons;  // bits of NVML
  std::optional<unsigned> pcie_generation;        // of the link as it runs now, which is slower at rest
  std::optional<unsigned> pcie_lanes;
};

// Words for the bits, in their order; what has none is in hexadecimal.
[[nodiscard]] std::vector<std::string> throttle_words(std::uint64_t bits);

// NVML, opened while we run: what the driver measures, and who else uses a GPU. Thread-safe. A call may hang.
class Sensors {
 public:
  // Errc::not_found: it is not here. Errc::unsupported: it cannot be used. Errc::unavailable: it does not
  // work now.
  [[nodiscard]] static Result<Sensors> open(const std::string& path);

  // Errc::not_found: NVML does not know the GPU at this PCI address.
  [[nodiscard]] Result<nvml::Device> find(const std::string& pci_address) const;
  [[nodiscard]] SensorValues read(nvml::Device device) const;
  // Ids of the processes that compute on it, ours among them; nothing where NVML does not say.
  [[nodiscard]] std::optional<std::vector<unsigned>> processes(nvml::Device device) const;

  // It is divided into several (MIG); nothing where NVML does not say, as of GPUs that cannot be.
  [[nodiscard]] std::optional<bool> is_divided(nvml::Device device) const;

 private:
  Sensors() = default;
  nvml::Calls calls_;
};

}  // namespace autopilot::probes::gpu
