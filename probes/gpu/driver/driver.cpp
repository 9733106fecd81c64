// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/driver/driver.hpp"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <string_view>

#include "core/parse.hpp"
#include "probes/gpu/driver/hip_abi.h"

namespace autopilot::probes::gpu {
namespace {

// The loader prints this text only if the file itself is missing.
bool is_about_missing_file(std::string_view message, std::string_view name) {
  return message.starts_with(name) &&
         message.substr(name.size()).starts_with(": cannot open shared object file: No such file");
}

}  // namespace

Result<SharedLibrary> SharedLibrary::open(const std::string& path, const std::string& what) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return SharedLibrary(path, handle);
  const std::string message = dlerror();
  if (is_about_missing_file(message, path))
    return fail(Errc::not_found, path + ": " + what + " is not installed");
  return fail(Errc::unsupported, message);
}

void* SharedLibrary::find(const char* name) const {
  return dlsym(handle_, name);
}

Status SharedLibrary::complete(const std::string& what_it_is) const {
  if (missing_.empty()) return {};
  return fail(Errc::unsupported, path_ + " " + what_it_is + ": it lacks" + missing_);
}

namespace cuda {
#define AUTOPILOT_HIP_CHECK(member, name, arguments)                             \
  static_assert(std::is_same_v<decltype(Calls::member), Call<Return arguments>>, \
                #name " has the arguments of CUDA's function");
AUTOPILOT_HIP_FUNCTIONS(AUTOPILOT_HIP_CHECK)
#undef AUTOPILOT_HIP_CHECK
}  // namespace cuda

namespace {

constexpr const char* kSimulatedCuda = "cuAutopilotSimulated";
constexpr const char* kSimulatedHip = "hipAutopilotSimulated";

#ifdef AUTOPILOT_EXPERIMENTAL_HIP
constexpr bool kHasHip = true;
#else
constexpr bool kHasHip = false;
#endif

}  // namespace

Status check_is_built_in(Vendor vendor) {
  if (kHasHip || vendor == Vendor::nvidia) return {};
  return fail(Errc::unsupported,
              "this program was built without HIP and RCCL, which are experimental; build it with "
              "-DAUTOPILOT_EXPERIMENTAL_HIP=ON");
}

std::vector<std::string> driver_libraries(Vendor vendor) {
  if (vendor == Vendor::nvidia) return {kDriverLibrary};
  return {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
}

Result<Library> Library::open(const std::string& path, Vendor vendor) {
  TRY_STATUS(check_is_built_in(vendor));
  Library library(vendor);
  TRY_STATUS(vendor == Vendor::amd ? library.load_hip(path) : library.load_cuda(path));
  return library;
}

Result<Library> Library::open_first(const std::vector<std::string>& paths, Vendor vendor) {
  std::string before;
  for (const std::string& path : paths) {
    auto library = open(path, vendor);
    const bool is_there = library || library.error().code != Errc::not_found;
    if (is_there) return library;
    if (&path == &paths.back()) return fail(Errc::not_found, before + library.error().what);
    before += path + ", ";
  }
  return fail(Errc::internal, "missing name of a driver library");
}

Status Library::load_cuda(const std::string& path) {
  auto file = TRY(SharedLibrary::open(path, "CUDA driver"));
#define AUTOPILOT_CUDA_LOAD(member, name, arguments) file.load(#name, calls_.member.address);
  AUTOPILOT_CUDA_FUNCTIONS(AUTOPILOT_CUDA_LOAD)
#undef AUTOPILOT_CUDA_LOAD
  is_simulated_ = file.find(kSimulatedCuda) != nullptr;
  return file.complete("is not a CUDA driver, or is older than 450");
}

Status Library::load_hip(const std::string& path) {
  auto file = TRY(SharedLibrary::open(path, "HIP"));
#define AUTOPILOT_HIP_LOAD(member, hip_name, arguments) \
  calls_.member.name = #hip_name;                       \
  file.load(#hip_name, calls_.member.address);
  AUTOPILOT_HIP_FUNCTIONS(AUTOPILOT_HIP_LOAD)
#undef AUTOPILOT_HIP_LOAD
#define AUTOPILOT_HIP_LOAD(result, name, arguments) file.load(#name, hip_error_name_);
  AUTOPILOT_HIP_ERROR_NAME(AUTOPILOT_HIP_LOAD)
#undef AUTOPILOT_HIP_LOAD
  is_simulated_ = file.find(kSimulatedHip) != nullptr;
  return file.complete("is not HIP, or is older than 4.2");
}

const char* Library::name_of(cuda::Return code) const {
  if (vendor_ == Vendor::amd) return hip_error_name_(code);
  const char* name = nullptr;
  return calls_.error_name.address(code, &name) == cuda::kSuccess ? name : nullptr;
}

std::string Library::text_of(cuda::Return code) const {
  const char* name = name_of(code);
  const char* type = vendor_ == Vendor::amd ? "hipError_t" : "CUresult";
  return std::string(name == nullptr ? type : name) + " (" + std::to_string(code) + ")";
}

namespace {

Errc errc_of_code(cuda::Return code) {
  switch (code) {
    case cuda::kOutOfMemory:
      return Errc::exhausted;
    case cuda::kNoBinaryForGpu:
    case cuda::kInvalidPtx:
    case cuda::kUnsupportedPtxVersion:
    case cuda::kNotSupported:
    case cuda::kPeerAccessUnsupported:
      return Errc::unsupported;
    case cuda::kNotPermitted:
      return Errc::denied;
    case cuda::kInvalidValue:
    case cuda::kInvalidHandle:
      return Errc::internal;
    default:
      return Errc::unavailable;
  }
}

}  // namespace

Status Driver::status_of(const char* name, cuda::Return code) const {
  if (code == cuda::kSuccess) return {};
  return fail(errc_of_code(code), std::string(name) + ": " + library_->text_of(code));
}

tl::unexpected<Error> Driver::not_used(const char* name) {
  return fail(Errc::unsupported, std::string(name) + ": not used with this driver's library");
}

Status Driver::go_on() const {
  if (watch_->stop) return fail(Errc::conflict, "stopped early");
  return {};
}

namespace {

std::string uuid_text(const cuda::Uuid& uuid) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid.bytes[i] >> 4];
    text += kDigits[uuid.bytes[i] & 0xf];
  }
  return text;
}

Result<int> attribute_of(const Driver& driver, cuda::Device device, int attribute) {
  int value = 0;
  TRY_STATUS(driver.run(driver.calls().device_attribute, &value, attribute, device));
  return value;
}

// Facts that tests with kernels need, and the names of an NVIDIA GPU.
Status read_cuda_facts(const Driver& driver, GpuFacts& gpu) {
  cuda::Uuid uuid{};
  TRY_STATUS(driver.run(driver.calls().device_uuid, &uuid, gpu.device));
  gpu.uuid = uuid_text(uuid);
  gpu.capability_major = TRY(attribute_of(driver, gpu.device, cuda::kComputeCapabilityMajor));
  gpu.capability_minor = TRY(attribute_of(driver, gpu.device, cuda::kComputeCapabilityMinor));
  const int multiprocessors = TRY(attribute_of(driver, gpu.device, cuda::kMultiprocessorCount));
  gpu.multiprocessors = static_cast<unsigned>(std::max(multiprocessors, 1));
  return {};
}

Result<GpuFacts> read_gpu(const Driver& driver, int index) {
  const cuda::Calls& calls = driver.calls();
  GpuFacts gpu;
  gpu.index = index;
  TRY_STATUS(driver.run(calls.device_get, &gpu.device, index));
  std::array<char, 96> name{};
  TRY_STATUS(driver.run(calls.device_name, name.data(), static_cast<int>(name.size() - 1), gpu.device));
  gpu.name = to_printable(name.data());
  std::array<char, 32> address{};
  TRY_STATUS(
      driver.run(calls.device_pci_address, address.data(), static_cast<int>(address.size() - 1), gpu.device));
  gpu.pci_address = to_lower(to_printable(address.data()));
  TRY_STATUS(driver.run(calls.device_memory, &gpu.memory_bytes, gpu.device));
  if (driver.library().vendor() == Vendor::nvidia) TRY_STATUS(read_cuda_facts(driver, gpu));
  return gpu;
}

bool names(const std::string& word, const GpuFacts& gpu) {
  if (word == std::to_string(gpu.index)) return true;
  const std::string low = to_lower(word);
  return low == gpu.pci_address || (low.starts_with("gpu-") && to_lower(gpu.uuid).starts_with(low));
}

Result<int> index_of(const std::vector<GpuFacts>& all, const std::string& word) {
  std::vector<int> found;
  for (const GpuFacts& gpu : all)
    if (names(word, gpu)) found.push_back(gpu.index);
  if (found.size() == 1) return found.front();
  if (!found.empty())
    return fail(Errc::malformed, "--gpus: '" + to_printable(word, 80) + "' matches several UUIDs");
  return fail(Errc::not_found, "--gpus: unknown GPU '" + to_printable(word, 80) + "'; expected 0 to " +
                                   std::to_string(all.size() - 1) + ", a UUID or a PCI address");
}

// "0000:3b:00.0"
bool is_address(std::string_view word) {
  return word.size() == 12 && word[4] == ':' && word[7] == ':' && word[10] == '.';
}

}  // namespace

