// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/driver/session.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "probes/gpu/kernels/gemm_bf16_wgmma.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr double kMostOfFree = 0.9;
constexpr unsigned kUsualSharedBytes = 48U << 10;  // default limit of a block

void* address_of(cuda::DevicePointer pointer) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the GPU, kept only
  return reinterpret_cast<void*>(pointer);
}

}  // namespace

Buffer::Buffer(Buffer&& other) noexcept
    : session_(other.session_),
      where_(other.where_),
      address_(std::exchange(other.address_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

// If the GPU is lost, these calls fail, and the end of the context frees the memory.
Buffer::~Buffer() {
  if (address_ == nullptr) return;
  const Driver& driver = session_->driver_;
  static_cast<void>(session_->make_current());
  if (where_ == Where::host) {
    driver.give_back(driver.calls().host_free, address_);
    return;
  }
  driver.give_back(driver.calls().memory_free, pointer());
  session_->used_bytes_ -= bytes_;
}

cuda::DevicePointer Buffer::pointer() const {
  return reinterpret_cast<cuda::DevicePointer>(address_);
}

Result<std::unique_ptr<Session>> Session::open(const Driver& driver, const GpuFacts& facts,
                                               double memory_share, In where) {
  std::unique_ptr<Session> session(new Session(driver, facts, where));
  TRY_STATUS(session->begin(memory_share));
  return session;
}

Session::~Session() {
  const cuda::Calls& calls = driver_.calls();
  if (context_ == nullptr && stream_ == nullptr) return;
  static_cast<void>(make_current());
  for (cuda::Event event : {begin_, end_, fork_})
    if (event != nullptr) driver_.give_back(calls.event_destroy, event);
  for (cuda::Stream stream : {stream_, second_stream_})
    if (stream != nullptr) driver_.give_back(calls.stream_destroy, stream);
  if (module_ != nullptr) driver_.give_back(calls.module_unload, module_);
  if (context_ != nullptr) give_context_back();
}

void Session::give_context_back() {
  const cuda::Calls& calls = driver_.calls();
  if (where_ == In::own_context) {
    driver_.give_back(calls.context_destroy, context_);
    return;
  }
  // Other holders can keep the context, so it must not remain current in a thread that no longer uses it.
  driver_.give_back(calls.context_set, nullptr);
  driver_.give_back(calls.primary_context_release, facts_.device);
}

Status Session::make_context() {
  const cuda::Calls& calls = driver_.calls();
  if (driver_.library().vendor() == Vendor::amd && where_ == In::primary_context) return make_current();
  if (where_ == In::own_context)
    return driver_.run(calls.context_create, &context_, cuda::kBlockingSync, facts_.device);
  TRY_STATUS(driver_.run(calls.primary_context_retain, &context_, facts_.device));
  return make_current();
}

Status Session::begin(double memory_share) {
  const cuda::Calls& calls = driver_.calls();
  TRY_STATUS(make_context());
  std::size_t total = 0;
  TRY_STATUS(driver_.run(calls.memory_info, &free_bytes_, &total));
  budget_bytes_ = static_cast<std::size_t>(
      std::min(static_cast<double>(total) * memory_share, static_cast<double>(free_bytes_) * kMostOfFree));
  if (budget_bytes_ < kLeastBytes)
    return fail(Errc::exhausted, "too little memory: " + std::to_string(free_bytes_ >> 20) + " of " +
                                     std::to_string(total >> 20) +
                                     " MiB are free, of which this test can use " +
                                     std::to_string(budget_bytes_ >> 20) + "; a test needs " +
                                     std::to_string(kLeastBytes >> 20));
  for (cuda::Stream* stream : {&stream_, &second_stream_})
    TRY_STATUS(driver_.run(calls.stream_create, stream, cuda::kStreamNonBlocking));
  for (cuda::Event* event : {&begin_, &end_, &fork_})
    TRY_STATUS(driver_.run(calls.event_create, event, 0));
  return {};
}

Status Session::load_kernels(std::string_view highest) {
  const auto texts = TRY(kernel_texts_for(facts_.capability(), highest));
  const auto begin = std::chrono::steady_clock::now();
  for (const KernelText& text : texts) {
    Status loaded = load(text);
    if (loaded) {
      kernels_ = text;
      load_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      return {};
    }
    if (loaded.error().code != Errc::unsupported) return loaded;
    if (!refused_kernels_) refused_kernels_ = text.level + ": " + loaded.error().what;
  }
  return fail(Errc::unsupported, *refused_kernels_);
}

// A text is unusable if its best kernel does not get the shared memory that it needs.
Status Session::load(const KernelText& text) {
  constexpr auto kWide = AUTOPILOT_GPU_KERNEL(gemm_bf16_wgmma);
  TRY_STATUS(driver_.run(driver_.calls().module_load, &module_, text.text->c_str()));
  if (!text.has(kWide.name)) return {};
  const auto function = function_of(kWide.name, kernels::kWgmmaBlock.shared_bytes);
  if (function) return {};
  driver_.give_back(driver_.calls().module_unload, std::exchange(module_, nullptr));
  const bool is_refused = function.error().code == Errc::internal;  // that value
  return fail(is_refused ? Errc::unsupported : function.error().code,
              std::string(kWide.name) + ": " + function.error().what);
}

Result<cuda::Function> Session::function_of(const char* name, unsigned shared_bytes) {
  cuda::Function function = nullptr;
  TRY_STATUS(driver_.run(driver_.calls().module_function, &function, module_, name));
  if (shared_bytes > kUsualSharedBytes)
    TRY_STATUS(driver_.run(driver_.calls().function_set_attribute, function, cuda::kMostSharedBytesOfLaunch,
                           static_cast<int>(shared_bytes)));
  return function;
}

Status Session::make_current() const {
  if (driver_.library().vendor() == Vendor::amd)
    return driver_.run(driver_.calls().device_set, facts_.device);
  return driver_.run(driver_.calls().context_set, context_);
}

Result<Buffer> Session::allocate(std::size_t bytes) {
  if (bytes > budget_bytes_ - used_bytes_)
    return fail(Errc::exhausted, std::to_string(bytes) + " bytes exceed the rest of the memory budget");
  cuda::DevicePointer pointer = 0;
  TRY_STATUS(driver_.run(driver_.calls().memory_allocate, &pointer, bytes));
  used_bytes_ += bytes;
  most_used_bytes_ = std::max(most_used_bytes_, used_bytes_);
  return Buffer(*this, Buffer::Where::gpu, address_of(pointer), bytes);
}

Result<Buffer> Session::allocate_on_host(std::size_t bytes) {
  void* address = nullptr;
  TRY_STATUS(driver_.run(driver_.calls().host_allocate, &address, bytes, cuda::kPortable));
  return Buffer(*this, Buffer::Where::host, address, bytes);
}

Status Session::launch_named(const char* name, Grid grid, void** arguments) {
  const auto function = TRY(function_of(name, grid.shared_bytes));
  driver_.note_kernel(name);
  return driver_.run(driver_.calls().launch, function, grid.blocks, 1, 1, grid.threads, 1, 1,
                     grid.shared_bytes, stream_, arguments, nullptr);
}

Status Session::copy_to_gpu(const Buffer& to, const void* from, std::size_t bytes) {
  return driver_.run(driver_.calls().copy_to_device, to.pointer(), from, bytes, stream_);
}

Status Session::read(void* to, const Buffer& from, std::size_t offset, std::size_t bytes) {
  TRY_STATUS(driver_.run(driver_.calls().copy_to_host, to, from.pointer() + offset, bytes, stream_));
  return wait();
}

Status Session::wait() {
  return driver_.run(driver_.calls().stream_synchronize, stream_);
}

Result<bool> Session::is_idle() const {
  return driver_.is_through(driver_.calls().stream_query, stream_);
}

Result<double> Session::seconds_of(const std::function<Status()>& work) {
  TRY_STATUS(driver_.run(driver_.calls().event_record, begin_, stream_));
  TRY_STATUS(work());
  TRY_STATUS(driver_.run(driver_.calls().event_record, end_, stream_));
  TRY_STATUS(wait());
  float milliseconds = 0;
  TRY_STATUS(driver_.run(driver_.calls().event_elapsed, &milliseconds, begin_, end_));
  if (!(milliseconds > 0)) return fail(Errc::malformed, "the clock of the GPU does not go forward");
  return static_cast<double>(milliseconds) / 1000;
}

Status Session::fork() {
  TRY_STATUS(driver_.run(driver_.calls().event_record, fork_, stream_));
  return driver_.run(driver_.calls().stream_wait, second_stream_, fork_, 0);
}

Status Session::join() {
  TRY_STATUS(driver_.run(driver_.calls().event_record, fork_, second_stream_));
  return driver_.run(driver_.calls().stream_wait, stream_, fork_, 0);
}

}  // namespace autopilot::probes::gpu
