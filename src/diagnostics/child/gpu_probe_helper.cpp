// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/child/gpu_probe_helper.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/parse.hpp"
#include "diagnostics/child/child_line.hpp"
#include "diagnostics/child/tested_gpus.hpp"
#include "host/files/fd.hpp"
#include "host/process/child_runner.hpp"

namespace autopilot::diagnostics {

namespace {

struct ProbeOptions {
  const GpuProbeTest* test = nullptr;
  std::vector<std::string> limits;  // arguments of the probe
  std::string cuda_library;         // of a simulated machine
};

Status take_probe_option(const std::string& name, const std::string& value, ProbeOptions& options) {
  if (name == "--seconds" || name == "--memory-share" || name == "--kernels")
    options.limits.insert(options.limits.end(), {name, value});
  else if (name == "--cuda-library")
    options.cuda_library = value;
  else
    return fail(Errc::malformed, name + ": unknown");
  return {};
}

Result<host::GpuProbeReport> run_probe(const ProbeOptions& options, const SimulatedMachine& simulated,
                                       std::span<const host::GpuDevice> gpus) {
  const std::jthread telling =
      begin_telling(std::string(options.test->tests) + " on " + count_text(gpus.size()));
  const SimulatedMachine machine{simulated.tree, simulated.library, options.cuda_library};
  return probe_gpus({options.test->tests, options.limits, machine, true}, gpus,
                    host::mono_now() + kNoDeadlineOfTest);
}

// A result was wrong. Another user of the GPU can explain low rates and missing values, but not that.
bool is_conclusive(const Result<host::GpuProbeReport>& report) {
  return report && report->error.empty() &&
         std::ranges::any_of(report->gpus, &host::GpuProbeReport::Gpu::has_wrong);
}

GpuTestEnd test_with_probe(const ProbeOptions& options, const SimulatedMachine& simulated,
                           std::span<const host::GpuDevice> gpus) {
  const auto report = run_probe(options, simulated, gpus);
  return {report ? gpu_probe_observations(*options.test, *report, gpus) : fail(report.error()),
          std::string(options.test->tests) + " on " + count_text(gpus.size()), is_conclusive(report)};
}

}  // namespace

int run_gpu_probe(const std::vector<std::string>& arguments) {
  GpuTestHelper helper;
  helper.name = "gpu_probe";
  if (arguments.empty()) return refuse_arguments(helper.name, "expected the check that judges the test");
  ProbeOptions options;
  options.test = find_gpu_probe_test(arguments.front());
  if (options.test == nullptr)
    return refuse_arguments(helper.name, arguments.front() + ": no test of the GPU probe");
  helper.take = [&options](const std::string& name, const std::string& value) {
    return take_probe_option(name, value, options);
  };
  helper.run = [&options](const GpuTestOptions& common, std::span<const host::GpuDevice> gpus) {
    return test_with_probe(options, common.simulated, gpus);
  };
  helper.in_use = [&options](const std::string& by) { return gpu_probe_in_use(*options.test, by); };
  return run_gpu_test({std::next(arguments.begin()), arguments.end()}, helper);
}

namespace {

std::string addresses_of(std::span<const host::GpuDevice> gpus) {
  std::string addresses;
  for (const host::GpuDevice& gpu : gpus)
    addresses += (addresses.empty() ? "" : ",") + gpu.subject.key;
  return addresses;
}

bool chooses_gpus(const std::string& variable) {
  constexpr std::array<std::string_view, 5> kOnes{"CUDA_", "NVIDIA_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=",
                                                  "ROCR_VISIBLE_DEVICES=", "GPU_DEVICE_ORDINAL="};
  return std::ranges::any_of(kOnes, [&](std::string_view one) { return variable.starts_with(one); });
}

Result<host::Command> probe_command(const GpuProbeRun& run, std::span<const host::GpuDevice> gpus) {
  host::Command command;
  command.program = TRY(gpu_probe_program());
  command.arguments = {"--tests", std::string(run.tests), "--gpus", addresses_of(gpus)};
  command.arguments.insert(command.arguments.end(), run.limits.begin(), run.limits.end());
  command.environment = gpu_probe_environment();
  command.joins_group = run.joins_group;
  if (run.simulated.tree.empty()) return command;
  command.arguments.insert(command.arguments.end(), {"--library", run.simulated.cuda_library,
                                                     "--nvml-library", run.simulated.library});
  command.environment.push_back("AUTOPILOT_SIM_CUDA=" + run.simulated.tree + "/cuda.yaml");
  command.environment.push_back("AUTOPILOT_SIM_MACHINE=" + run.simulated.tree);
  return command;
}

std::string last_line_of(const std::string& text) {
  const std::string_view words = trim(text);
  return to_printable(words.substr(words.rfind('\n') + 1), kMaxChildMessage);
}

}  // namespace

Result<std::string> gpu_probe_program() {
  return host::program_beside_own("autopilot-gpu-probe");
}

std::vector<std::string> gpu_probe_environment() {
  std::vector<std::string> environment = host::own_environment();
  std::erase_if(environment, chooses_gpus);
  return environment;
}

Result<host::GpuProbeReport> probe_gpus(const GpuProbeRun& run, std::span<const host::GpuDevice> gpus,
                                        MonoTime until) {
  if (host::mono_now() >= until) return fail(Errc::unavailable, "no time was left for it");
  const host::Command command = TRY(probe_command(run, gpus));
  host::ChildRunner runner;
  const auto child = TRY(runner.run(command, until, {.output_bytes = host::kMaxGpuProbeReport}));
  if (child.end == host::ChildEnd::timed_out)
    return fail(Errc::unavailable, "the GPU probe did not end in time");
  if (child.end == host::ChildEnd::exited && host::leaves_gpu_probe_report(child.status.code))
    return host::gpu_probe_report_of(trim(child.output), child.status.code);
  std::string why = "the GPU probe ended by " + to_string(child.status);
  if (const std::string words = last_line_of(child.errors); !words.empty()) why += ": " + words;
  return fail(Errc::unavailable, why);
}

namespace {

using Report = host::GpuProbeReport;

constexpr std::string_view kProbeRateUnit = "gigabytes_per_second";
constexpr std::string_view kTeraflops = "teraflops";
constexpr std::string_view kBf16 = "bf16";
constexpr std::size_t kMostPlaces = 8;  // of wrong results that are named

constexpr std::array kTests{
    GpuProbeTest{"gpu.pcie_bandwidth", "Bandwidth of the PCIe link of idle GPUs", "pcie", false},
    GpuProbeTest{"gpu.memory_bandwidth", "Bandwidth of the memory of idle GPUs", "hbm", false},
    GpuProbeTest{"gpu.compute", "Copies, vectors and matrices on idle GPUs", "pcie,hbm,gemm", false},
    GpuProbeTest{"gpu.memory_test", "Patterns in the memory of idle GPUs", "memory", true},
    GpuProbeTest{"gpu.sdc", "Canary of silent data corruption on idle GPUs", "sdc", false},
    GpuProbeTest{"gpu.p2p", "Copies between idle GPUs", "p2p", false},
};

// Observation of a check from one series of the probe.
struct Reading {
  std::string_view check;
  std::string_view name;
  std::string_view test;  // of the probe
  std::string_view series;
  std::string_view unit;
  bool is_optional = false;  // not every GPU or machine has it
};
constexpr std::array kReadings{
    Reading{"gpu.pcie_bandwidth", "host_to_device", "pcie", "host_to_device", kProbeRateUnit},
    Reading{"gpu.pcie_bandwidth", "device_to_host", "pcie", "device_to_host", kProbeRateUnit},
    Reading{"gpu.pcie_bandwidth", "both_ways", "pcie", "both_ways", kProbeRateUnit},
    Reading{"gpu.memory_bandwidth", "copy", "hbm", "copy", kProbeRateUnit},
    Reading{"gpu.memory_bandwidth", "scale", "hbm", "scale", kProbeRateUnit},
    Reading{"gpu.memory_bandwidth", "triad", "hbm", "triad", kProbeRateUnit},
    Reading{"gpu.memory_bandwidth", "daxpy", "hbm", "daxpy", kProbeRateUnit},
    Reading{"gpu.compute", "host_to_device_pinned", "pcie", "host_to_device", kProbeRateUnit},
    Reading{"gpu.compute", "device_to_host_pinned", "pcie", "device_to_host", kProbeRateUnit},
    Reading{"gpu.compute", "daxpy", "hbm", "daxpy", kProbeRateUnit},
    Reading{"gpu.compute", "dgemm", "gemm", "f64", kTeraflops},
    Reading{"gpu.compute", "bf16", "gemm", kBf16, kTeraflops, true},
    Reading{"gpu.compute", "bf16_mma_sync", "gemm", "bf16_mma_sync", kTeraflops, true},
};

// Observation of a check from a number that a test of the probe reports beside its series.
struct Fact {
  std::string_view check;
  std::string_view name;
  std::string_view fact;
  std::string_view unit;
};
constexpr std::array kFacts{
    Fact{"gpu.memory_test", "bytes", "bytes_tested", "bytes"},
    Fact{"gpu.memory_test", "passes", "passes", "count"},
    Fact{"gpu.sdc", "multiprocessors", "multiprocessors_tested", "count"},
    Fact{"gpu.p2p", "peers", "peers", "count"},
    Fact{"gpu.p2p", "direct", "peers_with_direct_access", "count"},
};

// The clock event reasons of NVML that slow a GPU down.
constexpr std::array<std::string_view, 5> kHeldDown{"sw_power_cap", "hw_slowdown", "sw_thermal", "hw_thermal",
                                                    "hw_power_brake"};

Observation probe_observation(const GpuProbeTest& test, const Subject& subject, std::string_view name) {
  Observation observation;
  observation.name = std::string(test.check.substr(test.check.find('.') + 1)) + "." + std::string(name);
  observation.subject = subject;
  return observation;
}

Observation probe_outcome(const GpuProbeTest& test, std::string word) {
  Observation observation = probe_observation(test, host_subject(), "outcome");
  observation.value = std::move(word);
  return observation;
}

// The clock of a GPU has no finer resolution.
double to_thousandths(double number) {
  return std::round(number * 1000) / 1000;
}

// A test that a GPU runs alone first is judged by that run; other tests run on all GPUs at once.
const Report::Test* find_test(const Report::Gpu& gpu, std::string_view test) {
  const Report::Test* alone = gpu.find(test, false);
  return alone == nullptr ? gpu.find(test, true) : alone;
}

// Null: not run, or skipped by the GPU.
const Report::Test* made_of(const Report::Gpu& gpu, std::string_view test) {
  const Report::Test* found = find_test(gpu, test);
  return found == nullptr || !found->skipped.empty() ? nullptr : found;
}

// Why one of these tests did not run, in the words of the probe.
std::string why_not_made(const Report::Gpu& gpu, std::string_view tests) {
  if (!gpu.error.empty()) return gpu.error;
  for (const std::string_view name : split(tests, ','))
    if (const Report::Test* found = find_test(gpu, name); found != nullptr && !found->skipped.empty())
      return std::string(name) + ": " + found->skipped;
  return "the GPU probe did not measure it";
}

// A report may contain any number.
std::int64_t to_integer(double number) {
  constexpr double kMost = 1e15;
  return static_cast<std::int64_t>(std::clamp(number, -kMost, kMost));
}

const Report::Series* series_of(const Report::Gpu& gpu, std::string_view test, std::string_view name) {
  const Report::Test* made = made_of(gpu, test);
  if (made == nullptr) return nullptr;
  const auto found = std::ranges::find(made->measured, name, &Report::Series::name);
  return found == made->measured.end() ? nullptr : &*found;
}

// Builds the observations of one GPU.
class GpuWords {
 public:
  GpuWords(const GpuProbeTest& test, const Report& report, const host::GpuDevice& device, Observations& all)
      : test_(test), report_(report), device_(device), all_(all) {}

