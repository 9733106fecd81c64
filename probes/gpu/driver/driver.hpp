// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "core/result.hpp"
#include "probes/gpu/driver/cuda_abi.h"

namespace autopilot::probes::gpu {

// A library that is opened at run time and never closed: drivers have threads of their own.
class SharedLibrary {
 public:
  // `path`: a file, or a name that the loader searches. `what`: its name in messages. Errc::not_found: the
  // library is missing. Errc::unsupported: the loader cannot use it.
  [[nodiscard]] static Result<SharedLibrary> open(const std::string& path, const std::string& what);

  // Null: unknown symbol.
  [[nodiscard]] void* find(const char* name) const;
  // False: the library lacks the function, whose name is added to the missing ones.
  template <class Signature>
  bool load(const char* name, Signature*& function) {
    void* address = find(name);
    // POSIX guarantees that the object pointer converts to a function pointer.
    static_assert(sizeof(address) == sizeof(function));
    std::memcpy(&function, &address, sizeof(address));
    if (address == nullptr) missing_ += std::string(" ") + name;
    return address != nullptr;
  }
  // Errc::unsupported: `what_it_is`, followed by the missing names.
  [[nodiscard]] Status complete(const std::string& what_it_is) const;

 private:
  SharedLibrary(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}
  std::string path_;
  void* handle_;
  std::string missing_;
};

// Vendor of the GPUs, which selects the libraries: CUDA and NCCL, or HIP and RCCL.
enum class Vendor : std::uint8_t { nvidia, amd };

namespace cuda {

// One function of the library: its name there, and its address.
template <class Signature>
struct Call {
  const char* name;
  Signature* address = nullptr;
};

// All functions. With HIP, those of hip_abi.h under the same members; the others are null then.
struct Calls {
#define AUTOPILOT_CUDA_MEMBER(member, name, arguments) \
  std::type_identity<Call<Return arguments>>::type member{#name};
  AUTOPILOT_CUDA_FUNCTIONS(AUTOPILOT_CUDA_MEMBER)
#undef AUTOPILOT_CUDA_MEMBER
  // HIP only, instead of contexts: selects the GPU of this thread.
  Call<Return(Device)> device_set{"hipSetDevice"};
};

}  // namespace cuda

inline constexpr const char* kDriverLibrary = "libcuda.so.1";

// HIP and RCCL are only in builds with the option AUTOPILOT_EXPERIMENTAL_HIP. Errc::unsupported: this build
// has no code for GPUs of the vendor.
[[nodiscard]] Status check_is_built_in(Vendor vendor);

// Names of a driver's library to try, in order of preference: for HIP those of ROCm 7, 6 and 5.
[[nodiscard]] std::vector<std::string> driver_libraries(Vendor vendor);

// The driver's library, CUDA's or HIP's, opened at run time and never closed, because it has threads of its
// own. Thread-safe.
class Library {
 public:
  // `path`: a file, or a name that the loader searches. Errc::not_found: the library is missing.
  // Errc::unsupported: it is unusable, or not built in; the text names what is missing.
  [[nodiscard]] static Result<Library> open(const std::string& path, Vendor vendor = Vendor::nvidia);
  // Opens the first that exists.
  [[nodiscard]] static Result<Library> open_first(const std::vector<std::string>& paths, Vendor vendor);

  [[nodiscard]] const cuda::Calls& calls() const { return calls_; }
  [[nodiscard]] Vendor vendor() const { return vendor_; }
  // True for the simulated driver, which has a symbol that real drivers lack.
  [[nodiscard]] bool is_simulated() const { return is_simulated_; }
  // "CUDA_ERROR_OUT_OF_MEMORY (2)", "hipErrorOutOfMemory (2)".
  [[nodiscard]] std::string text_of(cuda::Return code) const;

 private:
  explicit Library(Vendor vendor) : vendor_(vendor) {}
  Status load_cuda(const std::string& path);
  Status load_hip(const std::string& path);
  [[nodiscard]] const char* name_of(cuda::Return code) const;

