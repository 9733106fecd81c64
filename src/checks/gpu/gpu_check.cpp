// SPDX-License-Identifier: Apache-2.0
#include "checks/gpu/gpu_check.hpp"

#include <algorithm>
#include <utility>

#include "catalog/catalog.hpp"

namespace autopilot::checks {
namespace {

// Why the reading cannot have this value; empty if it can.
std::string why_impossible(std::string_view name, const Value& value) {
  const catalog::ReadingRange* range = catalog::builtin().range_of(name);
  if (range == nullptr) return "";
  const auto number = as_number(value);
  if (number && *number >= range->least && *number <= range->most) return "";
  return std::string(name) + " is " + to_string(value) + ", outside of its range " +
         to_string(Value{range->least}) + " to " + to_string(Value{range->most});
}

Errc errc_of_state(host::DriverState state) {
  switch (state) {
    case host::DriverState::unresponsive:
      return Errc::timed_out;
    case host::DriverState::no_permission:
      return Errc::denied;
    case host::DriverState::exhausted:
      return Errc::exhausted;
    default:
      return Errc::unavailable;
  }
}

Subject subject_of(const host::GpuDevice& gpu, const host::GpuReading& reading) {
  if (!reading.link) return gpu.subject;
  return {.kind = SubjectKind::nvlink,
          .key = gpu.subject.key + "/" + std::to_string(*reading.link),
          .index = reading.link,
          .uuid = {},
          .serial = {}};
}

Observation observation_of(const host::GpuDevice& gpu, const host::GpuReading& reading,
                           std::string_view witness, Instant now) {
  const host::ReadingInfo* info = host::find_reading(reading.name);
  const std::string_view unit = info != nullptr ? info->unit : "";
  const Subject subject = subject_of(gpu, reading);
  if (!reading.value)
    return missing_observation(reading.name, subject, host::reading_code_word(reading.code), unit, witness,
                               now);
  const std::string problem = why_impossible(reading.name, *reading.value);
  if (problem.empty()) return make_observation(reading.name, subject, *reading.value, unit, witness, now);
  Observation refused =
      missing_observation(reading.name, subject, to_string(Errc::malformed), unit, witness, now);
  refused.attributes = {{"error", gpu_text(gpu.subject) + ": " + problem}};
  return refused;
}

Subject subject_of(const host::GpuDevice& gpu, const host::GpuInstance& instance) {
  return {.kind = SubjectKind::gpu_instance,
          .key = gpu.subject.key + "/" + std::to_string(instance.gpu_instance) + "/" +
                 std::to_string(instance.compute_instance),
          .index = {},
          .uuid = instance.uuid,
          .serial = {}};
}

// Why the GPU cannot be judged, in the word of the first of `needed` that has one; empty if it can.
std::string why_unreadable(const JudgeInput& input, const Subject& gpu,
                           std::initializer_list<std::string_view> needed) {
  const auto state = input.history.word(gpu, kGpuState);
  if (!state) {
    const Observation* observation = input.history.find(gpu, kGpuState);
    return observation != nullptr ? observation->missing : "the driver does not list it";
  }
  if (*state != to_string(host::GpuState::ok)) return "its state is " + *state;
  std::string why;
  for (const std::string_view name : needed) {
    const Observation* observation = input.history.find(gpu, name);
    if (observation == nullptr) continue;
    if (observation->value) return "";
    if (why.empty() || is_not_offered(why)) why = observation->missing;
  }
  return why.empty() ? "it was not read" : why;
}

// All GPUs are bound to other drivers, for virtual machines for example.
bool is_given_away(const GpuDriver& driver) {
  return driver.known && std::ranges::all_of(*driver.known, [&](const host::PciDevice& gpu) {
           return !gpu.driver.empty() && gpu.driver != kernel_driver_name(driver.vendor);
         });
}

void add_silent_gpus(Observations& observations, const GpuDriver& driver, const Error& problem, Instant now) {
  if (!driver.known) return;
  for (const host::PciDevice& gpu : *driver.known)
    observations.push_back(
        missing_observation(kGpuState, gpu_subject(gpu.address), problem.what, "", driver.witness, now));
}

// An error if the driver does not answer.
Status read_driver(const GpuDriver& driver, const Request& request, const std::vector<host::GpuGroup>& groups,
                   Observed& observed) {
  const auto report = read_gpus(driver, request, groups);
  if (!report) {
    add_silent_gpus(observed.observations, driver, report.error(), request.now);
    return fail(report.error());
  }
  observed.witnesses.emplace_back(driver.witness);
  for (const host::GpuDevice& gpu : report->gpus)
    add_gpu(observed.observations, gpu, driver.witness, request.now);
  return {};
}

Finding unsupported(const JudgeInput& input, const Subject& subject, const std::string& message) {
  return make_finding(input, subject, "not_supported", Health::unsupported, message);
}

}  // namespace

std::string_view driver_state_name(host::GpuVendor vendor) {
  return vendor == host::GpuVendor::amd ? "amdgpu.state" : "driver.state";
}

std::string_view kernel_driver_name(host::GpuVendor vendor) {
  return vendor == host::GpuVendor::amd ? "amdgpu" : "nvidia";
}

MonoTime driver_deadline(const Request& request) {
  return request.now.mono + (request.deadline - request.now.mono) * 8 / 10;
}

Result<std::vector<GpuDriver>> gpu_drivers(const host::Host& host, Vendors vendors) {
  std::vector<GpuDriver> drivers;
  auto nvidia = host.gpu_scan.gpus(host::GpuVendor::nvidia);
  if (!nvidia || !nvidia->empty())
    drivers.push_back({host::GpuVendor::nvidia, kNvml, host.nvidia_gpus, std::move(nvidia)});
  // AMD's driver consists of files in the PCI tree: nothing can be read without it.
  const bool sees_pci = drivers.empty() || drivers.front().known.has_value();
  if (vendors == Vendors::all && sees_pci) {
    auto amd = TRY(host.gpu_scan.gpus(host::GpuVendor::amd));
    if (!amd.empty()) drivers.push_back({host::GpuVendor::amd, kAmdgpu, host.amd_gpus, std::move(amd)});
  }
  if (!drivers.empty()) return drivers;
  return fail(Errc::unsupported,
              vendors == Vendors::all ? "no GPU in the PCI tree" : "no NVIDIA GPU in the PCI tree");
}

Result<host::GpuReport> read_gpus(const GpuDriver& driver, const Request& request,
                                  const std::vector<host::GpuGroup>& groups) {
  host::GpuReport report = TRY(driver.gpus.read(groups, driver_deadline(request)));
  if (report.state != host::DriverState::ok)
    return fail(errc_of_state(report.state),
                "the driver is " + std::string(to_string(report.state)) + ": " + report.detail);
  return report;
}

Subject gpu_subject(const std::string& address) {
  return make_subject(SubjectKind::gpu, address);
}

Observation pci_driver_observation(const host::PciDevice& gpu, Instant now) {
  return make_observation(kPciDriver, gpu_subject(gpu.address), gpu.driver.empty() ? "none" : gpu.driver, "",
                          kPci, now);
}

Observation make_observation(std::string_view name, const Subject& subject, Value value,
                             std::string_view unit, std::string_view source, Instant now) {
  Observation observation;
  observation.name = name;
  observation.subject = subject;
  observation.value = std::move(value);
  observation.unit = unit;
  observation.source = source;
  observation.time = now;
  return observation;
}

Observation missing_observation(std::string_view name, const Subject& subject, std::string_view why,
                                std::string_view unit, std::string_view source, Instant now) {
  Observation observation = make_observation(name, subject, Value{}, unit, source, now);
  observation.value.reset();
  observation.missing = why;
  return observation;
}

void add_gpu(Observations& observations, const host::GpuDevice& gpu, std::string_view witness, Instant now) {
  observations.push_back(
      make_observation(kGpuState, gpu.subject, std::string(to_string(gpu.state)), "", witness, now));
  if (!gpu.name.empty())
    observations.push_back(make_observation(kGpuModel, gpu.subject, gpu.name, "", witness, now));
  for (const host::GpuReading& reading : gpu.readings)
    observations.push_back(observation_of(gpu, reading, witness, now));
  for (const host::GpuInstance& instance : gpu.instances)
    observations.push_back(
        make_observation(kGpuInstance, subject_of(gpu, instance), instance.uuid, "", witness, now));
}

Result<Observed> observe_gpus(const host::Host& host, const Request& request,
                              const std::vector<host::GpuGroup>& groups, Vendors vendors) {
  const std::vector<GpuDriver> drivers = TRY(gpu_drivers(host, vendors));
  Observed observed;
  std::vector<Error> problems;
  for (const GpuDriver& driver : drivers)
    if (const Status answered = read_driver(driver, request, groups, observed); !answered)
      problems.push_back(answered.error());
  if (observed.witnesses.empty() && !problems.empty()) return fail(problems.front());
  if (!observed.observations.empty()) return observed;
  if (std::ranges::all_of(drivers, is_given_away))
    return fail(Errc::unsupported, "every GPU is bound to another kernel driver");
  return fail(Errc::unavailable, "the driver lists no GPU, but the PCI tree has some");
}

bool is_not_offered(std::string_view missing) {
  return missing == "not_supported" || missing == "function_absent";
}

std::vector<Subject> readable_gpus(const JudgeInput& input, std::initializer_list<std::string_view> needed,
                                   Findings& findings) {
  std::vector<Subject> readable;
  Findings unreadable;
  bool all_unsupported = true;
  for (const Subject& gpu : input.history.subjects(SubjectKind::gpu)) {
    const std::string why = why_unreadable(input, gpu, needed);
    if (why.empty()) {
      readable.push_back(gpu);
    } else if (is_not_offered(why)) {
      unreadable.push_back(unsupported(input, gpu, gpu_text(gpu) + " or its driver does not support this"));
    } else {
      all_unsupported = false;
      unreadable.push_back(
          make_finding(input, gpu, why == to_string(Errc::malformed) ? "malformed_answer" : "could_not_look",
                       Health::unknown, gpu_text(gpu) + " could not be read: " + why));
    }
  }
  if (readable.empty() && all_unsupported && !unreadable.empty())
    unreadable = {unsupported(input, host_subject(), "no GPU of this machine or its driver supports this")};
  findings.insert(findings.end(), unreadable.begin(), unreadable.end());
  return readable;
}

std::vector<Subject> alike(const JudgeInput& input, const Subject& gpu, const std::vector<Subject>& gpus) {
  const auto model = input.history.word(gpu, kGpuModel);
  std::vector<Subject> same;
  for (const Subject& other : gpus)
    if (other == gpu || (model && input.history.word(other, kGpuModel) == model)) same.push_back(other);
  return same;
}

bool is_of_amd(const JudgeInput& input, const Subject& subject, std::string_view name) {
  const Observation* observation = input.history.find(subject, name);
  return observation != nullptr && observation->source == kAmdgpu;
}

bool is_true(const JudgeInput& input, const Subject& subject, std::string_view name) {
  return input.history.number(subject, name).value_or(0) != 0;
}

std::string gpu_text(const Subject& gpu) {
  if (!gpu.index) return "GPU " + gpu.key;
  return "GPU " + std::to_string(*gpu.index) + " (" + gpu.key + ")";
}

}  // namespace autopilot::checks