  void add() {
    const Report::Gpu* const gpu = report_.find(device_.subject.key);
    add_model();
    add_readings(gpu);
    if (gpu == nullptr) return add_missing("wrong", gpu);
    add_facts(*gpu);
    if (test_.check == "gpu.pcie_bandwidth") add_link(*gpu);
    if (test_.check == "gpu.compute") add_sensors(*gpu);
    if (test_.check == "gpu.p2p") add_pairs(*gpu);
    add_wrong(*gpu);
    if (has_any(*gpu, &Report::Test::disputed)) add_places("disputed", *gpu, &Report::Test::disputed);
  }

 private:
  void add_value(std::string_view name, Value value, std::string_view unit) {
    Observation observation = probe_observation(test_, device_.subject, name);
    observation.value = std::move(value);
    observation.unit = unit;
    all_.push_back(std::move(observation));
  }

  // The same name as in every check of GPUs.
  void add_model() {
    if (device_.name.empty()) return;
    add_value("", device_.name, "");
    all_.back().name = "gpu.model";
  }

  void add_missing(std::string_view name, const Report::Gpu* gpu) {
    Observation observation = probe_observation(test_, device_.subject, name);
    observation.missing = to_string(Errc::unavailable);
    std::string why = "the GPU probe did not see it: is it hidden from CUDA?";
    if (gpu != nullptr) why = why_not_made(*gpu, test_.tests);
    observation.attributes = {{"error", to_printable(why, kMaxChildMessage)}};
    all_.push_back(std::move(observation));
  }

