// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>

#include "probes/gpu/driver/library.hpp"

namespace autopilot::probes::gpu {

// Between who calls the driver and who watches over it. Thread-safe.
struct Watch {
  std::atomic<const char*> call = nullptr;    // what the thread is in, and may hang in
  std::atomic<std::uint64_t> calls = 0;       // how many it has begun
  std::atomic<const char*> kernel = nullptr;  // that it launched last
  std::atomic<const char*> peer = nullptr;    // UUID of another GPU that its calls are about as well
  std::atomic<bool> stop = false;             // it shall free everything and end
};

// A call that may hang, from here to the end of the block.
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
  // Both must outlive it.
  Driver(const Library& library, Watch& watch) : library_(&library), watch_(&watch) {}

  [[nodiscard]] const cuda::Calls& calls() const { return library_->calls(); }
  [[nodiscard]] const Library& library() const { return *library_; }

  // The error says which function gave what: "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2)".
  // Errc::unsupported also of one that this library is not asked for.
  template <class... Parameters>
  [[nodiscard]] Status run(const cuda::Call<cuda::Return(Parameters...)>& call,
                           std::type_identity_t<Parameters>... arguments) const {
    if (call.address == nullptr) return not_asked_for(call.name);
    const InCall in_call(*watch_, call.name);
    return status_of(call.name, call.address(arguments...));
  }

  // Of what may go on beside us: false while it does.
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

  // The same for what is given back: nobody can do anything about a GPU that does not take it.
  template <class... Parameters>
  void give_back(const cuda::Call<cuda::Return(Parameters...)>& call,
                 std::type_identity_t<Parameters>... arguments) const {
    if (call.address == nullptr) return;
    const InCall in_call(*watch_, call.name);
    call.address(arguments...);
  }

  // What is about to be launched, for who watches: a kernel that never ends shows in a later call.
  void note_kernel(const char* name) const { watch_->kernel = name; }

  // The other GPU that the next calls are about as well, by its UUID, which stays; null: none.
  void note_peer(const char* uuid) const { watch_->peer = uuid; }

  // Errc::conflict once the watch says stop.
  [[nodiscard]] Status go_on() const;

 private:
  [[nodiscard]] Status status_of(const char* name, cuda::Return code) const;
  [[nodiscard]] static tl::unexpected<Error> not_asked_for(const char* name);

  const Library* library_;
  Watch* watch_;
};

}  // namespace autopilot::probes::gpu
