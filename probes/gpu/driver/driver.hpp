// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>

#include "probes/gpu/driver/library.hpp"

namespace autopilot::probes::gpu {

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
    if (call.address == nullptr) return not_asked_for(call.name);
    const InCall in_call(*watch_, call.name);
    return status_of(call.name, call.address(arguments...));
  }

  // For work that can still be running: false while it runs.
  template <class... Parameters>
  [[nodiscard]] Result<bool> is_through(const cuda::Call<cuda::Return(Parameters...)>& call,
                                        std::type_identity_t<Parameters>... arguments) const {
    if (call.address == nullptr) return not_asked_for(call.name);
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
  [[nodiscard]] static tl::unexpected<Error> not_asked_for(const char* name);

  const Library* library_;
  Watch* watch_;
};

}  // namespace autopilot::probes::gpu