  void add_readings(const Report::Gpu* gpu) {
    for (const Reading& reading : kReadings) {
      if (reading.check != test_.check) continue;
      const auto* const series = gpu == nullptr ? nullptr : series_of(*gpu, reading.test, reading.series);
      if (series != nullptr && series->median)
        add_value(reading.name, to_thousandths(*series->median), reading.unit);
      else if (!reading.is_optional || was_to_be_measured(reading, gpu))
        add_missing(reading.name, gpu);
    }
  }

  // Another GPU of the model has it, and no dispute keeps this one from it.
  [[nodiscard]] bool was_to_be_measured(const Reading& reading, const Report::Gpu* gpu) const {
    if (reading.series != kBf16 || gpu == nullptr || has_any(*gpu, &Report::Test::disputed) ||
        has_any(*gpu, &Report::Test::wrong))
      return false;
    return std::ranges::any_of(report_.gpus, [&](const Report::Gpu& other) {
      const Report::Series* const series = series_of(other, reading.test, reading.series);
      return other.name == gpu->name && series != nullptr && series->median;
    });
  }

  void add_facts(const Report::Gpu& gpu) {
    const Report::Test* const made = made_of(gpu, test_.tests);
    if (made == nullptr) return;
    for (const Fact& fact : kFacts) {
      if (fact.check != test_.check) continue;
      const auto number = made->facts.find(fact.fact);
      if (number != made->facts.end()) add_value(fact.name, to_integer(number->second), fact.unit);
    }
  }

