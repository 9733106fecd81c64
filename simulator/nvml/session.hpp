// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/gpu/nvml_abi.h"
#include "nvml/driver_state.hpp"

// Precedes every exported function.
#define AUTOPILOT_NVML_EXPORT extern "C" __attribute__((visibility("default")))

// The object behind a handle: a GPU, or one of its instances by its position in nvml.yaml.
struct nvmlDevice_st {  // NOLINT(readability-identifier-naming): of the library
  std::string address;
  std::optional<std::size_t> instance;
};

namespace autopilot::host::nvml {

struct EventSetTag {
  std::vector<Device> devices;
  std::uint64_t seen = 0;  // events up to this id were delivered, or are older than the registration
};

}  // namespace autopilot::host::nvml

namespace autopilot::simulator::nvml {

namespace abi = autopilot::host::nvml;

// The library in one process: the current state of nvml.yaml in $AUTOPILOT_SIM_MACHINE, and the number of
// init calls.
class Session {
 public:
  static Session& instance();

  // Applies the misbehaviour of `function` in nvml.yaml: hangs until it is removed, ends the process, or
  // returns the code. kSuccess: continue.
  [[nodiscard]] abi::Return enter(const char* function);

  [[nodiscard]] abi::Return init();
  [[nodiscard]] abi::Return shutdown();

  // Runs with the current state, if the library is initialised.
  using Body = std::function<abi::Return(const DriverModel&)>;
  [[nodiscard]] abi::Return with_driver(const char* function, const Body& body);
  // The same for one GPU: a failing `state` takes precedence.
  using GpuBody = std::function<abi::Return(const GpuModelState&)>;
  [[nodiscard]] abi::Return with_gpu(const char* function, abi::Device device, const GpuBody& body);

  // The same for one instance of a GPU: INVALID_ARGUMENT for a whole GPU, NOT_FOUND for a removed instance.
  using InstanceBody = std::function<abi::Return(const InstanceState&)>;
  [[nodiscard]] abi::Return with_instance(const char* function, abi::Device device, const InstanceBody& body);
  // Of a GPU, or of its instance at this position; call it within a body.
  [[nodiscard]] abi::Device handle(const std::string& address, std::optional<std::size_t> instance = {});

  // Bytes that a GPU has moved since this process first asked, at `bytes_s` since the last question. `link`:
  // "pcie" or "nvlink"; call it within a body.
  [[nodiscard]] std::uint64_t moved_bytes(const std::string& address, std::string_view link, double bytes_s);

  // The GPUs at the time of init, in NVML's order; call it within a body.
  [[nodiscard]] const std::vector<abi::Device>& devices() const { return visible_; }

 private:
  // A file of the tree as it was read last.
  struct Version {
    std::uint64_t inode = 0;  // 0: the file is missing
    std::int64_t modified_ns = 0;

    friend bool operator==(const Version&, const Version&) = default;
  };
  struct Moved {
    std::chrono::steady_clock::time_point asked;
    double bytes = 0;
  };

  // The state of the files, read again after a change. Null: the machine has no NVML library.
  std::shared_ptr<const DriverModel> refresh();
  [[nodiscard]] static Version version_of(const std::string& path);
  // nvml.yaml with the readings of gpu_readings.txt in place of its own.
  [[nodiscard]] std::shared_ptr<const DriverModel> with_live_readings(const std::string& path) const;

  std::recursive_mutex mutex_;
  std::shared_ptr<const DriverModel> driver_;  // nvml.yaml
  std::shared_ptr<const DriverModel> model_;   // with live readings
  Version driver_version_;
  Version live_version_;
  std::map<std::pair<std::string, std::string>, Moved> moved_;  // by address and link
  int initialised_ = 0;
  std::vector<abi::Device> visible_;
  std::vector<std::unique_ptr<nvmlDevice_st>> handles_;  // never freed: a client can keep a handle
};

// Common functions of the calls: from a reading to an out parameter.

// A missing reading is NOT_SUPPORTED; a string instead of a number is an error in nvml.yaml: UNKNOWN.
inline abi::Return number_of(const Readings& readings, std::string_view name, double& number) {
  const auto found = readings.find(name);
  if (found == readings.end()) return abi::kNotSupported;
  if (const int* code = std::get_if<int>(&found->second)) return *code;
  const auto value = as_number(std::get<Value>(found->second));
  if (!value) return abi::kUnknown;
  number = *value;
  return abi::kSuccess;
}

// Writes the reading, times `scale`, as the caller's integer type.
template <class T>
abi::Return put(const Readings& readings, std::string_view name, T* target, double scale = 1) {
  if (target == nullptr) return abi::kInvalidArgument;
  double number = 0;
  if (const abi::Return code = number_of(readings, name, number); code != abi::kSuccess) return code;
  *target = static_cast<T>(std::llround(number * scale));
  return abi::kSuccess;
}

inline abi::Return put_text(const std::string& text, char* target, unsigned size) {
  if (target == nullptr) return abi::kInvalidArgument;
  if (text.empty()) return abi::kNotSupported;
  if (text.size() + 1 > size) return abi::kInsufficientSize;
  std::memcpy(target, text.c_str(), text.size() + 1);
  return abi::kSuccess;
}

inline Session& session() {
  return Session::instance();
}

// Answers a function with one reading.
template <class T>
abi::Return answer(const char* function, abi::Device device, std::string_view reading, T* target,
                   double scale = 1) {
  return session().with_gpu(
      function, device, [&](const GpuModelState& gpu) { return put(gpu.readings, reading, target, scale); });
}

template <class T>
abi::Return answer_link(const char* function, abi::Device device, unsigned link, std::string_view reading,
                        T* target) {
  return session().with_gpu(function, device, [&](const GpuModelState& gpu) {
    if (gpu.links.empty()) return abi::kNotSupported;
    if (link >= gpu.links.size()) return abi::kInvalidArgument;
    return put(gpu.links[link], reading, target);
  });
}

}  // namespace autopilot::simulator::nvml
