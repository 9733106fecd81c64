// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>

#include "core/yaml.hpp"
#include "host/files/tree_file.hpp"

namespace autopilot::simulator::cuda {
namespace {

constexpr const char* kTable = "AUTOPILOT_SIM_CUDA";
constexpr const char* kRecord = "AUTOPILOT_SIM_CUDA_RECORD";
constexpr unsigned kMostSharedBytes = 227U << 10;  // of compute capability 9.0

thread_local abi::Context current_context = nullptr;

DriverTable read_table() {
  const char* path = std::getenv(kTable);
  if (path == nullptr) {
    std::fprintf(stderr, "libcuda-sim: %s is not set\n", kTable);
    return {};
  }
  const auto text = host::read_tree_file(path, kMaxYamlBytes);
  auto table = text ? parse_driver_table(*text, path) : fail(text.error());
  if (table) return *std::move(table);
  std::fprintf(stderr, "libcuda-sim: %s\n", table.error().what.c_str());
  return {};
}

bool caches_kernels() {
  const char* disabled = std::getenv("CUDA_CACHE_DISABLE");
  return disabled == nullptr || std::string_view(disabled) != "1";
}

template <class Owner, class Handle>
abi::Return erase(Owner& owner, Handle handle) {
  return owner.erase(handle) == 1 ? abi::kSuccess : abi::kInvalidHandle;
}

template <class Tag>
Tag* keep(std::map<Tag*, std::unique_ptr<Tag>>& owner, Tag tag) {
  auto made = std::make_unique<Tag>(std::move(tag));
  Tag* handle = made.get();
  owner.emplace(handle, std::move(made));
  return handle;
}

abi::DevicePointer address_of(const unsigned char* memory) {
  return reinterpret_cast<abi::DevicePointer>(memory);
}

}  // namespace

Driver& Driver::instance() {
  static Driver driver;
  return driver;
}

Driver::Driver() : caches_kernels_(caches_kernels()), table_(read_table()), gpus_(table_.gpus.size()) {}

Driver::~Driver() {
  write_record();
}

abi::Return Driver::enter(const char* function, std::optional<std::size_t> gpu) {
  const CallFaults& faults = gpu ? table_.gpus[*gpu].calls : table_.calls;
  const auto fault = faults.find(std::string_view(function));
  if (fault == faults.end()) return abi::kSuccess;
  {
    const std::scoped_lock lock(mutex_);
    if ((gpu ? gpus_[*gpu].calls : calls_)[function]++ < fault->second.after) return abi::kSuccess;
  }
  return act(fault->second);
}

abi::Return Driver::enter_current(const char* function) {
  if (current_context == nullptr) return abi::kInvalidContext;
  return enter(function, current_context->gpu);
}

const GpuTable* Driver::gpu(abi::Device device) const {
  const auto index = static_cast<std::size_t>(device);
  return device >= 0 && index < table_.gpus.size() ? &table_.gpus[index] : nullptr;
}

abi::Context Driver::current() const {
  return current_context;
}

abi::Return Driver::make_current(abi::Context context) {
  const std::scoped_lock lock(mutex_);
  if (context != nullptr && !contexts_.contains(context)) return abi::kInvalidContext;
  current_context = context;
  return abi::kSuccess;
}

abi::Context Driver::make_context(std::size_t gpu) {
  const std::scoped_lock lock(mutex_);
  return current_context = keep(contexts_, abi::ContextTag{gpu});
}

abi::Return Driver::free_context(abi::Context context) {
  const std::scoped_lock lock(mutex_);
  if (current_context == context) current_context = nullptr;
  return contexts_.erase(context) == 1 ? abi::kSuccess : abi::kInvalidContext;
}

abi::Context Driver::retain_primary(std::size_t gpu) {
  const std::scoped_lock lock(mutex_);
  GpuState& state = gpus_[gpu];
  if (state.primary_holders++ == 0) state.primary = keep(contexts_, abi::ContextTag{gpu});
  return state.primary;
}

abi::Return Driver::release_primary(std::size_t gpu) {
  const std::scoped_lock lock(mutex_);
  GpuState& state = gpus_[gpu];
  if (state.primary_holders == 0) return abi::kInvalidContext;
  if (--state.primary_holders == 0) contexts_.erase(state.primary);
  return abi::kSuccess;
}

abi::Return Driver::allocate(abi::Context context, std::size_t bytes, abi::DevicePointer& pointer) {
  const std::scoped_lock lock(mutex_);
  GpuState& state = gpus_[context->gpu];
  if (bytes == 0) return abi::kInvalidValue;
  if (bytes > table_.gpus[context->gpu].free_bytes - state.used) return abi::kOutOfMemory;
  Allocation made{.gpu = context->gpu, .bytes = bytes, .memory = std::make_unique<unsigned char[]>(bytes)};
  pointer = address_of(made.memory.get());
  allocations_.emplace(pointer, std::move(made));
  state.used += bytes;
  state.peak = std::max(state.peak, state.used);
  return abi::kSuccess;
}

abi::Return Driver::free_memory(abi::DevicePointer pointer) {
  const std::scoped_lock lock(mutex_);
  const auto found = allocations_.find(pointer);
  if (found == allocations_.end()) return abi::kInvalidValue;
  gpus_[found->second.gpu].used -= found->second.bytes;
  gpus_[found->second.gpu].last.clear();
  allocations_.erase(found);
  return abi::kSuccess;
}

std::uint64_t Driver::free_bytes(std::size_t gpu) {
  const std::scoped_lock lock(mutex_);
  return table_.gpus[gpu].free_bytes - gpus_[gpu].used;
}

bool Driver::holds(abi::DevicePointer pointer, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  auto after = allocations_.upper_bound(pointer);
  if (after == allocations_.begin()) return false;
  const auto& [begin, allocation] = *--after;
  const std::uint64_t offset = pointer - begin;
  return offset <= allocation.bytes && bytes <= allocation.bytes - offset;
}

void Driver::touch(std::size_t gpu) {
  const std::scoped_lock lock(mutex_);
  gpus_[gpu].last.clear();
}

void* Driver::allocate_host(std::size_t bytes) {
  auto memory = std::make_unique<unsigned char[]>(bytes);
  void* pointer = memory.get();
  const std::scoped_lock lock(mutex_);
  host_.emplace(pointer, std::move(memory));
  return pointer;
}

abi::Return Driver::free_host(void* pointer) {
  const std::scoped_lock lock(mutex_);
  return host_.erase(pointer) == 1 ? abi::kSuccess : abi::kInvalidValue;
}

abi::Module Driver::load(abi::Context context, std::string text) {
  const std::scoped_lock lock(mutex_);
  return keep(modules_, abi::ModuleTag{.context = context, .text = std::move(text), .functions = {}});
}

abi::Return Driver::unload(abi::Module module) {
  const std::scoped_lock lock(mutex_);
  return erase(modules_, module);
}

abi::Return Driver::function_of(abi::Module module, const std::string& name, abi::Function& function) {
  const std::scoped_lock lock(mutex_);
  if (!modules_.contains(module)) return abi::kInvalidHandle;
  const HostKernel* kernel = find_kernel(name);
  if (kernel == nullptr || module->text.find(".entry " + name + "(") == std::string::npos)
    return abi::kNotFound;
  function = &module->functions.emplace(name, abi::FunctionTag{kernel}).first->second;
  return abi::kSuccess;
}

abi::Return Driver::allow_shared(abi::Function function, int bytes) {
  const std::scoped_lock lock(mutex_);
  if (bytes < 0 || static_cast<unsigned>(bytes) > kMostSharedBytes) return abi::kInvalidValue;
  function->most_shared_bytes = static_cast<unsigned>(bytes);
  return abi::kSuccess;
}

abi::Return Driver::launch(abi::Function function, unsigned blocks, unsigned threads, unsigned shared_bytes,
                           abi::Stream stream, void** arguments) {
  if (!is_known(stream)) return abi::kInvalidHandle;
  const HostKernel& kernel = *function->kernel;
  if (shared_bytes < kernel.shared_bytes || shared_bytes > function->most_shared_bytes)
    return abi::kInvalidValue;
  const Launch launch{
      .gpu = gpu_of(stream->context), .blocks = blocks, .threads = threads, .arguments = arguments};
  std::vector<std::uint64_t> key = kernel.values(arguments);
  for (const std::uint64_t more : {std::uint64_t{blocks}, std::uint64_t{threads},
                                   static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&kernel))})
    key.push_back(more);
  bool repeats = false;
  {
    const std::scoped_lock lock(mutex_);
    std::vector<std::uint64_t>& last = gpus_[stream->context->gpu].last;
    repeats = kernel.repeatable && last == key;
    last = std::move(key);
  }
  if (!repeats && launch.gpu.runs_kernels) kernel.run(launch);
  stream->now += kernel.seconds(launch);
  return abi::kSuccess;
}

