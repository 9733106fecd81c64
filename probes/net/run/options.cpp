// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <utility>

#include "core/parse.hpp"
#include "core/subject.hpp"
#include "probes/net/iperf/result.hpp"
#include "probes/net/machine/listeners.hpp"

namespace autopilot::probes::net {
namespace {

// Limits of libiperf, except the number of processes.
constexpr int kMostStreams = 128;
constexpr int kMostProcesses = 64;
constexpr int kMostOmitSeconds = 60;
constexpr double kShortestSampleSeconds = 0.1;
constexpr double kLongestSampleSeconds = 60;
// A larger report would exceed kMostOutputBytes.
constexpr int kMostSamplesOfStreams = 10000;
// libiperf treats less than one bit as unlimited.
constexpr std::uint64_t kLeastBitsPerSecond = 1000;

constexpr const char* kFooter =
    "Examples:\n"
    "  autopilot-net-probe serve --bind 10.0.0.2 --port 5201 --count 4 --seconds 30\n"
    "  autopilot-net-probe measure --to 10.0.0.2 --interface ib0 --processes 4 --both\n"
    "  autopilot-net-probe measure --to 10.0.0.2 --limit 10G --seconds 10 --omit 2\n"
    "  autopilot-net-probe rdma-serve --bind 10.0.0.2 --device mlx5_0\n"
    "  autopilot-net-probe rdma-measure --to 10.0.0.2 --bind 10.0.0.1 \\\n"
    "    --device mlx5_0 --port 4001,4002,4003\n"
    "\n"
    "The other end may be the program iperf3; RDMA needs perftest at both ends.\n"
    "One line of JSON goes to standard output, progress to standard error.\n"
    "Exit codes: 0 done; 3 a test or a server failed; 64 usage;\n"
    "128 and the number of a signal that ended it.";

// The command line before validation across options.
struct CommandLine {
  std::string bind, to, port = std::to_string(kDefaultPort), interface, limit, cpus, numa;
  std::vector<std::string> allowed;
  ServeOptions serve;
  MeasureOptions measure;
  int samples = 0;
  bool is_reverse = false;
  bool is_both = false;
};

std::string is_address(const std::string& text) {
  const auto address = parse_address(text);
  return address ? std::string() : address.error().what;
}

std::string is_bit_rate(const std::string& text) {
  return parse_bit_rate(text) ? std::string()
                              : "'" + text + "' is not a rate such as 900M or 9.9G, in bits per second";
}

std::string is_processors(const std::string& text) {
  const auto list = parse_id_list(text);
  if (!list) return list.error().what;
  return list->empty() ? "missing processor" : std::string();
}

std::string is_port_range(const std::string& text) {
  return parse_port_range(text)
             ? std::string()
             : "'" + text + "' is not a port such as 5201, a range such as 5201-5300, or 0";
}

std::string is_ports(const std::string& text) {
  return parse_ports(text) ? std::string()
                           : "'" + text + "' is not a port such as 5201 or a list such as 5201,5203";
}

void add_pinning(CLI::App& app, CommandLine& line) {
  CLI::Option* cpus = app.add_option("--cpus", line.cpus, "Processors, one for each process in turn")
                          ->check(is_processors)
                          ->type_name("LIST");
  app.add_option("--numa", line.numa, "auto: run near the adapter of the interface")
      ->check(CLI::IsMember({"auto"}))
      ->type_name("auto")
      ->excludes(cpus);
}

CLI::App* add_serve(CLI::App& app, CommandLine& line) {
  CLI::App* serve = app.add_subcommand("serve", "Serves tests of other machines for a limited time");
  serve->add_option("--bind", line.bind, "Address of this machine")
      ->required()
      ->check(is_address)
      ->type_name("ADDRESS");
  serve->add_option("--port", line.port, "First port; a range; or 0 for any free port")
      ->check(is_port_range)
      ->type_name("PORT")
      ->capture_default_str();
  serve->add_option("--count", line.serve.count, "Servers, each on a port of its own")
      ->check(CLI::Range(1, kMostProcesses))
      ->capture_default_str();
  serve->add_option("--seconds", line.serve.seconds, "Time until all servers end")
      ->check(CLI::Range(1, kMostServeSeconds))
      ->capture_default_str();
  serve->add_flag("--once", line.serve.is_once, "Each server ends after one test");
  serve->add_option("--allow", line.allowed, "Refuse all other clients")
      ->delimiter(',')
      ->check(is_address)
      ->type_name("ADDRESS,...");
  add_pinning(*serve, line);
  return serve;
}

CLI::App* add_measure(CLI::App& app, CommandLine& line) {
  CLI::App* measure = app.add_subcommand("measure", "Measures the bandwidth to an iperf3 server");
  MeasureOptions& options = line.measure;
  measure->add_option("--to", line.to, "Address of the server")
      ->required()
      ->check(is_address)
      ->type_name("ADDRESS");
  measure->add_option("--port", line.port, "First port; further servers use the next ports")
      ->check(is_ports)
      ->type_name("PORT,...")
      ->capture_default_str();
  CLI::Option* bind =
      measure->add_option("--bind", line.bind, "Local address")->check(is_address)->type_name("ADDRESS");
  measure->add_option("--interface", line.interface, "Local interface")->type_name("IF")->excludes(bind);
  measure->add_option("--streams", options.streams, "TCP connections of each process")
      ->check(CLI::Range(1, kMostStreams))
      ->capture_default_str();
  measure->add_option("--processes", options.processes, "Client processes, each with its own server")
      ->check(CLI::Range(1, kMostProcesses))
      ->capture_default_str();
  measure->add_option("--seconds", options.seconds, "Measured seconds")
      ->check(CLI::Range(1, kMostSeconds))
      ->capture_default_str();
  measure->add_option("--omit", options.omit_seconds, "Uncounted seconds before the measurement")
      ->check(CLI::Range(0, kMostOmitSeconds))
      ->capture_default_str();
  CLI::Option* reverse =
      measure->add_flag("--reverse", line.is_reverse, "Data flows from the server to this machine");
  measure->add_flag("--both", line.is_both, "Both directions at once")->excludes(reverse);
  measure->add_option("--limit", line.limit, "Bits per second of all processes, each direction")
      ->check(is_bit_rate)
      ->type_name("BITS");
  measure->add_option("--samples", line.samples, "Number of samples (default: one for each second)")
      ->check(CLI::Range(1, kMostSeconds));
  add_pinning(*measure, line);
  return measure;
}

// The value of a text that the parser has validated.
template <class T>
T value_of(const std::optional<T>& value) {
  AUTOPILOT_ASSERT(value.has_value());
  return *value;
}

Pinning pinning_of(const CommandLine& line) {
  Pinning pinning;
  if (!line.cpus.empty()) pinning.processors = *parse_id_list(line.cpus);
  pinning.is_near_interface = !line.numa.empty();
  return pinning;
}

// Errors of option combinations; the text names the options.
void refuse(const std::string& text) {
  throw CLI::ValidationError(text);
}

ServeOptions serve_options(CommandLine& line) {
  ServeOptions& options = line.serve;
  options.bind = *parse_address(line.bind);
  options.ports = value_of(parse_port_range(line.port));
  for (const std::string& text : line.allowed)
    options.allowed.push_back(*parse_address(text));
  options.pinning = pinning_of(line);
  const auto is_reachable = [&](const Address& peer) { return peer.is_ipv6 == options.bind.is_ipv6; };
  if (!options.allowed.empty() && std::none_of(options.allowed.begin(), options.allowed.end(), is_reachable))
    refuse("--allow: none of the addresses can reach " + options.bind.text + ", which is of another family");
  if (options.allowed.size() > kMostPeers)
    refuse("--allow: at most " + std::to_string(kMostPeers) + " addresses");
  if (options.ports.last && *options.ports.last - options.ports.first + 1 < options.count)
    refuse("--port: the range has fewer ports than --count");
  if (!options.ports.has_choice() && options.ports.first + options.count - 1 > kMostPort)
    refuse("--port: the last of --count ports is above " + std::to_string(kMostPort));
  return options;
}

void check_amounts(const MeasureOptions& options) {
  const double sample_seconds = static_cast<double>(options.seconds) / options.samples;
  if (sample_seconds < kShortestSampleSeconds || sample_seconds > kLongestSampleSeconds)
    refuse("--samples: a sample lasts between 0.1 s and 60 s");
  if (options.samples > static_cast<int>(kMostSamples) ||
      options.samples * options.streams > kMostSamplesOfStreams)
    refuse("--samples: with so many --streams there are more than " + std::to_string(kMostSamplesOfStreams) +
           " of them");
  const auto streams =
      static_cast<std::uint64_t>(options.streams) * static_cast<std::uint64_t>(options.processes);
  if (options.bits_per_second && *options.bits_per_second / streams < kLeastBitsPerSecond)
    refuse("--limit: less than 1000 bits per second for each stream");
}

MeasureOptions measure_options(CommandLine& line) {
  MeasureOptions& options = line.measure;
  options.to = *parse_address(line.to);
  options.ports = value_of(parse_ports(line.port));
  if (!line.bind.empty()) options.bind = *parse_address(line.bind);
  if (!line.interface.empty()) options.interface = line.interface;
  if (!line.limit.empty()) options.bits_per_second = value_of(parse_bit_rate(line.limit));
  if (line.is_reverse) options.flow = Flow::from_peer;
  if (line.is_both) options.flow = Flow::both;
  options.pinning = pinning_of(line);
  options.samples =
      line.samples > 0 ? line.samples : std::min(options.seconds, kMostSamplesOfStreams / options.streams);
  if (options.bind && options.bind->is_ipv6 != options.to.is_ipv6)
    refuse("--bind: " + options.bind->text + " cannot reach " + options.to.text +
           ", which is of another family");
  if (options.ports.size() > 1 && options.ports.size() != static_cast<std::size_t>(options.processes))
    refuse("--port: several ports are one for each of --processes");
  if (options.ports[0] + options.processes - 1 > kMostPort && options.ports.size() == 1)
    refuse("--port: the last of --processes ports is above " + std::to_string(kMostPort));
  check_amounts(options);
  return options;
}

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

// The subcommands of RDMA.
class RdmaCommands {
 public:
  // Adds them to the program's.
  explicit RdmaCommands(CLI::App& app);