  // Shared links become visible when all GPUs copy at once.
  void add_link(const Report::Gpu& gpu) {
    const Report::Test* const together = gpu.find("pcie", true);
    if (together != nullptr)
      for (const Report::Series& series : together->measured)
        if (series.name == "host_to_device" && series.median)
          add_value("together", to_thousandths(*series.median), kProbeRateUnit);
    for (const auto& [name, sensor] : {std::pair{"generation", "pcie_generation"}, {"lanes", "pcie_lanes"}})
      if (const auto highest = extreme(gpu, "pcie", sensor, std::greater()))
        add_value(name, to_integer(*highest), "count");
  }

  void add_sensors(const Report::Gpu& gpu) {
    if (const auto highest = extreme(gpu, "gemm", "temperature_c", std::greater()))
      add_value("temperature", *highest, "celsius");
    if (const auto highest = extreme(gpu, "gemm", "power_w", std::greater()))
      add_value("power", *highest, "watts");
    if (const auto lowest = extreme(gpu, "gemm", "sm_clock_mhz", std::less()))
      add_value("sm_clock", *lowest, "megahertz");
    std::string held;
    for (const std::string_view reason : kHeldDown)
      if (std::ranges::any_of(gpu.sensors, [reason](const Report::Sensors& sample) {
            return sample.test == "gemm" &&
                   std::ranges::find(sample.throttle_reasons, reason) != sample.throttle_reasons.end();
          }))
        held += (held.empty() ? "" : ",") + std::string(reason);
    if (!held.empty()) add_value("throttled", held, "");
  }

