// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/result.hpp"
#include "probes/gpu/driver/driver.hpp"

namespace autopilot::probes::gpu {

// The kernels of one feature level.
struct KernelText {
  std::string level;  // "sm_80"
  const std::string* text = nullptr;

  // Levels differ in the features of their GPUs.
  [[nodiscard]] bool has(std::string_view kernel) const;
};

// From the lowest to the highest.
[[nodiscard]] std::vector<std::string> kernel_levels();

// The texts that a GPU of this compute capability ("8.6" is 86) supports, the best first: levels up to its
// own, and up to `highest` if that is set. A level with an "a" needs exactly its capability.
// Errc::unsupported: the GPU is older than all of them.
[[nodiscard]] Result<std::vector<KernelText>> kernel_texts_for(int capability, std::string_view highest = {});

class Session;

// Memory of a GPU or pinned memory of the host; freed by its owner, which must not outlive the session.
class Buffer {
 public:
  enum class Where { gpu, host };

  Buffer(Session& session, Where where, void* address, std::size_t bytes)
      : session_(&session), where_(where), address_(address), bytes_(bytes) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer();

  [[nodiscard]] cuda::DevicePointer pointer() const;
  template <class T>
  [[nodiscard]] T* host() const {
    return static_cast<T*>(address_);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  Session* session_;
  Where where_;
  void* address_;
  std::size_t bytes_;
};

// A kernel with its name and its parameter types: for each pointer of its source, a GPU address.
template <class... Parameters>
struct Kernel {
  const char* name;
};
template <class T>
using OnGpu = std::conditional_t<std::is_pointer_v<T>, cuda::DevicePointer, T>;
template <class... Parameters>
constexpr Kernel<OnGpu<Parameters>...> kernel_of(const char* name, void (*)(Parameters...)) {
  return {name};
}
#define AUTOPILOT_GPU_KERNEL(name) \
  ::autopilot::probes::gpu::kernel_of(#name, ::autopilot::probes::gpu::kernels::name)

struct Grid {
  unsigned blocks;
  unsigned threads;
  unsigned shared_bytes = 0;  // of a block, for kernels that set it at launch
};

// A context on one GPU, with our kernels once they are loaded. Used by one thread; its destructor frees
// everything.
class Session {
 public:
  // NCCL, like other libraries that use the CUDA runtime in threads of their own, works in the primary
  // context of a GPU and sees no memory and no streams of another context. A context of our own is not shared
  // within this process. HIP has only primary contexts, without owners: a thread selects its GPU.
  enum class In { own_context, primary_context };

  // Leaves at least a tenth of the currently free memory to others, and uses at most `memory_share` (0 to 1)
  // of all memory. Errc::exhausted: that would be less than kLeastBytes.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open(const Driver& driver, const GpuFacts& facts,
                                                             double memory_share, In where = In::own_context);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  static constexpr std::size_t kLeastBytes = std::size_t{4} << 20;

  [[nodiscard]] const GpuFacts& facts() const { return facts_; }
  [[nodiscard]] const Driver& driver() const { return driver_; }
  // Call it once, before the first launch. Loads the best level that GPU and driver support, up to `highest`
  // if that is set. Errc::unsupported: they support none.
  [[nodiscard]] Status load_kernels(std::string_view highest = {});
  [[nodiscard]] const KernelText& kernels() const { return kernels_; }
  // The best level of the GPU and why the driver refused it; nullopt if it did not.
  [[nodiscard]] const std::optional<std::string>& refused_kernels() const { return refused_kernels_; }
  // Time that the driver needed to load the kernels; not included in other figures.
  [[nodiscard]] double load_seconds() const { return load_seconds_; }
  [[nodiscard]] std::size_t free_bytes() const { return free_bytes_; }  // when it was opened
  // Limit and highest usage of all buffers on the GPU together.
  [[nodiscard]] std::size_t budget_bytes() const { return budget_bytes_; }
  [[nodiscard]] std::size_t most_used_bytes() const { return most_used_bytes_; }
  [[nodiscard]] cuda::Context context() const { return context_; }  // null with HIP
  [[nodiscard]] cuda::Stream stream() const { return stream_; }
  [[nodiscard]] cuda::Stream second_stream() const { return second_stream_; }

  [[nodiscard]] Status make_current() const;
  // Errc::exhausted: beyond the budget, or the GPU has no piece of that size.
  [[nodiscard]] Result<Buffer> allocate(std::size_t bytes);
  [[nodiscard]] Result<Buffer> allocate_on_host(std::size_t bytes);

  // Queues into the stream; errors there are reported by the call that waits for it.
  template <class... Parameters>
  Status launch(const Kernel<Parameters...>& kernel, Grid grid,
                std::type_identity_t<Parameters>... arguments) {
    void* pointers[] = {static_cast<void*>(&arguments)...};
    return launch_named(kernel.name, grid, pointers);
  }
  Status copy_to_gpu(const Buffer& to, const void* from, std::size_t bytes);
  // Waits for completion.
  Status read(void* to, const Buffer& from, std::size_t offset, std::size_t bytes);
  Status wait();
  // True if all work in the stream has completed. Never waits.
  [[nodiscard]] Result<bool> is_idle() const;

  // Duration of the work that `work` queues, by the clock of the GPU.
  [[nodiscard]] Result<double> seconds_of(const std::function<Status()>& work);
  // The second stream starts after the work in the first, and the first waits for the second.
  Status fork();
  Status join();

 private:
  friend class Buffer;
  Session(const Driver& driver, GpuFacts facts, In where)
      : driver_(driver), facts_(std::move(facts)), where_(where) {}
  Status begin(double memory_share);
  Status make_context();
  void give_context_back();
  Status load(const KernelText& text);
  // A kernel that can be launched with that much shared memory.
  [[nodiscard]] Result<cuda::Function> function_of(const char* name, unsigned shared_bytes);
  Status launch_named(const char* name, Grid grid, void** arguments);

  Driver driver_;
  GpuFacts facts_;
  In where_;
  KernelText kernels_;
  std::optional<std::string> refused_kernels_;
  double load_seconds_ = 0;
  std::size_t free_bytes_ = 0;
  std::size_t budget_bytes_ = 0;
  std::size_t used_bytes_ = 0;
  std::size_t most_used_bytes_ = 0;
  cuda::Context context_ = nullptr;
  cuda::Module module_ = nullptr;
  cuda::Stream stream_ = nullptr;
  cuda::Stream second_stream_ = nullptr;
  cuda::Event begin_ = nullptr;
  cuda::Event end_ = nullptr;
  cuda::Event fork_ = nullptr;
};

}  // namespace autopilot::probes::gpu