abi::Stream Driver::make_stream(abi::Context context) {
  const std::scoped_lock lock(mutex_);
  return keep(streams_, abi::StreamTag{.context = context});
}

abi::Return Driver::free_stream(abi::Stream stream) {
  const std::scoped_lock lock(mutex_);
  return erase(streams_, stream);
}

bool Driver::is_known(abi::Stream stream) {
  const std::scoped_lock lock(mutex_);
  return streams_.contains(stream);
}

abi::Event Driver::make_event(abi::Context context) {
  const std::scoped_lock lock(mutex_);
  return keep(events_, abi::EventTag{.context = context});
}

abi::Return Driver::free_event(abi::Event event) {
  const std::scoped_lock lock(mutex_);
  return erase(events_, event);
}

bool Driver::is_known(abi::Event event) {
  const std::scoped_lock lock(mutex_);
  return events_.contains(event);
}

void Driver::write_record() const {
  const char* path = std::getenv(kRecord);
  if (path == nullptr) return;
  std::ofstream file(path);
  file << "{\"contexts\":" << contexts_.size() << ",\"allocations\":" << allocations_.size()
       << ",\"pinned\":" << host_.size() << ",\"modules\":" << modules_.size()
       << ",\"streams\":" << streams_.size() << ",\"events\":" << events_.size() << ",\"peak_bytes\":[";
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    file << (i == 0 ? "" : ",") << gpus_[i].peak;
  file << "],\"caches_kernels\":" << (caches_kernels_ ? "true" : "false") << "}\n";
}

}  // namespace autopilot::simulator::cuda
