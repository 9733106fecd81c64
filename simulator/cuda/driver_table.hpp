// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/yaml.hpp"

namespace autopilot::simulator::cuda {

// Misbehaviour of a call of a simulated library, from the call number `after` on.
struct CallFault {
  enum class Kind { code, hang, abort };
  Kind kind = Kind::code;
  int code = 0;  // return value
  std::int64_t after = 0;
};
using CallFaults = std::map<std::string, CallFault, std::less<>>;

// A map from names of calls to `{result: CODE or hang or abort, after: N}`. `code`: the library's name for
// its return codes, for messages.
[[nodiscard]] CallFaults read_call_faults(const YamlNode& node, const std::string& code,
                                          YamlProblems& problems);

// Performs the fault: returns the code, or never returns.
[[nodiscard]] int act(const CallFault& fault);

// Bits of a memory word that always read as ones.
struct StuckWord {
  std::uint64_t offset = 0;  // in an allocation, in bytes
  std::uint64_t bits = 0;
};

struct GpuTable {
  std::string name;
  std::array<unsigned char, 16> uuid{};
  std::string pci_address;
  int capability = 90;  // "9.0"
  unsigned multiprocessors = 4;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  double host_to_device_gb_per_s = 50;
  double device_to_host_gb_per_s = 50;
  double memory_gb_per_s = 3000;
  double peer_gb_per_s = 400;
  double f64_tflops = 60;
  double bf16_tflops = 600;
  double wgmma_tflops = 600;  // bf16, with the instructions of compute capability 9.0
  bool has_peer_access = true;
  bool runs_kernels = true;                      // false: launches succeed without effect
  std::map<unsigned, std::uint64_t> wrong_bits;  // multiprocessor -> bits that it flips in its results
  std::uint64_t wrong_wgmma = 0;  // bits that those instructions flip in products, on every multiprocessor
  std::vector<StuckWord> stuck;
  std::uint64_t copy_bits = 0;  // bits flipped in the first word of every copy to the host
  CallFaults calls;
};

// A machine with a CUDA driver, as the simulated library presents it.
struct DriverTable {
  int version = 12040;
  std::vector<GpuTable> gpus;
  CallFaults calls;  // calls without a GPU, such as cuInit
};

// Parses the YAML of tests and users; see docs/gpu-probe.md. Errc::malformed: every problem with its line.
[[nodiscard]] Result<DriverTable> parse_driver_table(std::string_view text, const std::string& file);

}  // namespace autopilot::simulator::cuda
