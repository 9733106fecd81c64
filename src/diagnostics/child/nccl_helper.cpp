// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/child/nccl_helper.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "diagnostics/child/child_line.hpp"
#include "diagnostics/child/tested_gpus.hpp"
#include "host/files/fd.hpp"
#include "host/files/files.hpp"
#include "host/process/child.hpp"
#include "host/process/child_runner.hpp"

namespace autopilot::diagnostics {

namespace {

constexpr const char* kProgram = "all_reduce_perf";
// Paths of images and packages, searched in addition to PATH.
constexpr std::array<const char*, 3> kPlaces{"/usr/local/bin/all_reduce_perf",
                                             "/opt/nccl-tests/build/all_reduce_perf",
                                             "/opt/nccl_tests/build/all_reduce_perf"};
// NVLink is not full below a gigabyte, and three buffers of twice that fit where such GPUs are.
constexpr std::array<const char*, 6> kSizes{"-b", "256M", "-e", "2G", "-f", "2"};
constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES=";
// A temporary folder; the destructor removes it.
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

std::vector<std::string> environment_with(std::span<const host::GpuDevice> gpus) {
  std::vector<std::string> environment = host::environment_of_tests();
  std::erase_if(environment, [](const std::string& one) { return one.starts_with(kVisible); });
  std::string visible;
  for (const host::GpuDevice& gpu : gpus)
    visible += (visible.empty() ? "" : ",") + gpu.subject.uuid;
  environment.push_back(kVisible + visible);
  return environment;
}

// named: the program and its own arguments; empty: all_reduce_perf.
Result<host::Command> nccl_command(const std::vector<std::string>& named,
                                   std::span<const host::GpuDevice> gpus, const std::string& report) {
  host::Command command;
  command.environment = environment_with(gpus);
  command.joins_group = true;
  if (named.empty()) {
    command.program = TRY(find_all_reduce_perf());
  } else {
    command.program = TRY(host::find_program(named.front(), command.environment));
    command.arguments.assign(std::next(named.begin()), named.end());
  }
  command.arguments.insert(command.arguments.end(), kSizes.begin(), kSizes.end());
  command.arguments.insert(command.arguments.end(), {"-g", std::to_string(gpus.size()), "-J", report});
  return command;
}

// The last words of a program that left no report.
std::string last_words_instead_of_report(const host::ChildReport& child) {
  const std::string& text = trim(child.errors).empty() ? child.output : child.errors;
  const std::string_view words = trim(text);
  return words.empty() ? "" : ": " + to_printable(words.substr(words.rfind('\n') + 1), kMaxChildMessage);
}

// A report with a non-zero exit code counts only if it contains wrong sums, which cause that exit code.
Result<host::NcclReport> believed(host::NcclReport report, const std::string& program,
                                  const host::ChildReport& child) {
  if (child.status.code == 0 || wrong_of(report).value_or(0) > 0) return report;
  return fail(Errc::unavailable, program + " ended by " + to_string(child.status) +
                                     ", and its report contains no wrong sum" +
                                     last_words_instead_of_report(child));
}

Result<host::NcclReport> run_nccl_program(const std::vector<std::string>& named,
                                          std::span<const host::GpuDevice> gpus) {
  for (const host::GpuDevice& gpu : gpus)
    if (gpu.subject.uuid.empty())
      return fail(Errc::unavailable, "the driver does not report the UUID of GPU " + gpu.subject.key);
  const Folder folder = TRY(Folder::make());
  const std::string path = folder.path() + "/report.json";
  const host::Command command = TRY(nccl_command(named, gpus, path));
  const std::jthread telling = begin_telling("all-reduce on " + count_text(gpus.size()));
  host::ChildRunner runner;
  const auto child = TRY(runner.run(command, host::mono_now() + kNoDeadlineOfTest));
  const auto text = host::Files().read(path, host::kMaxNcclReport);
  if (text && child.end == host::ChildEnd::exited)
    return believed(TRY(host::parse_nccl_report(*text)), command.program, child);
  return fail(Errc::unavailable, command.program + " ended by " + to_string(child.status) +
                                     " and left no report" + last_words_instead_of_report(child) +
                                     "; a version of nccl-tests with the option -J is needed");
}

// Conclusive only with wrong sums: a workload that began during the diagnostic uses memory and links, and can
// make it slow or make it fail.
GpuTestEnd test_with_nccl(const std::vector<std::string>& named, std::span<const host::GpuDevice> gpus) {
  const auto report = run_nccl_program(named, gpus);
  auto found = report ? nccl_observations(*report, gpus) : fail(report.error());
  const bool has_wrong = report && wrong_of(*report).value_or(0) > 0;
  return {std::move(found), "all-reduce on " + count_text(gpus.size()), has_wrong};
}

std::optional<GpuTestEnd> nothing_to_test(std::size_t gpus) {
  if (gpus >= 2) return std::nullopt;
  return GpuTestEnd{nccl_of_one_gpu(), "an all-reduce takes two GPUs", true};
}

}  // namespace

Result<std::string> find_all_reduce_perf() {
  if (auto program = host::find_program(kProgram, host::own_environment())) return program;
  for (const char* place : kPlaces)
    if (::access(place, X_OK) == 0) return place;
  return fail(
      Errc::not_found,
      "all_reduce_perf is not there: install NVIDIA's nccl-tests, or name a program in `nccl.command`");
}

int run_nccl_allreduce(const std::vector<std::string>& arguments) {
  std::vector<std::string> named;
  GpuTestHelper helper;
  helper.name = "nccl_allreduce";
  helper.take = [&named](const std::string& name, const std::string& value) -> Status {
    if (name != "--run") return fail(Errc::malformed, name + ": unknown");
    named.push_back(value);
    return {};
  };
  helper.run = [&named](const GpuTestOptions&, std::span<const host::GpuDevice> gpus) {
    return test_with_nccl(named, gpus);
  };
  helper.in_use = nccl_in_use;
  helper.nothing_to_test = nothing_to_test;
  return run_gpu_test(arguments, helper);
}

namespace {

constexpr std::string_view kNcclRateUnit = "gigabytes_per_second";

Observation nccl_observation(const Subject& subject, std::string_view name, Value value,
                             std::string_view unit = {}) {
  Observation observation;
  observation.name = "nccl_allreduce." + std::string(name);
  observation.subject = subject;
  observation.value = std::move(value);
  observation.unit = unit;
  return observation;
}

Observation wrong_sums(const host::NcclReport& report) {
  const auto wrong = wrong_of(report);
  if (wrong) return nccl_observation(host_subject(), "wrong", static_cast<std::int64_t>(*wrong), "count");
  Observation unchecked = nccl_observation(host_subject(), "wrong", std::int64_t{0}, "count");
  unchecked.value.reset();
  unchecked.missing = to_string(Errc::unavailable);
  unchecked.attributes = {{"error", std::string("all_reduce_perf did not check its sums")}};
  return unchecked;
}

Observations nccl_outcome(std::string word) {
  return {nccl_observation(host_subject(), "outcome", std::move(word))};
}

}  // namespace

std::optional<std::uint64_t> wrong_of(const host::NcclReport& report) {
  std::uint64_t wrong = 0;
  bool are_checked = true;
  for (const host::NcclReport::Row& row : report.rows) {
    wrong += row.wrong.value_or(0);
    are_checked = are_checked && (row.wrong || row.bus_bandwidth == 0);
  }
  return wrong > 0 || are_checked ? std::optional(wrong) : std::nullopt;
}

Result<Observations> nccl_observations(const host::NcclReport& report,
                                       std::span<const host::GpuDevice> gpus) {
  const auto largest = std::ranges::max_element(report.rows, {}, &host::NcclReport::Row::bytes);
  const bool has_measured = largest != report.rows.end() && largest->bus_bandwidth > 0;
  if (!has_measured && wrong_of(report).value_or(0) == 0)
    return fail(Errc::unavailable, "all_reduce_perf measured nothing");
  Observations all = nccl_outcome("measured");
  const Subject host = host_subject();
  if (has_measured) {
    all.push_back(nccl_observation(host, "busbw", largest->bus_bandwidth, kNcclRateUnit));
    all.push_back(nccl_observation(host, "algbw", largest->algorithm_bandwidth, kNcclRateUnit));
    all.push_back(nccl_observation(host, "bytes", static_cast<std::int64_t>(largest->bytes), "bytes"));
  }
  all.push_back(wrong_sums(report));
  std::int64_t rank = 0;
  for (const host::GpuDevice& gpu : gpus) {
    all.push_back(nccl_observation(gpu.subject, "rank", rank++));
    if (gpu.name.empty()) continue;
    all.push_back(nccl_observation(gpu.subject, "", gpu.name));
    all.back().name = "gpu.model";
  }
  return all;
}

Observations nccl_of_one_gpu() {
  return nccl_outcome("one_gpu");
}

Observations nccl_in_use(const std::string& by) {
  Observations all = nccl_outcome("in_use");
  all.front().attributes = {{"by", by}};
  return all;
}

}  // namespace autopilot::diagnostics
