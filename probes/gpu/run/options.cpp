// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "probes/gpu/active_tests/tests.hpp"
#include "probes/gpu/driver/session.hpp"
#include "probes/gpu/nccl/communicator.hpp"
#include "probes/gpu/nccl/run_all_reduce.hpp"
#include "probes/gpu/run/report.hpp"

namespace autopilot::probes::gpu {
namespace {

// Up to this number of ranks, a float holds the sum exactly.
constexpr int kMostRanks = 4096;
constexpr int kMostGpus = 64;
constexpr int kMostMegabytes = 16384;
constexpr double kLeastSeconds = 0.1;

constexpr const char* kNvidia = "nvidia";
constexpr const char* kAmd = "amd";

constexpr const char* kFromEnvironment = "-";
constexpr const char* kIdVariable = "AUTOPILOT_NCCL_ID";

constexpr const char* kFooter =
    "Examples, on two machines with eight GPUs each:\n"
    "  autopilot-gpu-probe nccl-serve --ranks 16 --bind 10.0.0.1\n"
    "  autopilot-gpu-probe nccl-measure --id ID --ranks 16 --first 8 --bind 10.0.0.2\n"
    "\nThe first line of nccl-serve has the ID, which the others need. A process with the ID\n"
    "can join, and all users of a machine see arguments: a program that starts\n"
    "nccl-measure passes the ID in AUTOPILOT_NCCL_ID and uses --id -.\n"
    "Each process writes its report as one line of JSON.\n"
    "Exit codes: 0 measured; 2 a wrong result; 3 not measured; 64 usage;\n"
    "128 and the number of a signal that ended it.";

[[noreturn]] void refuse(const std::string& option, const std::string& what) {
  throw CLI::ValidationError(option, what);
}

// The id is the only secret, and all users of a machine can see arguments.
nccl::UniqueId read_id(const std::string& given) {
  const bool is_elsewhere = given == kFromEnvironment;
  const std::optional<std::string> text = is_elsewhere ? take_variable(kIdVariable) : given;
  if (!text) refuse("--id", std::string(kIdVariable) + ", from which - reads it, is not set");
  if (const auto id = parse_unique_id(*text)) return *id;
  refuse("--id", (is_elsewhere ? std::string(kIdVariable) : "'" + to_printable(given, 80) + "'") +
                     " is not the 256 hexadecimal digits that nccl-serve printed");
}

void add_bind(CLI::App& command, AllReduceOptions& options) {
  command
      .add_option_function<std::string>(
          "--bind",
          [&options](const std::string& text) {
            if (!is_address(text))
              refuse("--bind", "'" + to_printable(text, 80) + "' is not a numeric address");
            options.bind = text;
          },
          "Address of this machine; selects the interface")
      ->type_name("ADDRESS");
}

void add_gpus(CLI::App& command, AllReduceOptions& options) {
  command
      .add_option_function<std::string>(
          "--vendor",
          [&options](const std::string& word) {
            options.vendor = word == kAmd ? Vendor::amd : Vendor::nvidia;
          },
          "Vendor of the GPUs; amd (HIP and RCCL) is experimental and not in every build")
      ->check(CLI::IsMember({kNvidia, kAmd}))
      ->default_str(kNvidia)
      ->type_name("WORD");
  command.add_option("--gpus", options.gpus, "Index, UUID or PCI address (default: all)")
      ->delimiter(',')
      ->type_name("GPU,...");
  command
      .add_option_function<int>(
          "--count", [&options](int count) { options.count = count; }, "Use only the first COUNT of them")
      ->check(CLI::Range(1, kMostGpus));
  CLI::Option* beside = command.add_flag("--beside-others", options.beside_others, "Also use GPUs in use");
  command.add_flag("--require-idle", options.require_idle, "Refuse GPUs that are not known to be idle")
      ->excludes(beside);
}

void add_amounts(CLI::App& command, AllReduceOptions& options) {
  command.add_option("--ranks", options.ranks, "GPUs of all machines together")
      ->required()
      ->check(CLI::Range(2, kMostRanks));
  command.add_option("--seconds", options.seconds, "Measured time; the longest of all processes applies")
      ->check(CLI::Range(kLeastSeconds, kMostSeconds))
      ->capture_default_str();
  command
      .add_option("--megabytes", options.megabytes, "MiB of each rank; the smallest of all processes applies")
      ->check(CLI::Range(1, kMostMegabytes))
      ->capture_default_str();
  command
      .add_option("--patience", options.patience_seconds, "Seconds for other ranks to join, and for a call")
      ->check(CLI::Range(kLeastSeconds, kMostSeconds))
      ->capture_default_str();
}

void add_libraries(CLI::App& command, AllReduceOptions& options) {
  const auto add = [&command](const char* name, std::optional<std::string>& file, const char* about) {
    command
        .add_option_function<std::string>(
            name, [&file](const std::string& given) { file = given; }, about)
        ->type_name("FILE");
  };
  add("--library", options.library, "CUDA: libcuda.so.1; HIP: libamdhip64.so.7, .6, .5");
  add("--nccl-library", options.nccl_library, "NCCL: libnccl.so.2; RCCL: librccl.so.1");
  command.add_option("--nvml-library", options.sensor_library, "NVML: users of NVIDIA GPUs")
      ->capture_default_str();
  command.add_option("--root", options.root, "Root of /sys/class/kfd: users of AMD GPUs")
      ->type_name("FOLDER");
}

CLI::App* add_command(CLI::App& app, const char* name, const char* about, AllReduceOptions& options) {
  CLI::App* command = app.add_subcommand(name, about);
  add_amounts(*command, options);
  add_bind(*command, options);
  add_gpus(*command, options);
  add_libraries(*command, options);
  command->footer(kFooter);
  return command;
}

const CLI::App* add_serve(CLI::App& app, AllReduceOptions& options) {
  return add_command(app, "nccl-serve", "All-reduce with GPUs of other machines: creates the id", options);
}

const CLI::App* add_measure(CLI::App& app, AllReduceOptions& options) {
  CLI::App* command =
      add_command(app, "nccl-measure", "All-reduce with GPUs of other machines: joins", options);
  command
      ->add_option_function<std::string>(
          "--id", [&options](const std::string& text) { options.id = read_id(text); },
          std::string("As printed by nccl-serve; -: from ") + kIdVariable)
      ->required()
      ->type_name("HEX");
  command->add_option("--first", options.first, "Rank of the first GPU of this machine")
      ->required()
      ->check(CLI::Range(0, kMostRanks - 1));
  // Both are known only once all was parsed.
  command->final_callback([&options] {
    if (options.first >= options.ranks)
      refuse("--first", std::to_string(options.first) + " must be less than --ranks, which is " +
                            std::to_string(options.ranks));
  });
  return command;
}

// nccl-serve and nccl-measure, as subcommands of an app, which must not outlive it.
class NcclCommands {
 public:
  explicit NcclCommands(CLI::App& app);

