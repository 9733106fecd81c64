// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "nvml/session.hpp"

// Common functions of the library: from a reading to an out parameter.
#define AUTOPILOT_NVML_EXPORT extern "C" __attribute__((visibility("default")))

namespace autopilot::simulator::nvml {

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
