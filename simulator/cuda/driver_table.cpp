// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "core/yaml.hpp"

namespace autopilot::simulator::cuda {

CallFaults read_call_faults(const YamlNode& node, const std::string& code, YamlProblems& problems) {
  CallFaults calls;
  for (const YamlMember& member : node.members) {
    YamlMap map(member.value, member.key, problems);
    CallFault fault{.kind = CallFault::Kind::code, .code = 0, .after = map.integer("after").value_or(0)};
    const std::string result = map.required_word("result");
    if (result == "hang")
      fault.kind = CallFault::Kind::hang;
    else if (result == "abort")
      fault.kind = CallFault::Kind::abort;
    else if (const auto number = parse_number<int>(result); number && *number > 0)
      fault.code = *number;
    else
      problems.add(member.line, member.key + ": expected hang, abort or the number of a " + code);
    calls[member.key] = fault;
  }
  return calls;
}

int act(const CallFault& fault) {
  switch (fault.kind) {
    case CallFault::Kind::code:
      return fault.code;
    case CallFault::Kind::abort:
      std::abort();
    case CallFault::Kind::hang:
      break;
  }
  for (;;)
    ::pause();
}

namespace {

constexpr std::size_t kMostGpus = 64;
constexpr std::int64_t kMostMultiprocessors = 1024;
constexpr const char* kCode = "CUresult";
constexpr std::int64_t kMostMiB = 4096;  // the memory is allocated on the host

std::uint64_t bits_of(YamlMap& map, std::string_view key) {
  const auto word = map.word(key);
  const auto bits = word ? parse_hex<std::uint64_t>(*word) : std::nullopt;
  if (!bits)
    map.problem(map.line_of(key), "`" + std::string(key) + "`: expected a hexadecimal number such as 0x4");
  return bits.value_or(0);
}

std::int64_t integer_within(YamlMap& map, std::string_view key, std::int64_t least, std::int64_t most,
                            std::int64_t otherwise) {
  const std::int64_t value = map.integer(key).value_or(otherwise);
  if (value >= least && value <= most) return value;
  map.problem(map.line_of(key), "`" + std::string(key) + "` is not from " + std::to_string(least) + " to " +
                                    std::to_string(most));
  return otherwise;
}

void read_speed(YamlMap& map, std::string_view key, double& speed) {
  speed = map.number(key).value_or(speed);
  if (speed > 0) return;
  map.problem(map.line_of(key), "`" + std::string(key) + "`: expected a number above 0");
  speed = 1;
}

std::array<unsigned char, 16> read_uuid(YamlMap& map) {
  std::string digits = map.required_word("uuid");
  if (digits.starts_with("GPU-")) digits.erase(0, 4);
  std::erase(digits, '-');
  std::array<unsigned char, 16> uuid{};
  const auto bytes = from_hex(digits);
  if (bytes && bytes->size() == uuid.size())
    std::copy(bytes->begin(), bytes->end(), uuid.begin());
  else
    map.problem(map.line_of("uuid"), "`uuid`: expected GPU- and 32 hexadecimal digits");
  return uuid;
}

int read_capability(YamlMap& map) {
  const std::string word = map.word("compute_capability").value_or("9.0");
  const auto parts = split(word, '.');
  const auto major = parse_number<int>(parts.front());
  const auto minor = parse_number<int>(parts.back());
  if (parts.size() == 2 && major && minor && *major > 0 && *major < 100 && *minor >= 0 && *minor < 10)
    return *major * 10 + *minor;
  map.problem(map.line_of("compute_capability"), "`compute_capability`: expected a version such as \"9.0\"");
  return 90;
}

void read_faults(YamlMap& map, YamlProblems& problems, GpuTable& gpu) {
  if (const YamlNode* list = map.list("wrong_bits"))
    for (const YamlNode& node : list->items) {
      YamlMap one = map.nested(node, "wrong_bits");
      const auto where = one.required_integer("multiprocessor");
      gpu.wrong_bits[static_cast<unsigned>(where)] = bits_of(one, "bits");
    }
  if (const YamlNode* list = map.list("stuck"))
    for (const YamlNode& node : list->items) {
      YamlMap one = map.nested(node, "stuck");
      const auto offset =
          static_cast<std::uint64_t>(std::max<std::int64_t>(one.required_integer("offset"), 0));
      gpu.stuck.push_back({.offset = offset / 8 * 8, .bits = bits_of(one, "bits")});
    }
  if (map.has("wrong_wgmma")) gpu.wrong_wgmma = bits_of(map, "wrong_wgmma");
  if (map.has("copy_bits")) gpu.copy_bits = bits_of(map, "copy_bits");
  if (const YamlNode* calls = map.map("calls")) gpu.calls = read_call_faults(*calls, kCode, problems);
}

GpuTable read_gpu(const YamlNode& node, YamlProblems& problems) {
  YamlMap map(node, "gpu", problems);
  GpuTable gpu;
  gpu.name = map.word("name").value_or("Simulated GPU");
  gpu.uuid = read_uuid(map);
  gpu.pci_address = map.required_word("pci_address");
  gpu.capability = read_capability(map);
  gpu.multiprocessors = static_cast<unsigned>(
      integer_within(map, "multiprocessors", 1, kMostMultiprocessors, gpu.multiprocessors));
  const auto memory = integer_within(map, "memory_mib", 1, kMostMiB, 64);
  const auto free = integer_within(map, "free_mib", 0, memory, memory);
  gpu.memory_bytes = static_cast<std::uint64_t>(memory) << 20;
  gpu.free_bytes = static_cast<std::uint64_t>(free) << 20;
  read_speed(map, "host_to_device_gb_per_s", gpu.host_to_device_gb_per_s);
  read_speed(map, "device_to_host_gb_per_s", gpu.device_to_host_gb_per_s);
  read_speed(map, "memory_gb_per_s", gpu.memory_gb_per_s);
  read_speed(map, "peer_gb_per_s", gpu.peer_gb_per_s);
  read_speed(map, "f64_tflops", gpu.f64_tflops);
  read_speed(map, "bf16_tflops", gpu.bf16_tflops);
  gpu.wgmma_tflops = gpu.bf16_tflops;
  read_speed(map, "wgmma_tflops", gpu.wgmma_tflops);
  gpu.has_peer_access = map.boolean("peer_access").value_or(true);
  gpu.runs_kernels = map.boolean("runs_kernels").value_or(true);
  read_faults(map, problems, gpu);
  return gpu;
}

}  // namespace

Result<DriverTable> parse_driver_table(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode root = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  DriverTable table;
  {
    YamlMap map(root, "driver", problems);
    table.version = static_cast<int>(integer_within(map, "version", 1000, 999'990, table.version));
    if (const YamlNode* calls = map.map("calls")) table.calls = read_call_faults(*calls, kCode, problems);
    if (const YamlNode* gpus = map.list("gpus"))
      for (const YamlNode& node : gpus->items)
        table.gpus.push_back(read_gpu(node, problems));
    if (table.gpus.size() > kMostGpus)
      problems.add(map.line_of("gpus"), "more than " + std::to_string(kMostGpus) + " GPUs");
  }
  TRY_STATUS(problems.status());
  return table;
}

}  // namespace autopilot::simulator::cuda
