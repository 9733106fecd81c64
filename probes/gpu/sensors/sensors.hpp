// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/result.hpp"
#include "host/gpu/kfd_processes.hpp"
#include "probes/gpu/sensors/nvml_abi.h"

namespace autopilot::probes::gpu {

namespace nvml {

// Addresses of the functions.
struct Calls {
#define AUTOPILOT_NVML_MEMBER(member, name, arguments) std::add_pointer_t<Return arguments> member = nullptr;
  AUTOPILOT_PROBE_NVML_FUNCTIONS(AUTOPILOT_NVML_MEMBER)
  AUTOPILOT_PROBE_NVML_OPTIONAL_FUNCTIONS(AUTOPILOT_NVML_MEMBER)  // null if the library lacks it
#undef AUTOPILOT_NVML_MEMBER
};

}  // namespace nvml

inline constexpr const char* kSensorLibrary = "libnvidia-ml.so.1";

// Values of a GPU at one moment; not set if unavailable.
struct SensorValues {
  std::optional<unsigned> temperature_c;
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<unsigned> sm_clock_mhz;
  std::optional<std::uint64_t> throttle_reasons;  // bits of NVML
  std::optional<unsigned> pcie_generation;        // current link, which is slower at idle
  std::optional<unsigned> pcie_lanes;
};

// Names of the bits, in their order; bits without a name are in hexadecimal.
[[nodiscard]] std::vector<std::string> throttle_words(std::uint64_t bits);

// NVML, opened at run time: sensors of the driver, and users of a GPU. Thread-safe. A call can hang.
class Sensors {
 public:
  // Errc::not_found: NVML is not installed. Errc::unsupported: it is unusable. Errc::unavailable: it does not
  // work now.
  [[nodiscard]] static Result<Sensors> open(const std::string& path);

  // Errc::not_found: NVML has no GPU at this PCI address.
  [[nodiscard]] Result<nvml::Device> find(const std::string& pci_address) const;
  [[nodiscard]] SensorValues read(nvml::Device device) const;
  // Pids of the processes that compute on it, including this one; nullopt if NVML does not list them.
  [[nodiscard]] std::optional<std::vector<unsigned>> processes(nvml::Device device) const;

  // True if it is divided (MIG); nullopt if NVML does not report it, as for GPUs without MIG.
  [[nodiscard]] std::optional<bool> is_divided(nvml::Device device) const;

 private:
  Sensors() = default;
  nvml::Calls calls_;
};

// Reads the sensors of some GPUs repeatedly, in its own thread.
class Sampler {
 public:
  static constexpr std::chrono::milliseconds kPeriod{100};

  // Called in the sampler's thread with the values of a GPU; `gpu` counts from 0.
  using Take = std::function<void(std::size_t gpu, const SensorValues& values)>;

  // Both references must stay valid until stop() returned true, or until the process ends.
  Sampler(const Sensors& sensors, const std::vector<std::string>& pci_addresses, Take take);
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  ~Sampler();

  // Ends the thread. False: it hangs in a call, and remains until the process ends.
  [[nodiscard]] bool stop();

 private:
  // Data of the thread, which can outlive the sampler.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool stop = false;
    bool ended = false;
  };
  static void run(const std::shared_ptr<Shared>& shared, const Sensors& sensors,
                  const std::vector<std::string>& pci_addresses, const Take& take);

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::thread thread_;
};

// Above this share of its power limit, a GPU has no room for our load.
inline constexpr double kMostPowerBefore = 0.9;

// Check before load is put on a GPU. Errc::conflict: a process computes on it, or it already draws nearly its
// power limit; the text names them. Unknown data does not lead to a refusal.
[[nodiscard]] Status check_is_free(const std::optional<std::vector<unsigned>>& processes,
                                   const SensorValues& values);

// The same for tests that need an idle and undivided GPU: Errc::conflict also if its processes are unknown,
// or it is divided (MIG).
[[nodiscard]] Status check_is_idle(const std::optional<std::vector<unsigned>>& processes,
                                   const SensorValues& values, std::optional<bool> is_divided);
// For a GPU whose users are unknown, with the cause: Errc::conflict, with the remedy.
[[nodiscard]] tl::unexpected<Error> refuse_unknown_use(const std::string& why);

// The first of the processes that is NVIDIA's MPS server, through which others use a GPU; nullopt if there is
// none, or `proc` does not show it, as in a container with its own pid namespace.
[[nodiscard]] std::optional<unsigned> find_mps_server(std::span<const unsigned> processes,
                                                      const std::string& proc = "/proc");

// Checks the kernel driver's data before load is put on an AMD GPU. Errc::conflict: a process computes on it;
// with must_be_idle also if its users are unknown, or it is divided. Otherwise unknown data does not lead to
// a refusal.
[[nodiscard]] Status check_amd_use(const Result<host::KfdProcesses>& seen, const std::string& pci_address,
                                   bool must_be_idle);

}  // namespace autopilot::probes::gpu