  // Options of the parsed subcommand. nullopt: neither was parsed.
  [[nodiscard]] std::optional<AllReduceOptions> chosen() const;

 private:
  AllReduceOptions serve_;
  AllReduceOptions measure_;
  const CLI::App* serve_command_;
  const CLI::App* measure_command_;
};

NcclCommands::NcclCommands(CLI::App& app)
    : serve_command_(add_serve(app, serve_)), measure_command_(add_measure(app, measure_)) {}

std::optional<AllReduceOptions> NcclCommands::chosen() const {
  if (serve_command_->parsed()) return serve_;
  if (measure_command_->parsed()) return measure_;
  return std::nullopt;
}

constexpr const char* kAll = "all";

std::string footer() {
  std::string text = "Tests:\n";
  for (const GpuTest& test : gpu_tests())
    text += "  " + std::string(test.name) + std::string(10 - test.name.size(), ' ') +
            std::string(test.title) + (test.is_default ? "" : " (only on request)") + "\n";
  return text +
         "\nExamples:\n"
         "  autopilot-gpu-probe                          the quick tests on all GPUs\n"
         "  autopilot-gpu-probe --tests all --seconds 5  everything, five seconds each\n"
         "  autopilot-gpu-probe --gpus 0,GPU-1a2b --tests memory --memory-share 0.9\n"
         "  autopilot-gpu-probe nccl-serve --help        with GPUs of other machines\n"
         "\nExit codes: 0 measured; 2 a wrong result; 3 not measured; 64 usage;\n"
         "128 and the number of a signal that ended it.\n"
         "A GPU in use is refused if NVML lists its processes.";
}

std::vector<std::string> names_of_tests() {
  std::vector<std::string> names;
  for (const GpuTest& test : gpu_tests())
    names.emplace_back(test.name);
  return names;
}

std::string check_test(const std::string& word) {
  const auto names = names_of_tests();
  if (word == kAll || std::find(names.begin(), names.end(), word) != names.end()) return {};
  const auto near = nearest_word(word, names);
  return "unknown test '" + word + "'" + (near ? "; did you mean " + *near + "?" : "");
}

// In the order of the table, regardless of the order of the names.
std::vector<std::string> chosen_tests(const std::vector<std::string>& given) {
  std::vector<std::string> chosen;
  for (const GpuTest& test : gpu_tests()) {
    const auto is = [&](const std::string& word) { return word == kAll || word == test.name; };
    if (given.empty() ? test.is_default : std::any_of(given.begin(), given.end(), is))
      chosen.emplace_back(test.name);
  }
  return chosen;
}

// The parser accepts "nan" as a number within every range.
std::string check_number(const std::string& text) {
  return parse_number<double>(text) ? "" : text + " is not a number";
}

void add_test_options(CLI::App& app, Options& options) {
  app.add_option("--tests", options.tests, "Names, or 'all'")
      ->delimiter(',')
      ->check(check_test)
      ->type_name("NAME,...");
  app.add_option("--gpus", options.gpus, "Index, UUID or PCI address")->delimiter(',')->type_name("GPU,...");
  app.add_option("--seconds", options.seconds, "Duration of each test")
      ->check(check_number)
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--memory-share", options.memory_share, "Share of a GPU's memory to use")
      ->check(check_number)
      ->check(CLI::Range(0.001, 0.95))
      ->capture_default_str();
  app.add_option("--kernels", options.kernels, "Highest feature level of kernels")
      ->check(CLI::IsMember(kernel_levels()))
      ->type_name("LEVEL");
  app.add_option("--patience", options.patience_seconds, "Seconds in one call before a GPU is abandoned")
      ->check(check_number)
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_flag("--beside-others", options.beside_others, "Also test GPUs in use");
  app.add_option("--nvml-library", options.sensor_library, "NVML: sensors, and users of a GPU")
      ->capture_default_str();
  app.add_option("--library", options.library, "The driver's library")->capture_default_str();
}

// The subcommand would ignore them.
void refuse_options_before_a_command(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0) throw CLI::ValidationError(option->get_name(), "must come after the subcommand");
}

}  // namespace

std::variant<Options, AllReduceOptions, int> parse_options(int argc, const char* const* argv) {
  Options options;
  CLI::App app{"Puts load on the GPUs of this machine, measures them, and compares their results.",
               "autopilot-gpu-probe"};
  app.footer(footer());
  app.require_subcommand(0, 1);
  add_test_options(app, options);
  const NcclCommands nccl(app);
  try {
    app.parse(argc, argv);
    if (auto command = nccl.chosen()) {
      refuse_options_before_a_command(app);
      return *std::move(command);
    }
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    app.exit(error, std::cout, std::cerr);
    return exit_usage;
  }
  options.tests = chosen_tests(options.tests);
  return options;
}

}  // namespace autopilot::probes::gpu