  // The options, after the command line is parsed. nullopt: another subcommand was used.
  [[nodiscard]] std::optional<Options> chosen() const;

 private:
  RdmaServeOptions serve_;
  RdmaMeasureOptions measure_;
  RdmaLoopbackOptions loopback_;
  const CLI::App* serve_command_;
  const CLI::App* measure_command_;
  const CLI::App* loopback_command_;
};

RdmaCommands::RdmaCommands(CLI::App& app)
    : serve_command_(add_serve(app, serve_)),
      measure_command_(add_measure(app, measure_)),
      loopback_command_(add_loopback(app, loopback_)) {}

std::optional<Options> RdmaCommands::chosen() const {
  if (serve_command_->parsed()) return serve_;
  if (measure_command_->parsed()) return measure_;
  if (loopback_command_->parsed()) return loopback_;
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_bit_rate(std::string_view text) {
  constexpr double kMostBits = 1e15;
  double factor = 1;
  if (text.ends_with('K') || text.ends_with('k')) factor = 1e3;
  if (text.ends_with('M')) factor = 1e6;
  if (text.ends_with('G')) factor = 1e9;
  if (factor > 1) text.remove_suffix(1);
  // Digits and at most one decimal point: no exponent, no sign.
  if (text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  const auto number = parse_number<double>(text);
  if (!number) return std::nullopt;
  const double bits = std::round(*number * factor);
  if (bits < 1 || bits > kMostBits || std::abs(*number * factor - bits) > 1e-3) return std::nullopt;
  return static_cast<std::uint64_t>(bits);
}

std::variant<Options, int> parse_options(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app{"Measures the network between two machines, with iperf3 and perftest.", "autopilot-net-probe"};
  app.footer(kFooter);
  app.require_subcommand(1);
  app.fallthrough(false);
  const CLI::App* serve = add_serve(app, line);
  const CLI::App* measure = add_measure(app, line);
  const RdmaCommands rdma(app);
  try {
    app.parse(argc, argv);
    if (serve->parsed()) return Options(serve_options(line));
    if (measure->parsed()) return Options(measure_options(line));
    return value_of(rdma.chosen());
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    app.exit(error, std::cout, std::cerr);
    return exit_usage;
  }
}

}  // namespace autopilot::probes::net
