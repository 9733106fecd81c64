// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"
#include "host/gpu/gpus.hpp"
#include "host/gpu/nvml_abi.h"

namespace autopilot::host {

// The library call that a thread is executing, for another thread that waits for it.
class CallWatch {
 public:
  // `name` must outlive the call.
  void begin(const char* name, MonoTime now) {
    since_.store(now.time_since_epoch().count());
    name_.store(name);
  }
  void end() { name_.store(nullptr); }

  // Null: no call is in progress.
  [[nodiscard]] const char* name() const { return name_.load(); }
  [[nodiscard]] MonoTime since() const { return MonoTime{Duration{since_.load()}}; }

 private:
  std::atomic<const char*> name_ = nullptr;
  std::atomic<Duration::rep> since_ = 0;
};

namespace nvml {

template <class Signature>
struct Function {
  const char* name;
  Signature* address = nullptr;  // null: the library has no function of that name
};

struct Functions {
#define AUTOPILOT_DECLARE(need, name, result, arguments) \
  std::type_identity<Function<result arguments>>::type name{#name};
  AUTOPILOT_NVML_FUNCTIONS(AUTOPILOT_DECLARE)
#undef AUTOPILOT_DECLARE
};

}  // namespace nvml

// The error of a missing or broken library: library_missing or library_broken.
struct NvmlProblem {
  DriverState state = DriverState::library_missing;
  std::string detail;
};

// The driver's library, loaded. Its calls may hang or crash the process, so only the helper process uses it.
// For one thread.
class NvmlLibrary {
 public:
  // Search order of open(""): first the loader's own search, then the paths of the GPU Operator, of container
  // images and of distributions.
  [[nodiscard]] static const std::vector<std::string>& search_places();
  // Loads exactly `path`, or for "" the first of search_places that loads. Calls no function of it. `watch`
  // shows other threads the call in progress; it outlives the library.
  [[nodiscard]] static tl::expected<NvmlLibrary, NvmlProblem> open(const std::string& path, CallWatch& watch);

  // The file that was loaded.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const nvml::Functions& functions() const { return functions_; }

  // Calls the function and counts the call. nvml::kSymbolAbsent, uncounted, if the library lacks the
  // function.
  template <class... Parameters, class... Arguments>
  nvml::Return call(const nvml::Function<nvml::Return(Parameters...)>& function, Arguments... arguments) {
    if (function.address == nullptr) return nvml::kSymbolAbsent;
    ++calls_;
    watch_->begin(function.name, mono_now());
    const nvml::Return code = function.address(arguments...);
    watch_->end();
    return code;
  }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }

  // The library's text for a code, and the code: "GPU is lost (15)".
  [[nodiscard]] std::string error_text(nvml::Return code) const;

 private:
  struct Close {
    void operator()(void* handle) const;
  };

  explicit NvmlLibrary(CallWatch& watch) : watch_(&watch) {}
  // Returns the names of missing required functions.
  std::vector<std::string> resolve();

  std::unique_ptr<void, Close> handle_;
  nvml::Functions functions_;
  std::string path_;
  std::uint64_t calls_ = 0;
  CallWatch* watch_;
};

// The state of the driver that the return code of nvmlInit shows.
[[nodiscard]] DriverState driver_state_of(nvml::Return init_code);
// The text in a buffer of the driver as printable ASCII.
[[nodiscard]] std::string driver_text(const char* text, std::size_t size);

// A number above the range becomes the largest one.
[[nodiscard]] std::int64_t saturated(unsigned long long number);
// The value of a field that is not a floating-point number.
[[nodiscard]] std::int64_t field_integer(const nvml::FieldValue& field);

inline constexpr unsigned kMaxNvmlGpus = 64;  // GPUs that are read

// Xid events from NVML. NVML delivers only events after the registration, so the registration is made early,
// and events are kept here until take(). For one thread.
class NvmlEvents {
 public:
  static constexpr int kMaxAtOnce = 256;     // events that one drain() reads
  static constexpr std::size_t kMost = 256;  // events kept
  // Events kept of one GPU and Xid; a further event replaces the newest of them.
  static constexpr std::size_t kMostAlike = 4;
  // Older events are in the kernel log, or nothing needs them.
  static constexpr Duration kKeptFor = std::chrono::minutes{2};

  explicit NvmlEvents(const Clock& clock) : clock_(clock) {}

  // Registers for the events of all GPUs of an initialised library; does nothing if that has already
  // succeeded. An error if no GPU can be registered.
  Status listen(NvmlLibrary& library);
  // Call when the library is shut down; events received so far are kept.
  void end();
  // Reads pending events without waiting, with one library call more than there are events. Does nothing
  // before listen() has succeeded.
  Status drain(NvmlLibrary& library);
  // Returns and forgets the events of the last kKeptFor, oldest first.
  [[nodiscard]] std::vector<GpuEvent> take();

 private:
  void add(GpuEvent event);

  const Clock& clock_;
  nvml::EventSet set_ = nullptr;
  std::map<nvml::Device, std::string> addresses_;  // of registered GPUs
  MonoTime drained_{};
  std::deque<GpuEvent> kept_events_;
};

}  // namespace autopilot::host