  Vendor vendor_;
  cuda::Calls calls_;
  const char* (*hip_error_name_)(cuda::Return code) = nullptr;  // HIP only
  bool is_simulated_ = false;
};

// Shared between the thread that calls the driver and the thread that monitors it. Thread-safe.
struct Watch {
  std::atomic<const char*> call = nullptr;    // call in progress, which can hang
  std::atomic<std::uint64_t> calls = 0;       // number of started calls
  std::atomic<const char*> kernel = nullptr;  // last launched kernel
  std::atomic<const char*> peer = nullptr;    // UUID of another GPU that the calls involve
  std::atomic<bool> stop = false;             // request to free everything and end
};

// Marks a call that can hang, until the end of the block.
class InCall {
 public:
  InCall(Watch& watch, const char* name) : watch_(watch) {
    ++watch_.calls;
    watch_.call = name;
  }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;
  ~InCall() { watch_.call = nullptr; }

 private:
  Watch& watch_;
};

// The library, called by one thread.
class Driver {
 public:
  // Both must outlive the driver.
  Driver(const Library& library, Watch& watch) : library_(&library), watch_(&watch) {}

  [[nodiscard]] const cuda::Calls& calls() const { return library_->calls(); }
  [[nodiscard]] const Library& library() const { return *library_; }

  // The error names the function and its code: "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2)".
  // Errc::unsupported also for a function that is not used with this library.
  template <class... Parameters>
  [[nodiscard]] Status run(const cuda::Call<cuda::Return(Parameters...)>& call,
                           std::type_identity_t<Parameters>... arguments) const {
    if (call.address == nullptr) return not_used(call.name);
    const InCall in_call(*watch_, call.name);
    return status_of(call.name, call.address(arguments...));
  }

  // For work that can still be running: false while it runs.
  template <class... Parameters>
  [[nodiscard]] Result<bool> is_through(const cuda::Call<cuda::Return(Parameters...)>& call,
                                        std::type_identity_t<Parameters>... arguments) const {
    if (call.address == nullptr) return not_used(call.name);
    const InCall in_call(*watch_, call.name);
    const cuda::Return code = call.address(arguments...);
    if (code == cuda::kNotReady) return false;
    TRY_STATUS(status_of(call.name, code));
    return true;
  }

  // The same for releases: a GPU that fails to release has no remedy.
  template <class... Parameters>
  void give_back(const cuda::Call<cuda::Return(Parameters...)>& call,
                 std::type_identity_t<Parameters>... arguments) const {
    if (call.address == nullptr) return;
    const InCall in_call(*watch_, call.name);
    call.address(arguments...);
  }

  // Records the next launch for the monitoring thread: a kernel that never ends shows only in a later call.
  void note_kernel(const char* name) const { watch_->kernel = name; }

  // The UUID of the other GPU that the next calls involve; the text must stay valid. null: none.
  void note_peer(const char* uuid) const { watch_->peer = uuid; }

  // Errc::conflict after a stop request.
  [[nodiscard]] Status go_on() const;

 private:
  [[nodiscard]] Status status_of(const char* name, cuda::Return code) const;
  [[nodiscard]] static tl::unexpected<Error> not_used(const char* name);

  const Library* library_;
  Watch* watch_;
};

// A GPU as this process sees it: CUDA_VISIBLE_DEVICES, or HIP_VISIBLE_DEVICES for AMD, hides and reorders
// GPUs.
struct GpuFacts {
  cuda::Device device = 0;
  int index = 0;
  std::string name;
  std::string uuid;         // "GPU-01234567-89ab-..."; NVIDIA only, as is the capability
  std::string pci_address;  // "0000:3b:00.0"
  int capability_major = 0;
  int capability_minor = 0;
  unsigned multiprocessors = 0;  // NVIDIA only
  std::size_t memory_bytes = 0;

  // "8.0" is 80.
  [[nodiscard]] int capability() const { return capability_major * 10 + capability_minor; }
};

// The GPUs that the driver found at its initialisation. Errc::not_found: the driver has no GPU.
[[nodiscard]] Result<std::vector<GpuFacts>> list_gpus(const Driver& driver);

// The GPUs that `wanted` names by index, UUID (a unique prefix is sufficient) or PCI address; all if it is
// empty. Each once, in the order of the driver.
[[nodiscard]] Result<std::vector<GpuFacts>> choose_gpus(const std::vector<GpuFacts>& all,
                                                        const std::vector<std::string>& wanted);

// The PCI addresses of `wanted` that no GPU has: the CUDA driver can hide a GPU, or omit a bad one.
[[nodiscard]] std::vector<std::string> addresses_not_listed(const std::vector<GpuFacts>& all,
                                                            const std::vector<std::string>& wanted);

}  // namespace autopilot::probes::gpu
