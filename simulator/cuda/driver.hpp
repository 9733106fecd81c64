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

// What handles of ours are.
namespace autopilot::probes::gpu::cuda {

struct ContextTag {
  std::size_t gpu;
};
struct FunctionTag {
  const simulator::cuda::HostKernel* kernel;
  unsigned most_shared_bytes = 48U << 10;  // that a launch may ask for
};
struct ModuleTag {
  Context context;
  std::string text;
  std::map<std::string, FunctionTag> functions;
};
// Time of a stream is what its work would have taken, in seconds; nobody waits for it.
struct StreamTag {
  Context context;
  double now = 0;
};
struct EventTag {
  Context context;
  double at = -1;  // below 0: never recorded
};

}  // namespace autopilot::probes::gpu::cuda

namespace autopilot::simulator::cuda {

namespace abi = probes::gpu::cuda;

// The library in one process: the table of $AUTOPILOT_SIM_CUDA, read once, and everything that was made and
// not freed. At the end of the process it writes what was left into the file $AUTOPILOT_SIM_CUDA_RECORD, if
// that is set. Thread-safe, as long as a thread uses only streams, events and memory of its own.
class Driver {
 public:
  static Driver& instance();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver();

  // Goes through what the table asks of the call, of this GPU or of none. kSuccess: go on.
  [[nodiscard]] abi::Return enter(const char* function, std::optional<std::size_t> gpu = {});
  // The same for the GPU of the calling thread's context.
  [[nodiscard]] abi::Return enter_current(const char* function);

  [[nodiscard]] const DriverTable& table() const { return table_; }
  [[nodiscard]] const GpuTable* gpu(abi::Device device) const;
  [[nodiscard]] const GpuTable& gpu_of(abi::Context context) const { return table_.gpus[context->gpu]; }

  [[nodiscard]] abi::Context current() const;
  abi::Return make_current(abi::Context context);  // null: none
  [[nodiscard]] abi::Context make_context(std::size_t gpu);
  abi::Return free_context(abi::Context context);
  // The one context of a GPU that all share who ask for it; it ends when as many have given it back. The
  // calling thread's current one stays what it was.
  [[nodiscard]] abi::Context retain_primary(std::size_t gpu);
  abi::Return release_primary(std::size_t gpu);

  abi::Return allocate(abi::Context context, std::size_t bytes, abi::DevicePointer& pointer);
  abi::Return free_memory(abi::DevicePointer pointer);
  [[nodiscard]] std::uint64_t free_bytes(std::size_t gpu);
  // The whole range is inside one allocation.
  [[nodiscard]] bool holds(abi::DevicePointer pointer, std::size_t bytes);
  // Memory of the GPU changes, and no launch is a repetition of the one before.
  void touch(std::size_t gpu);

  [[nodiscard]] void* allocate_host(std::size_t bytes);
  abi::Return free_host(void* pointer);

  [[nodiscard]] abi::Module load(abi::Context context, std::string text);
  abi::Return unload(abi::Module module);
  abi::Return function_of(abi::Module module, const std::string& name, abi::Function& function);
  // Bytes of shared memory that a launch may ask for.
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
    std::vector<std::uint64_t> last;  // launch, since when nothing else changed its memory
    std::map<std::string, std::int64_t, std::less<>> calls;
  };
  template <class Tag>
  using Owned = std::map<Tag*, std::unique_ptr<Tag>>;

  Driver();
  void write_record() const;

  mutable std::mutex mutex_;
  const bool caches_kernels_;  // what it makes of their text, in files: $CUDA_CACHE_DISABLE
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
