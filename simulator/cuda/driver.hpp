// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cuda/driver_table.hpp"
#include "cuda/host_kernels.hpp"
#include "probes/gpu/driver/cuda_abi.h"

// The objects behind our handles.
namespace autopilot::probes::gpu::cuda {

struct ContextTag {
  std::size_t gpu;
};
struct FunctionTag {
  const simulator::cuda::HostKernel* kernel;
  unsigned most_shared_bytes = 48U << 10;  // limit of a launch
};
struct ModuleTag {
  Context context;
  std::string text;
  std::map<std::string, FunctionTag> functions;
};
// The time of a stream is the simulated duration of its work, in seconds; no call waits for it.
struct StreamTag {
  Context context;
  double now = 0;
};
struct EventTag {
  Context context;
  double at = -1;  // negative: never recorded
};

}  // namespace autopilot::probes::gpu::cuda

namespace autopilot::simulator::cuda {

namespace abi = probes::gpu::cuda;

// The library in one process: the table of $AUTOPILOT_SIM_CUDA, read once, and all objects that were created
// and not freed. At exit it writes the remaining objects to the file $AUTOPILOT_SIM_CUDA_RECORD, if that is
// set. Thread-safe, as long as a thread uses only streams, events and memory of its own.
class Driver {
 public:
  static Driver& instance();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver();

  // Applies the faults of the table for this call, on this GPU or without a GPU. kSuccess: continue.
  [[nodiscard]] abi::Return enter(const char* function, std::optional<std::size_t> gpu = {});
  // The same for the GPU of the calling thread's context.
  [[nodiscard]] abi::Return enter_current(const char* function);

  [[nodiscard]] const DriverTable& table() const { return table_; }
  [[nodiscard]] const GpuTable* gpu(abi::Device device) const;
  [[nodiscard]] const GpuTable& gpu_of(abi::Context context) const { return table_.gpus[context->gpu]; }

  [[nodiscard]] abi::Context current() const;
  abi::Return make_current(abi::Context context);  // null: no context
  [[nodiscard]] abi::Context make_context(std::size_t gpu);
  abi::Return free_context(abi::Context context);
  // The primary context of a GPU, with a reference count; it ends with its last release. Does not change the
  // calling thread's current context.
  [[nodiscard]] abi::Context retain_primary(std::size_t gpu);
  abi::Return release_primary(std::size_t gpu);

  abi::Return allocate(abi::Context context, std::size_t bytes, abi::DevicePointer& pointer);
  abi::Return free_memory(abi::DevicePointer pointer);
  [[nodiscard]] std::uint64_t free_bytes(std::size_t gpu);
  // True if the whole range is inside one allocation.
  [[nodiscard]] bool holds(abi::DevicePointer pointer, std::size_t bytes);
  // Records a change of the GPU's memory, so that the next launch is not a repetition.
  void touch(std::size_t gpu);

  [[nodiscard]] void* allocate_host(std::size_t bytes);
  abi::Return free_host(void* pointer);

  [[nodiscard]] abi::Module load(abi::Context context, std::string text);
  abi::Return unload(abi::Module module);
  abi::Return function_of(abi::Module module, const std::string& name, abi::Function& function);
  // Sets the bytes of shared memory that a launch can request.
  abi::Return allow_shared(abi::Function function, int bytes);
  abi::Return launch(abi::Function function, unsigned blocks, unsigned threads, unsigned shared_bytes,
                     abi::Stream stream, void** arguments);

  [[nodiscard]] abi::Stream make_stream(abi::Context context);
  abi::Return free_stream(abi::Stream stream);
  [[nodiscard]] bool is_known(abi::Stream stream);
  [[nodiscard]] abi::Event make_event(abi::Context context);
  abi::Return free_event(abi::Event event);
  [[nodiscard]] bool is_known(abi::Event event);

 private:
  struct Allocation {
    std::size_t gpu;
    std::size_t bytes;
    std::unique_ptr<unsigned char[]> memory;
  };
  struct GpuState {
    std::uint64_t used = 0;
    std::uint64_t peak = 0;
    abi::Context primary = nullptr;
    int primary_holders = 0;
    std::vector<std::uint64_t> last;  // last launch, since which nothing else changed its memory
    std::map<std::string, std::int64_t, std::less<>> calls;
  };
  template <class Tag>
  using Owned = std::map<Tag*, std::unique_ptr<Tag>>;

  Driver();
  void write_record() const;

  mutable std::mutex mutex_;
  const bool caches_kernels_;  // whether compiled kernels are written to files: $CUDA_CACHE_DISABLE
  DriverTable table_;
  std::vector<GpuState> gpus_;
  std::map<std::string, std::int64_t, std::less<>> calls_;
  std::map<abi::DevicePointer, Allocation> allocations_;
  std::map<void*, std::unique_ptr<unsigned char[]>> host_;
  Owned<abi::ContextTag> contexts_;
  Owned<abi::ModuleTag> modules_;
  Owned<abi::StreamTag> streams_;
  Owned<abi::EventTag> events_;
};

}  // namespace autopilot::simulator::cuda