  // The first sample of that test.
  template <class Before>
  static std::optional<double> extreme(const Report::Gpu& gpu, std::string_view test, std::string_view sensor,
                                       Before before) {
    std::optional<double> first;
    for (const Report::Sensors& sample : gpu.sensors) {
      const auto value = sample.values.find(sensor);
      if (sample.test == test && value != sample.values.end() && (!first || before(value->second, *first)))
        first = value->second;
    }
    return first;
  }

  void add_pairs(const Report::Gpu& gpu) {
    const Report::Test* const made = made_of(gpu, "p2p");
    if (made == nullptr) return;
    for (const Report::Series& series : made->measured) {
      const auto peer = std::ranges::find(report_.gpus, series.peer, &Report::Gpu::uuid);
      if (peer == report_.gpus.end() || !series.median) continue;
      Observation observation = probe_observation(
          test_, {SubjectKind::link, gpu.pci_address + "|" + peer->pci_address, {}, {}, {}}, series.name);
      observation.value = to_thousandths(*series.median);
      observation.unit = kProbeRateUnit;
      all_.push_back(std::move(observation));
    }
  }

  // Not if a part of the test is missing and the rest is right: that proves nothing.
  void add_wrong(const Report::Gpu& gpu) {
    if (!has_any(gpu, &Report::Test::wrong) && !is_complete(gpu)) return add_missing("wrong", &gpu);
    add_places("wrong", gpu, &Report::Test::wrong);
  }

  // The number of all tests together, with the first places.
  void add_places(std::string_view name, const Report::Gpu& gpu,
                  std::vector<Report::Wrong> Report::Test::*of) {
    std::int64_t count = 0;
    std::string places;
    std::string detail;
    std::size_t named = 0;
    for (const Report::Test& made : gpu.tests)
      for (const Report::Wrong& wrong : made.*of) {
        count += static_cast<std::int64_t>(std::min<std::uint64_t>(wrong.count, INT32_MAX));
        if (detail.empty()) detail = wrong.detail;
        if (++named <= kMostPlaces) places += (places.empty() ? "" : ", ") + wrong.where;
      }
    add_value(name, count, "count");
    if (count == 0) return;
    all_.back().attributes = {{"where", to_printable(places, kMaxChildMessage)},
                              {"detail", to_printable(detail, kMaxChildMessage)}};
  }

  static bool has_any(const Report::Gpu& gpu, std::vector<Report::Wrong> Report::Test::*of) {
    return std::ranges::any_of(gpu.tests, [of](const Report::Test& made) { return !(made.*of).empty(); });
  }

  [[nodiscard]] bool is_complete(const Report::Gpu& gpu) const {
    if (!gpu.error.empty() || report_.stopped) return false;
    return std::ranges::all_of(split(test_.tests, ','),
                               [&gpu](std::string_view name) { return made_of(gpu, name) != nullptr; });
  }

  const GpuProbeTest& test_;
  const Report& report_;
  const host::GpuDevice& device_;
  Observations& all_;
};

}  // namespace

std::span<const GpuProbeTest> gpu_probe_tests() {
  return kTests;
}

const GpuProbeTest* find_gpu_probe_test(std::string_view check) {
  const auto* const found = std::ranges::find(kTests, check, &GpuProbeTest::check);
  return found == kTests.end() ? nullptr : found;
}

Result<Observations> gpu_probe_observations(const GpuProbeTest& test, const host::GpuProbeReport& report,
                                            std::span<const host::GpuDevice> gpus) {
  if (!report.error.empty()) return fail(Errc::unavailable, report.error);
  if (test.check == "gpu.p2p" && gpus.size() == 1) return Observations{probe_outcome(test, "no_peers")};
  Observations all{probe_outcome(test, "measured")};
  for (const host::GpuDevice& device : gpus)
    GpuWords(test, report, device, all).add();
  if (all.size() > kMaxChildObservations)
    return fail(Errc::unavailable, "the results of " + std::to_string(gpus.size()) +
                                       " GPUs do not fit into one report: test fewer of them at once");
  return all;
}

Observations gpu_probe_in_use(const GpuProbeTest& test, const std::string& by) {
  Observations all{probe_outcome(test, "in_use")};
  all.front().attributes = {{"by", by}};
  return all;
}

}  // namespace autopilot::diagnostics
