// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autopilot::probes::net {

// The test of a perftest program, from the client's view.
enum class Tool : std::uint8_t {
  write_bandwidth,  // writes into the peer's memory
  read_bandwidth,   // reads the peer's memory
  send_latency,     // messages in both directions
};

// "ib_write_bw"
[[nodiscard]] std::string_view program_of(Tool tool);

// Message size; both sides must use the same.
inline constexpr int kBandwidthBytes = 65536;
inline constexpr int kLatencyBytes = 2;

// One port of an RDMA device of this machine.
struct Device {
  std::string name;
  int port = 1;
  // PCI address of the GPU whose memory holds the buffers of bandwidth tests; empty: memory of the host.
  std::string gpu{};
};

// "mlx5_0" or "mlx5_0/2". nullopt: other text.
[[nodiscard]] std::optional<Device> parse_device(std::string_view text);

// Option of a perftest version for the local address.
enum class SourceOption : std::uint8_t { source_ip, bind_source_ip };

// From the help text of the program. nullopt: it has no such option.
[[nodiscard]] std::optional<SourceOption> source_option_in(std::string_view help);

// From the help text: true if it supports buffers in GPU memory, which needs a build with CUDA.
[[nodiscard]] bool has_cuda_in(std::string_view help);

// One side of a test. Both sides must have the same seconds and queues.
struct PerftestTest {
  Tool tool = Tool::write_bandwidth;
  Device device;
  std::string address;  // local address
  std::optional<SourceOption> source_option{};
  std::string to{};  // empty: this side is the server
  int port = 0;      // TCP port of the control connection
  int seconds = 1;   // measured time
  int queues = 1;
  std::optional<std::uint64_t> bits_per_second{};  // limit; client only
};

// Seconds of a bandwidth test before and after the measured time.
inline constexpr int kMarginSeconds = 1;

// The test as arguments of the program, starting with its name.
[[nodiscard]] std::vector<std::string> perftest_arguments(const PerftestTest& test);

// Name of a test in messages: "ib_write_bw to 10.0.0.2 port 4000".
[[nodiscard]] std::string place_of(const PerftestTest& test);

}  // namespace autopilot::probes::net
