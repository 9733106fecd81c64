// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autopilot::probes::net {

// What a program of perftest does, seen from the end that asks.
enum class Tool : std::uint8_t {
  write_bandwidth,  // writes into the peer's memory
  read_bandwidth,   // reads the peer's memory
  send_latency,     // messages to and fro
};

// "ib_write_bw"
[[nodiscard]] std::string_view program_of(Tool tool);

// The size of a message: both ends must mean the same.
inline constexpr int kBandwidthBytes = 65536;
inline constexpr int kLatencyBytes = 2;

// One port of an RDMA device of this machine.
struct Device {
  std::string name;
  int port = 1;
  // In whose memory the buffers of tests of bandwidth are, by its PCI address; empty: in that of the host.
  std::string gpu{};
};

// "mlx5_0" or "mlx5_0/2". Nothing: anything else.
[[nodiscard]] std::optional<Device> parse_device(std::string_view text);

// How a version of perftest is told which own address to use.
enum class SourceOption : std::uint8_t { source_ip, bind_source_ip };

// Of what a program prints when it is asked for help. Nothing: it knows no such option.
[[nodiscard]] std::optional<SourceOption> source_option_in(std::string_view help);

// Likewise: whether it can have its buffers in the memory of a GPU, for which it is built with CUDA.
[[nodiscard]] bool has_cuda_in(std::string_view help);

// One end of a test. Both must be told the same seconds and queues.
struct PerftestTest {
  Tool tool = Tool::write_bandwidth;
  Device device;
  std::string address;  // own
  std::optional<SourceOption> source_option{};
  std::string to{};  // empty: this end is the server
  int port = 0;      // of TCP: both ends agree over it
  int seconds = 1;   // that count
  int queues = 1;
  std::optional<std::uint64_t> bits_per_second{};  // the most; of a client
};

// Seconds of a test of bandwidth before and after those that count.
inline constexpr int kMarginSeconds = 1;

// As arguments of the program, the first of them its name.
[[nodiscard]] std::vector<std::string> perftest_arguments(const PerftestTest& test);

// Whom an end is about: "ib_write_bw to 10.0.0.2 port 4000".
[[nodiscard]] std::string place_of(const PerftestTest& test);

}  // namespace autopilot::probes::net