Result<std::vector<GpuFacts>> list_gpus(const Driver& driver) {
  TRY_STATUS(driver.run(driver.calls().init, 0));
  int count = 0;
  TRY_STATUS(driver.run(driver.calls().device_count, &count));
  if (count <= 0) return fail(Errc::not_found, "the driver has no GPU for this process");
  std::vector<GpuFacts> gpus;
  for (int index = 0; index < count; ++index)
    gpus.push_back(TRY(read_gpu(driver, index)));
  return gpus;
}

Result<std::vector<GpuFacts>> choose_gpus(const std::vector<GpuFacts>& all,
                                          const std::vector<std::string>& wanted) {
  if (wanted.empty()) return all;
  std::vector<bool> chosen(all.size(), false);
  for (const std::string& word : wanted)
    chosen[static_cast<std::size_t>(TRY(index_of(all, word)))] = true;
  std::vector<GpuFacts> gpus;
  for (const GpuFacts& gpu : all)
    if (chosen[static_cast<std::size_t>(gpu.index)]) gpus.push_back(gpu);
  return gpus;
}

std::vector<std::string> addresses_not_listed(const std::vector<GpuFacts>& all,
                                              const std::vector<std::string>& wanted) {
  std::vector<std::string> missing;
  for (const std::string& word : wanted) {
    const bool is_listed =
        std::any_of(all.begin(), all.end(), [&word](const GpuFacts& gpu) { return names(word, gpu); });
    if (is_address(word) && !is_listed) missing.push_back(to_lower(word));
  }
  return missing;
}

}  // namespace autopilot::probes::gpu
