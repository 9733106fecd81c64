// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/rdma_commands.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/parse.hpp"
#include "core/subject.hpp"

namespace autopilot::probes::net {
namespace {

constexpr int kMostQueues = 128;
// The limit works per message: a lower one would send no message within a second.
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
            if (parsed->is_ipv6) refuse(name, parsed->text + ": RDMA tests need IPv4");
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
              refuse("--device",
                     "'" + to_printable(text, 80) + "' is not a device such as mlx5_0 or mlx5_0/1");
            device.name = std::move(parsed->name);
            device.port = parsed->port;
          },
          "RDMA device, with its port if that is not 1")
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
              refuse("--gpu", "'" + to_printable(text, 80) + "' is not a PCI address such as 0000:1b:00.0");
            device.gpu = *address;
          },
          "GPU with the buffers (default: memory of the host)")
      ->type_name("PCI");
}

void add_ports(CLI::App& command, std::array<int, kTools.size()>& ports) {
  command
      .add_option_function<std::string>(
          "--port",
          [&ports](const std::string& text) {
            const auto parsed = parse_ports(text);
            if (!parsed || parsed->size() != ports.size())
              refuse("--port",
                     "'" + to_printable(text, 80) + "': expected three ports such as 4001,4002,4003");
            std::copy(parsed->begin(), parsed->end(), ports.begin());
          },
          "Ports of the three servers, as printed by rdma-serve")
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
                     "'" + to_printable(text, 80) + "' is not a rate of at least 1M, in bits per second");
          },
          "Limit of a test, bits per second")
      ->type_name("BITS");
}

void add_seconds(CLI::App& command, const std::string& name, int& seconds, int most,
                 const std::string& about) {
  command.add_option(name, seconds, about)->check(CLI::Range(1, most))->capture_default_str();
}

void add_queues(CLI::App& command, int& queues) {
  command.add_option("--queues", queues, "Queue pairs of a bandwidth test")
      ->check(CLI::Range(1, kMostQueues))
      ->capture_default_str();
}

const CLI::App* add_serve(CLI::App& app, RdmaServeOptions& options) {
  CLI::App* command = app.add_subcommand("rdma-serve", "Serves one rdma-measure");
  add_address(*command, "--bind", options.bind, "Address of this machine");
  add_device(*command, options.device);
  add_gpu(*command, options.device);
  add_seconds(*command, "--seconds", options.seconds, kMostServeSeconds, "Time until all servers end");
  add_seconds(*command, "--test-seconds", options.test_seconds, kMostSeconds,
              "Must equal --seconds of rdma-measure");
  add_queues(*command, options.queues);
  return command;
}

const CLI::App* add_measure(CLI::App& app, RdmaMeasureOptions& options) {
  CLI::App* command = app.add_subcommand("rdma-measure", "Measures RDMA to an rdma-serve");
  add_address(*command, "--to", options.to, "Address of the servers");
  add_address(*command, "--bind", options.bind, "Local address");
  add_device(*command, options.device);
  add_gpu(*command, options.device);
  add_ports(*command, options.ports);
  add_seconds(*command, "--seconds", options.seconds, kMostSeconds,
              "Measured seconds of each bandwidth test");
  add_queues(*command, options.queues);
  add_limit(*command, options.bits_per_second);
  return command;
}

const CLI::App* add_loopback(CLI::App& app, RdmaLoopbackOptions& options) {
  CLI::App* command = app.add_subcommand("rdma-loopback", "Measures RDMA from a device to itself");
  add_device(*command, options.device);
  add_gpu(*command, options.device);
  add_seconds(*command, "--seconds", options.seconds, kMostSeconds, "Measured seconds");
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
