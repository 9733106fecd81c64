// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "core/parse.hpp"

namespace autopilot::checks {
namespace gpu_driver {
namespace {

constexpr std::string_view kModuleVersion = "/proc/driver/nvidia/version";

// Observations about the host.
constexpr std::string_view kDetail = "driver.detail";
constexpr std::string_view kLibrary = "driver.library";
constexpr std::string_view kVersion = "driver.version";
constexpr std::string_view kNvmlVersion = "driver.nvml_version";
constexpr std::string_view kCudaVersion = "driver.cuda_version";
constexpr std::string_view kModule = "driver.module_version";
constexpr std::string_view kAmdDetail = "amdgpu.detail";
constexpr std::string_view kAmdVersion =
    "amdgpu.version";  // only for drivers that are not part of the kernel

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 24 ...": the word that begins with a
// digit and contains a dot.
std::optional<std::string> module_version(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (!line.starts_with("NVRM version:")) return std::nullopt;
  for (const std::string_view word : split_words(line))
    if (word.front() >= '0' && word.front() <= '9' && word.find('.') != std::string_view::npos)
      return std::string(word);
  return std::nullopt;
}

class Reader {
 public:
  Reader(const host::Host& host, const Request& request) : host_(host), request_(request) {}

  Status read_driver(const GpuDriver& driver) {
    const host::GpuReport report =
        TRY(driver.gpus.read({host::GpuGroup::identity}, driver_deadline(request_)));
    // If the PCI tree cannot be read, it is unknown whether a library should be there.
    if (!driver.known && report.state == host::DriverState::library_missing)
      return fail(driver.known.error());
    observed_.witnesses.emplace_back(driver.witness);
    add(driver_state_name(driver.vendor), std::string(to_string(report.state)), driver.witness);
    if (driver.vendor == host::GpuVendor::amd) {
      add(kAmdDetail, report.detail, driver.witness);
      add(kAmdVersion, report.driver_version, driver.witness);
      return {};
    }
    add(kDetail, report.detail, kNvml);
    add(kLibrary, report.library_path, kNvml);
    add(kVersion, report.driver_version, kNvml);
    add(kNvmlVersion, report.nvml_version, kNvml);
    add(kCudaVersion, report.cuda_version, kNvml);
    read_module();
    return {};
  }

  [[nodiscard]] Observed take() { return std::move(observed_); }

 private:
  void read_module() {
    const auto text = host_.files.read(kModuleVersion, 4096);
    if (!text) return;
    observed_.witnesses.emplace_back(kModuleVersion);
    add(kModule, module_version(*text).value_or(""), kModuleVersion);
  }
  void add(std::string_view name, const std::string& word, std::string_view source) {
    if (word.empty()) return;
    observed_.observations.push_back(make_observation(name, host_subject(), word, "", source, request_.now));
  }

  const host::Host& host_;
  const Request& request_;
  Observed observed_;
};

Result<Observed> observe(const host::Host& host, const Request& request) {
  Reader reader(host, request);
  for (const GpuDriver& driver : TRY(gpu_drivers(host, Vendors::all)))
    TRY_STATUS(reader.read_driver(driver));
  return reader.take();
}

struct Verdict {
  host::DriverState state;
  std::string_view reason;
  Health health;
  std::string_view message;
};

constexpr std::array kVerdicts{
    Verdict{host::DriverState::library_missing, "library_missing", Health::unknown,
            "there is a GPU, but the driver's library was not found"},
    Verdict{host::DriverState::library_broken, "library_broken", Health::degraded,
            "the driver's library cannot be used"},
    Verdict{host::DriverState::driver_not_loaded, "driver_not_loaded", Health::failed,
            "the kernel module is not loaded"},
    Verdict{host::DriverState::version_mismatch, "driver_version_mismatch", Health::failed,
            "the driver's library and its kernel module have different versions"},
    Verdict{host::DriverState::no_permission, "no_permission", Health::unknown,
            "permission to open the GPU device files is missing"},
    Verdict{host::DriverState::init_failed, "driver_init_failed", Health::failed,
            "the driver fails to initialise"},
    Verdict{host::DriverState::unresponsive, "driver_unresponsive", Health::failed,
            "the driver does not answer"},
    Verdict{host::DriverState::crashed, "driver_crashed", Health::degraded,
            "the helper that calls the driver crashed or returned invalid data"},
    Verdict{host::DriverState::exhausted, "helpers_exhausted", Health::failed,
            "too many helpers hang in the driver; it is not called any more"},
};

// After the first timeout the state is unknown until the next run.
bool has_just_stopped_answering(const JudgeInput& input, std::string_view state) {
  const auto samples = input.history.samples(host_subject(), state);
  const auto timed_out = [](const Sample& sample) {
    return to_string(sample.value) == to_string(host::DriverState::unresponsive);
  };
  return !samples.empty() && timed_out(samples.back()) &&
         (samples.size() == 1 || !timed_out(samples[samples.size() - 2]));
}

void judge_driver(const JudgeInput& input, host::GpuVendor vendor, Findings& findings) {
  const Subject host = host_subject();
  const std::string_view state_name = driver_state_name(vendor);
  const std::string state = input.history.word(host, state_name).value_or("");
  const auto* const verdict =
      std::ranges::find_if(kVerdicts, [&](const Verdict& known) { return to_string(known.state) == state; });
  if (verdict == kVerdicts.end()) return;
  const bool is_amd = vendor == host::GpuVendor::amd;
  const auto detail = input.history.word(host, is_amd ? kAmdDetail : kDetail);
  Finding finding = make_finding(
      input, host, verdict->reason, verdict->health,
      std::string(to_string(vendor)) + ": " + std::string(verdict->message) + (detail ? ": " + *detail : ""));
  finding.evidence.emplace_back("state", state);
  if (!is_amd)
    for (const auto& [attribute, name] :
         {std::pair("library", kLibrary), std::pair("moduleVersion", kModule)})
      if (const auto word = input.history.word(host, name)) finding.evidence.emplace_back(attribute, *word);
  findings.push_back(std::move(finding));
  if (has_just_stopped_answering(input, state_name))
    findings.push_back(make_finding(input, host, "timed_out", Health::unknown,
                                    "the driver did not answer in time; the check runs again"));
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  for (const host::GpuVendor vendor : {host::GpuVendor::nvidia, host::GpuVendor::amd})
    judge_driver(input, vendor, findings);
  return findings;
}

}  // namespace
}  // namespace gpu_driver

const Check kGpuDriver = {
    .info = {.id = "gpu.driver",
             .title = "GPU driver",
             .tags = {"gpu", "driver", "passive"},
             .period = std::chrono::seconds{30},
             .deadline = std::chrono::seconds{10},
             .window = std::chrono::minutes{10},
             .cost = Cost::moderate,
             .witnesses = {std::string(kNvml), std::string(gpu_driver::kModuleVersion), std::string(kAmdgpu)},
             .rights = {},
             .needs_window = false},
    .observe = gpu_driver::observe,
    .judge = gpu_driver::judge,
};

}  // namespace autopilot::checks
