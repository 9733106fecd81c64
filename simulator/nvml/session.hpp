// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/gpu/nvml_abi.h"
#include "nvml/driver_state.hpp"

// What a handle of ours is: a GPU, or the instance of it at a place of nvml.yaml.
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

// The library in one process: what nvml.yaml of $AUTOPILOT_SIM_MACHINE says now, and who called init.
class Session {
 public:
  static Session& instance();

  // Goes through the misbehaviour that nvml.yaml asks of `function`: hangs until it no longer should, dies,
  // or gives the code to return. kSuccess: go on.
  [[nodiscard]] abi::Return enter(const char* function);

  [[nodiscard]] abi::Return init();
  [[nodiscard]] abi::Return shutdown();

  // The state now, while it is initialised.
  using Body = std::function<abi::Return(const DriverModel&)>;
  [[nodiscard]] abi::Return with_driver(const char* function, const Body& body);
  // The same for one GPU: its `state` goes before the body.
  using GpuBody = std::function<abi::Return(const GpuModelState&)>;
  [[nodiscard]] abi::Return with_gpu(const char* function, abi::Device device, const GpuBody& body);

  // The same for one instance of a GPU: INVALID_ARGUMENT for a whole one, NOT_FOUND for one that is gone.
  using InstanceBody = std::function<abi::Return(const InstanceState&)>;
  [[nodiscard]] abi::Return with_instance(const char* function, abi::Device device, const InstanceBody& body);
  // Of a GPU, or of the instance of it at this place; call within a body.
  [[nodiscard]] abi::Device handle(const std::string& address, std::optional<std::size_t> instance = {});

  // The GPUs that init saw, in NVML's order; call within a body.
  [[nodiscard]] const std::vector<abi::Device>& devices() const { return visible_; }

 private:
  // The file's state, read again when it changed. Null: the machine has no NVML library.
  std::shared_ptr<const DriverModel> refresh();

  std::recursive_mutex mutex_;
  std::shared_ptr<const DriverModel> model_;
  std::uint64_t inode_ = 0;
  std::int64_t modified_ns_ = 0;
  int initialised_ = 0;
  std::vector<abi::Device> visible_;
  std::vector<std::unique_ptr<nvmlDevice_st>> handles_;  // never freed: a client may keep one
};

}  // namespace autopilot::simulator::nvml
