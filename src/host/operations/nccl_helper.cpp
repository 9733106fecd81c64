// SPDX-License-Identifier: Apache-2.0
#include "host/operations/nccl_helper.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "host/files/files.hpp"
#include "host/operations/child_line.hpp"
#include "host/operations/child_teller.hpp"
#include "host/operations/nccl_words.hpp"
#include "host/operations/tested_gpus.hpp"
#include "host/process/child_runner.hpp"
#include "host/process/find_program.hpp"
#include "host/process/poll.hpp"

namespace autopilot::host {
namespace {

constexpr int kUsage = 64;
constexpr const char* kProgram = "all_reduce_perf";
// Where images and packages put it beside PATH.
constexpr std::array<const char*, 3> kPlaces{"/usr/local/bin/all_reduce_perf",
                                             "/opt/nccl-tests/build/all_reduce_perf",
                                             "/opt/nccl_tests/build/all_reduce_perf"};
// NVLink is not full below a gigabyte, and three buffers of twice that fit where such GPUs are.
constexpr std::array<const char*, 6> kSizes{"-b", "256M", "-e", "2G", "-f", "2"};
constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES=";
// Beyond every deadline that an operation may have.
constexpr Duration kForEver = std::chrono::hours{48};

struct Options {
  std::vector<std::string> program;
  SimulatedMachine simulated;
  std::vector<Subject> wanted;
};

Status take(const std::string& name, const std::string& value, Options& options) {
  if (name == "--run")
    options.program.push_back(value);
  else if (name == "--tree")
    options.simulated.tree = value;
  else if (name == "--library")
    options.simulated.library = value;
  else
    return fail(Errc::malformed, name + ": unknown");
  return {};
}

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  auto at = arguments.begin();
  for (; at != arguments.end() && at->starts_with("--"); at += 2) {
    if (std::next(at) == arguments.end()) return fail(Errc::malformed, *at + ": expected a value");
    TRY_STATUS(take(*at, *std::next(at), options));
  }
  for (; at != arguments.end(); ++at)
    options.wanted.push_back(TRY(parse_gpu_argument(*at)));
  return options;
}

// A folder that goes with this object.
class Folder {
 public:
  [[nodiscard]] static Result<Folder> make() {
    std::error_code error;
    auto path = std::filesystem::temp_directory_path(error).string() + "/autopilot-nccl-XXXXXX";
    if (error) return fail_errno(error.value(), "the folder of temporary files");
    if (::mkdtemp(path.data()) == nullptr) return fail_errno(errno, path);
    return Folder(std::move(path));
  }
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::vector<std::string> environment_with(std::span<const GpuDevice> gpus) {
  std::vector<std::string> environment = own_environment();
  std::erase_if(environment, [](const std::string& one) { return one.starts_with(kVisible); });
  std::string visible;
  for (const GpuDevice& gpu : gpus)
    visible += (visible.empty() ? "" : ",") + gpu.subject.uuid;
  environment.push_back(kVisible + visible);
  return environment;
}

Result<Command> command_of(const Options& options, std::span<const GpuDevice> gpus,
                           const std::string& report) {
  Command command;
  command.environment = environment_with(gpus);
  command.joins_group = true;
  if (options.program.empty()) {
    command.program = TRY(find_all_reduce_perf());
  } else {
    command.program = TRY(find_program(options.program.front(), command.environment));
    command.arguments.assign(std::next(options.program.begin()), options.program.end());
  }
  command.arguments.insert(command.arguments.end(), kSizes.begin(), kSizes.end());
  command.arguments.insert(command.arguments.end(), {"-g", std::to_string(gpus.size()), "-J", report});
  return command;
}

// The last words of a program that left no report.
std::string last_words(const ChildReport& child) {
  const std::string& text = trim(child.errors).empty() ? child.output : child.errors;
  const std::string_view words = trim(text);
  return words.empty() ? "" : ": " + to_printable(words.substr(words.rfind('\n') + 1), kMaxChildMessage);
}

Result<NcclReport> run_program(const Options& options, std::span<const GpuDevice> gpus) {
  for (const GpuDevice& gpu : gpus)
    if (gpu.subject.uuid.empty())
      return fail(Errc::unavailable, "the driver does not tell the UUID of GPU " + gpu.subject.key);
  const Folder folder = TRY(Folder::make());
  const std::string path = folder.path() + "/report.json";
  const Command command = TRY(command_of(options, gpus, path));
  const std::jthread telling = begin_telling("all-reduce on " + count_text(gpus.size()));
  ChildRunner runner;
  const auto child = TRY(runner.run(command, mono_now() + kForEver));
  // Where results are wrong its exit code is not 0, and the report says it.
  const auto text = Files().read(path, kMaxNcclReport);
  if (text && child.end == ChildEnd::exited) return parse_nccl_report(*text);
  return fail(Errc::unavailable, command.program + " ended by " + to_string(child.status) +
                                     " and left no report" + last_words(child) +
                                     "; one of nccl-tests that knows -J is needed");
}

int tell_in_use(const std::string& by) {
  tell(ChildProgress{0, "GPU in use by " + by});
  tell(nccl_in_use(by));
  return kChildInUse;
}

Result<int> test_gpus(const Options& options) {
  const OpenedHost opened = TRY(open_tested_machine(options.simulated));
  const auto gpus = TRY(look_at_gpus(opened, options.wanted));
  if (gpus.size() < 2) {
    tell(ChildProgress{1, "an all-reduce takes two GPUs"});
    tell(nccl_of_one_gpu());
    return 0;
  }
  if (const auto user = TRY(user_of(gpus))) return tell_in_use(*user);
  const auto report = run_program(options, gpus);
  const auto found = report ? nccl_observations(*report, gpus) : fail(report.error());
  // Somebody's work that began meanwhile takes the memory and the links.
  if (!found)
    if (const auto after = look_at_gpus(opened, options.wanted)) {
      const auto user = user_of(*after).value_or(std::nullopt);
      if (user) return tell_in_use(*user);
    }
  if (!found) return fail(found.error());
  tell(ChildProgress{1, "all-reduce on " + count_text(gpus.size())});
  tell(*found);
  return 0;
}

}  // namespace

Result<std::string> find_all_reduce_perf() {
  if (auto program = find_program(kProgram, own_environment())) return program;
  for (const char* place : kPlaces)
    if (::access(place, X_OK) == 0) return place;
  return fail(
      Errc::not_found,
      "all_reduce_perf is not there: install NVIDIA's nccl-tests, or name a program in `nccl.command`");
}

int run_nccl_allreduce(const std::vector<std::string>& arguments) {
  const auto options = parse_options(arguments);
  if (!options) {
    std::cerr << "autopilot helper nccl_allreduce: " << options.error().what << "\n";
    return kUsage;
  }
  lead_group_of_test();
  const auto code = test_gpus(*options);
  if (code) return *code;
  std::cerr << code.error().what << "\n";
  return 1;
}

}  // namespace autopilot::host
