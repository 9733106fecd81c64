// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/rdma_commands.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/parse.hpp"
#include "core/subject.hpp"

namespace autopilot::probes::net {
namespace {

constexpr int kMostQueues = 128;
// A limit is held message by message: below it there would be none in a second.
constexpr std::uint64_t kLeastRdmaBitsPerSecond = 1'000'000;

[[noreturn]] void refuse(const std::string& option, const std::string& what) {
  throw CLI::ValidationError(option, what);
}

void add_address(CLI::App& command, const std::string& name, Address& address, const std::string& about) {
  command
      .add_option_function<std::string>(
          name,
          [name, &address](const std::string& text) {
            auto parsed = parse_address(text);
            if (!parsed) refuse(name, parsed.error().what);
            if (parsed->is_ipv6) refuse(name, parsed->text + ": tests of RDMA go over IPv4 alone");
            address = std::move(*parsed);
          },
          about)
      ->required()
      ->type_name("ADDRESS");
}

void add_device(CLI::App& command, Device& device) {
  command
      .add_option_function<std::string>(
          "--device",
          [&device](const std::string& text) {
            auto parsed = parse_device(text);
            if (!parsed)
              refuse("--device", "'" + to_printable(text, 80) + "' is no device such as mlx5_0 or mlx5_0/1");
            device.name = std::move(parsed->name);
            device.port = parsed->port;
          },
          "RDMA device, and its port where that is not 1")
      ->required()
      ->type_name("DEVICE[/PORT]");
}

void add_gpu(CLI::App& command, Device& device) {
  command
      .add_option_function<std::string>(
          "--gpu",
          [&device](const std::string& text) {
            const auto address = canonical_pci_address(text);
            if (!address)
              refuse("--gpu", "'" + to_printable(text, 80) + "' is no PCI address such as 0000:1b:00.0");
            device.gpu = *address;
          },
          "GPU in whose memory the buffers are; without it in that of the host")
      ->type_name("PCI");
}

void add_ports(CLI::App& command, std::array<int, kTools.size()>& ports) {
  command
      .add_option_function<std::string>(
          "--port",
          [&ports](const std::string& text) {
            const auto parsed = parse_ports(text);
            if (!parsed || parsed->size() != ports.size())
              refuse("--port", "'" + to_printable(text, 80) + "' is no three ports such as 4001,4002,4003");
            std::copy(parsed->begin(), parsed->end(), ports.begin());
          },
          "Of the three servers, as they tell them")
      ->required()
      ->type_name("WRITE,READ,LATENCY");
}

void add_limit(CLI::App& command, std::optional<std::uint64_t>& limit) {
  command
      .add_option_function<std::string>(
          "--limit",
          [&limit](const std::string& text) {
            limit = parse_bit_rate(text);
            if (!limit || *limit < kLeastRdmaBitsPerSecond)
              refuse("--limit",
                     "'" + to_printable(text, 80) + "' is no rate of 1M or more, in bits per second");
          },
          "The most that a test takes, bits per second")
      ->type_name("BITS");
}

void add_seconds(CLI::App& command, const std::string& name, int& seconds, int most,
                 const std::string& about) {
  command.add_option(name, seconds, about)->check(CLI::Range(1, most))->capture_default_str();
}

void add_queues(CLI::App& command, int& queues) {
  command.add_option("--queues", queues, "Pairs of queues of a test of bandwidth")
      ->check(CLI::Range(1, kMostQueues))
      ->capture_default_str();
}

const CLI::App* add_serve(CLI::App& app, RdmaServeOptions& options) {
  CLI::App* command = app.add_subcommand("rdma-serve", "Answers one rdma-measure");
  add_address(*command, "--bind", options.bind, "Address of this machine");
  add_device(*command, options.device);
  add_gpu(*command, options.device);
  add_seconds(*command, "--seconds", options.seconds, kMostServeSeconds, "Then all end");
  add_seconds(*command, "--test-seconds", options.test_seconds, kMostSeconds, "As the other end's --seconds");
  add_queues(*command, options.queues);
  return command;
}

const CLI::App* add_measure(CLI::App& app, RdmaMeasureOptions& options) {
  CLI::App* command = app.add_subcommand("rdma-measure", "Measures RDMA to a rdma-serve");
  add_address(*command, "--to", options.to, "Address of the servers");
  add_address(*command, "--bind", options.bind, "Own address to use");
  add_device(*command, options.device);
  add_gpu(*command, options.device);
  add_ports(*command, options.ports);
  add_seconds(*command, "--seconds", options.seconds, kMostSeconds, "That count, of each bandwidth");
  add_queues(*command, options.queues);
  add_limit(*command, options.bits_per_second);
  return command;
}

const CLI::App* add_loopback(CLI::App& app, RdmaLoopbackOptions& options) {
  CLI::App* command = app.add_subcommand("rdma-loopback", "Measures RDMA from a device to itself");
  add_device(*command, options.device);
  add_gpu(*command, options.device);
  add_seconds(*command, "--seconds", options.seconds, kMostSeconds, "That count");
  add_queues(*command, options.queues);
  return command;
}

}  // namespace

RdmaCommands::RdmaCommands(CLI::App& app)
    : serve_command_(add_serve(app, serve_)),
      measure_command_(add_measure(app, measure_)),
      loopback_command_(add_loopback(app, loopback_)) {}

std::optional<Options> RdmaCommands::asked() const {
  if (serve_command_->parsed()) return serve_;
  if (measure_command_->parsed()) return measure_;
  if (loopback_command_->parsed()) return loopback_;
  return std::nullopt;
}

}  // namespace autopilot::probes::net
