// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "probes/net/iperf/result.hpp"
#include "probes/net/processes/crew.hpp"

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

// Longest text of such a failure.
inline constexpr std::size_t kLongestFailure = 300;

// The program is not in PATH.
[[nodiscard]] Failure failure_without_program(Tool tool);

// The test needs GPU memory, and the program is built without CUDA.
[[nodiscard]] std::optional<Failure> failure_without_cuda(const PerftestTest& test, bool has_cuda);

// A program that failed: the reason from its output, and its last lines.
[[nodiscard]] Failure failure_of_end(const PerftestTest& test, const ChildEnd& end, std::string_view output);

// A program that succeeded, but whose results are malformed; the text has the cause.
[[nodiscard]] Failure failure_of_figures(const PerftestTest& test, const Error& error);

// Adds the name of the test to the sentence.
[[nodiscard]] Failure failure_at(const PerftestTest& test, Reason reason, const std::string& sentence);

// Of one message, in one direction.
struct PerftestLatency {
  double typical_microseconds = 0;
  double p99_microseconds = 0;
  double max_microseconds = 0;
};

// Bits per second, from the output of ib_write_bw or ib_read_bw. malformed: a missing table, more than one
// row, a missing column, another unit, or an invalid number; the text names it.
[[nodiscard]] Result<double> parse_perftest_bandwidth(std::string_view output);

// The same for ib_send_lat.
[[nodiscard]] Result<PerftestLatency> parse_perftest_latency(std::string_view output);

}  // namespace autopilot::probes::net
