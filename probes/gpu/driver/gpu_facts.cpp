// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/driver/gpu_facts.hpp"

#include <algorithm>
#include <array>

#include "core/parse.hpp"

namespace autopilot::probes::gpu {
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
