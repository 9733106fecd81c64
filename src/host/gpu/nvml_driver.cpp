// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nvml_driver.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

#include "host/clock/system_clock.hpp"
#include "host/files/fd.hpp"
#include "host/gpu/helper_gpus.hpp"
#include "host/gpu/nvml_reader.hpp"
#include "host/gpu/readings.hpp"
#include "host/helpers/helper_server.hpp"

namespace autopilot::host {
namespace {

GpuState gpu_state_of(nvml::Return code) {
  if (code == nvml::kSuccess) return GpuState::ok;
  if (code == nvml::kGpuIsLost) return GpuState::lost;
  if (code == nvml::kResetRequired) return GpuState::reset_required;
  return GpuState::unreadable;
}

bool is_divided(const GpuDevice& gpu) {
  const GpuReading* mode = gpu.find(reading::kMig);
  return mode != nullptr && mode->value == Value{true};
}

std::optional<GpuInstance> read_instance(NvmlLibrary& library, nvml::Device instance) {
  const nvml::Functions& functions = library.functions();
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  std::array<char, nvml::kDeviceUuidSize> uuid{};
  const bool is_complete =
      library.call(functions.nvmlDeviceGetGpuInstanceId, instance, &gpu_instance) == nvml::kSuccess &&
      library.call(functions.nvmlDeviceGetComputeInstanceId, instance, &compute_instance) == nvml::kSuccess &&
      library.call(functions.nvmlDeviceGetUUID, instance, uuid.data(), nvml::kDeviceUuidSize) ==
          nvml::kSuccess;
  if (!is_complete) return std::nullopt;
  return GpuInstance{.gpu_instance = static_cast<int>(gpu_instance),
                     .compute_instance = static_cast<int>(compute_instance),
                     .uuid = driver_text(uuid.data(), uuid.size())};
}

// The MIG instances of a GPU. An instance that disappears during the calls is left out; empty if the library
// cannot list them.
std::vector<GpuInstance> read_instances(NvmlLibrary& library, nvml::Device gpu) {
  const nvml::Functions& functions = library.functions();
  unsigned most = 0;
  if (library.call(functions.nvmlDeviceGetMaxMigDeviceCount, gpu, &most) != nvml::kSuccess) return {};
  std::vector<GpuInstance> instances;
  for (unsigned i = 0; i < std::min<unsigned>(most, GpuInstance::kMost); ++i) {
    nvml::Device instance = nullptr;
    // Not every index is in use.
    if (library.call(functions.nvmlDeviceGetMigDeviceHandleByIndex, gpu, i, &instance) != nvml::kSuccess)
      continue;
    if (auto found = read_instance(library, instance)) instances.push_back(std::move(*found));
  }
  return instances;
}

// NVML writes 1000 * major + 10 * minor.
std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

DriverState NvmlDriver::start() {
  const Instant now = clock_.now();
  if (ready_ && has_bad_gpu_ && now.mono - started_ >= kReinitInterval) stop();
  if (ready_) return DriverState::ok;
  auto opened = NvmlLibrary::open(library_path_, watch_);
  if (!opened) {
    detail_ = opened.error().detail;
    return opened.error().state;
  }
  library_.emplace(std::move(*opened));
  const nvml::Return code = library_->call(library_->functions().nvmlInit_v2);
  const DriverState state = driver_state_of(code);
  if (state != DriverState::ok) {
    detail_ = library_->path() + ": nvmlInit_v2: " + library_->error_text(code);
    return state;
  }
  ready_ = true;
  started_ = now.mono;
  read_versions();
  // Registers early, because NVML delivers only later events. take_events() registers again and reports a
  // failure.
  (void)events_.listen(library());
  return DriverState::ok;
}

NvmlLibrary& NvmlDriver::library() {
  AUTOPILOT_ASSERT(library_);
  return *library_;
}

// The next start() loads the library again: an update of the driver replaces the file.
void NvmlDriver::stop() {
  if (ready_) {
    (void)events_.drain(library());
    library().call(library().functions().nvmlShutdown);
  }
  ready_ = false;
  has_bad_gpu_ = false;
  events_.end();
  known_.clear();
  telemetry_gpus_.clear();
  if (library_) calls_before_ += library_->calls();
  library_.reset();
}

void NvmlDriver::read_versions() {
  const nvml::Functions& functions = library().functions();
  std::array<char, nvml::kSystemVersionSize> text{};
  driver_version_.clear();
  nvml_version_.clear();
  cuda_version_.clear();
  if (library().call(functions.nvmlSystemGetDriverVersion, text.data(), nvml::kSystemVersionSize) ==
      nvml::kSuccess)
    driver_version_ = driver_text(text.data(), text.size());
  text.fill('\0');
  if (library().call(functions.nvmlSystemGetNVMLVersion, text.data(), nvml::kSystemVersionSize) ==
      nvml::kSuccess)
    nvml_version_ = driver_text(text.data(), text.size());
  int cuda = 0;
  if (library().call(functions.nvmlSystemGetCudaDriverVersion_v2, &cuda) == nvml::kSuccess)
    cuda_version_ = cuda_version_text(cuda);
}

GpuReport NvmlDriver::read(const std::vector<GpuGroup>& groups, const std::vector<std::string>& addresses) {
  const std::uint64_t before = calls();
  GpuReport report;
  report.time = clock_.now();
  report.state = start();
  if (library_) report.library_path = library_->path();
  if (report.state == DriverState::ok) {
    report.driver_version = driver_version_;
    report.nvml_version = nvml_version_;
    report.cuda_version = cuda_version_;
    read_gpus(report, groups, addresses);
    (void)events_.drain(library());
  } else {
    report.detail = detail_;
  }
  report.calls = calls() - before;
  if (report.state != DriverState::ok) stop();
  return report;
}

void NvmlDriver::read_gpus(GpuReport& report, const std::vector<GpuGroup>& groups,
                           const std::vector<std::string>& addresses) {
  const nvml::Functions& functions = library().functions();
  unsigned count = 0;
  const nvml::Return counted = library().call(functions.nvmlDeviceGetCount_v2, &count);
  if (counted != nvml::kSuccess) {
    const DriverState state = driver_state_of(counted);
    report.state = state == DriverState::ok ? DriverState::init_failed : state;
    report.detail = library().path() + ": nvmlDeviceGetCount_v2: " + library().error_text(counted);
    return;
  }
  std::set<std::string> absent(addresses.begin(), addresses.end());
  for (const auto& [address, known] : known_)
    absent.insert(address);
  std::vector<GpuDevice> nameless;
  for (unsigned i = 0; i < std::min(count, kMaxNvmlGpus); ++i) {
    GpuDevice gpu = read_index(i, groups);
    absent.erase(gpu.subject.key);
    (gpu.subject.key.empty() ? nameless : report.gpus).push_back(std::move(gpu));
  }
  for (const std::string& address : absent)
    read_absent(report, address, nameless, groups);
  for (GpuDevice& gpu : nameless) {
    gpu.subject.key = "index-" + std::to_string(gpu.subject.index.value_or(0));
    report.gpus.push_back(std::move(gpu));
  }
  has_bad_gpu_ = std::any_of(report.gpus.begin(), report.gpus.end(),
                             [](const GpuDevice& gpu) { return gpu.state != GpuState::ok; });
  std::set<std::string> missing(addresses.begin(), addresses.end());
  for (const GpuDevice& gpu : report.gpus) {
    missing.erase(gpu.subject.key);
    if (gpu.state == GpuState::ok) once_ok_.insert(gpu.subject.key);
  }
  has_bad_gpu_ = has_bad_gpu_ || std::ranges::any_of(missing, [this](const std::string& address) {
                   return once_ok_.contains(address);
                 });
}

GpuDevice NvmlDriver::read_index(unsigned index, const std::vector<GpuGroup>& groups) {
  nvml::Device device = nullptr;
  const nvml::Return code =
      library().call(library().functions().nvmlDeviceGetHandleByIndex_v2, index, &device);
  if (code == nvml::kSuccess) return read_gpu(device, static_cast<int>(index), groups);
  GpuDevice gpu;
  gpu.subject = {SubjectKind::gpu, "", static_cast<int>(index), "", ""};
  gpu.state = gpu_state_of(code);
  return gpu;
}

// Reads a GPU that the PCI tree or an earlier report has and the enumeration does not. It takes the index of
// the first GPU without an address. A GPU that NVML does not know at all is left out: the check compares the
// report with the PCI scan.
void NvmlDriver::read_absent(GpuReport& report, const std::string& address, std::vector<GpuDevice>& nameless,
                             const std::vector<GpuGroup>& groups) {
  nvml::Device device = nullptr;
  const nvml::Return code =
      library().call(library().functions().nvmlDeviceGetHandleByPciBusId_v2, address.c_str(), &device);
  GpuState state = gpu_state_of(code);
  std::optional<int> index;
  if (!nameless.empty()) {
    index = nameless.front().subject.index;
    if (state == GpuState::unreadable) state = nameless.front().state;
    nameless.erase(nameless.begin());
  } else if (state == GpuState::unreadable) {
    return;
  }
  GpuDevice gpu;
  if (state == GpuState::ok) gpu = read_gpu(device, index, groups);
  if (gpu.subject.key.empty())
    gpu = gpu_without_handle(address, index, state == GpuState::ok ? gpu.state : state);
  report.gpus.push_back(std::move(gpu));
}

GpuDevice NvmlDriver::gpu_without_handle(const std::string& address, std::optional<int> index,
                                         GpuState state) const {
  GpuDevice gpu;
  gpu.subject = {SubjectKind::gpu, address, index, "", ""};
  gpu.state = state;
  if (const auto known = known_.find(address); known != known_.end()) {
    gpu.name = known->second.name;
    gpu.subject.uuid = known->second.uuid;
    gpu.subject.serial = known->second.serial;
  }
  return gpu;
}

GpuDevice NvmlDriver::read_gpu(nvml::Device device, std::optional<int> index,
                               const std::vector<GpuGroup>& groups) {
  GpuDevice gpu;
  gpu.subject = {SubjectKind::gpu, "", index, "", ""};
  nvml::PciInfo pci{};
  const nvml::Return code = library().call(library().functions().nvmlDeviceGetPciInfo_v3, device, &pci);
  gpu.state = gpu_state_of(code);
  if (code != nvml::kSuccess) return gpu;
  const auto address = canonical_pci_address(driver_text(pci.busId, sizeof(pci.busId)));
  if (!address) {
    gpu.state = GpuState::unreadable;
    return gpu;
  }
  gpu.subject.key = *address;
  read_identity(device, gpu);
  NvmlReader reader(library(), device, known_[*address].facts);
  gpu.readings = reader.read(groups);
  if (reader.state() != GpuState::ok) gpu.state = reader.state();
  const bool is_wanted = std::ranges::find(groups, GpuGroup::processes) != groups.end();
  if (is_wanted && gpu.state == GpuState::ok && is_divided(gpu))
    gpu.instances = read_instances(library(), device);
  return gpu;
}

void NvmlDriver::read_identity(nvml::Device device, GpuDevice& gpu) {
  Known& known = known_[gpu.subject.key];
  const nvml::Functions& functions = library().functions();
  const auto ask = [&](const nvml::Function<nvml::Return(nvml::Device, char*, unsigned)>& function,
                       std::string& text, unsigned size) {
    if (known.complete) return;
    std::array<char, 128> buffer{};
    const nvml::Return code = library().call(function, device, buffer.data(), size);
    if (code == nvml::kSuccess) text = driver_text(buffer.data(), buffer.size());
    if (gpu_state_of(code) == GpuState::lost || gpu_state_of(code) == GpuState::reset_required)
      gpu.state = gpu_state_of(code);
  };
  ask(functions.nvmlDeviceGetName, known.name, nvml::kDeviceNameSize);
  ask(functions.nvmlDeviceGetUUID, known.uuid, nvml::kDeviceUuidSize);
  ask(functions.nvmlDeviceGetSerial, known.serial, nvml::kDeviceSerialSize);
  known.complete = !known.name.empty() && !known.uuid.empty();  // not every board has a serial number
  gpu.name = known.name;
  gpu.subject.uuid = known.uuid;
  gpu.subject.serial = known.serial;
}

void NvmlDriver::find_telemetry_gpus() {
  const nvml::Functions& functions = library().functions();
  unsigned count = 0;
  if (library().call(functions.nvmlDeviceGetCount_v2, &count) != nvml::kSuccess) return;
  for (unsigned i = 0; i < std::min(count, kMaxNvmlGpus); ++i) {
    nvml::Device device = nullptr;
    nvml::PciInfo pci{};
    if (library().call(functions.nvmlDeviceGetHandleByIndex_v2, i, &device) != nvml::kSuccess) continue;
    if (library().call(functions.nvmlDeviceGetPciInfo_v3, device, &pci) != nvml::kSuccess) continue;
    const auto address = canonical_pci_address(driver_text(pci.busId, sizeof(pci.busId)));
    if (!address) continue;
    GpuDevice gpu;
    gpu.subject.key = *address;
    read_identity(device, gpu);
    telemetry_gpus_.emplace_back(device, static_cast<int>(i), *address, gpu.name);
  }
}

GpuTelemetry NvmlDriver::read_telemetry(TelemetryDetail detail) {
  const std::uint64_t before = calls();
  GpuTelemetry telemetry;
  telemetry.state = start();
  if (telemetry.state == DriverState::ok) {
    if (telemetry_gpus_.empty()) find_telemetry_gpus();
    for (NvmlTelemetry& gpu : telemetry_gpus_) {
      telemetry.gpus.push_back(gpu.read(library(), detail));
      has_bad_gpu_ = has_bad_gpu_ || telemetry.gpus.back().state != GpuState::ok;
    }
  } else {
    telemetry.detail = detail_;
  }
  telemetry.calls = calls() - before;
  if (telemetry.state != DriverState::ok) stop();
  return telemetry;
}

Result<std::vector<GpuEvent>> NvmlDriver::take_events() {
  if (const DriverState state = start(); state != DriverState::ok)
    return fail(Errc::unavailable, "the driver is " + std::string(to_string(state)) + ": " + detail_);
  TRY_STATUS(events_.listen(library()));
  const Status drained = events_.drain(library());
  std::vector<GpuEvent> taken = events_.take();
  if (!drained && taken.empty()) return fail(drained.error());
  return taken;
}

namespace {

// A call that hangs this long is given up; a new process may succeed.
constexpr Duration kHangPatience = std::chrono::seconds{30};
constexpr int kExitUsage = 64;

// The driver, called by one thread, which may hang in a call.
class NvmlService {
 public:
  explicit NvmlService(std::string library_path) : driver_(std::move(library_path), clock_, watch_) {
    std::thread([this] { work(); }).detach();
  }

  Result<std::string> read(std::string_view params, MonoTime deadline) {
    const GpuQuestion question = TRY(parse_gpu_question(params));
    auto answer =
        ask([this, question] { return format_gpu_report(driver_.read(question.groups, question.addresses)); },
            deadline);
    if (answer) return std::move(*answer);
    GpuReport report;
    report.state = DriverState::unresponsive;
    report.detail = what_hangs();
    return format_gpu_report(report);
  }

  Result<std::string> read_telemetry(std::string_view params, MonoTime deadline) {
    const TelemetryDetail detail = TRY(parse_telemetry_request(params));
    auto answer =
        ask([this, detail] { return format_gpu_telemetry(driver_.read_telemetry(detail)); }, deadline);
    if (answer) return std::move(*answer);
    GpuTelemetry telemetry;
    telemetry.state = DriverState::unresponsive;
    telemetry.detail = what_hangs();
    return format_gpu_telemetry(telemetry);
  }

  Result<std::string> take_events(std::string_view, MonoTime deadline) {
    auto answer = ask(
        [this]() -> Result<std::string> {
          return format_gpu_events(TRY(driver_.take_events()), clock_.now());
        },
        deadline);
    if (!answer) return fail(Errc::timed_out, what_hangs());
    return std::move(*answer);
  }

 private:
  using Task = std::function<Result<std::string>()>;

  [[noreturn]] void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return task_ != nullptr; });
      lock.unlock();
      Result<std::string> answer = task_();
      lock.lock();
      answer_ = std::move(answer);
      task_ = nullptr;
      changed_.notify_all();
    }
  }

  // Empty if the thread is busy or has not finished shortly before the deadline.
  std::optional<Result<std::string>> ask(Task task, MonoTime deadline) {
    const MonoTime give_up = mono_now() + (deadline - mono_now()) * 9 / 10;
    std::unique_lock lock(mutex_);
    const auto is_free = [this] { return task_ == nullptr; };
    if (!changed_.wait_until(lock, give_up, is_free)) return std::nullopt;
    task_ = std::move(task);
    changed_.notify_all();
    if (!changed_.wait_until(lock, give_up, is_free)) return std::nullopt;
    return std::move(answer_);
  }

  // Never returns once a call has hung for kHangPatience.
  [[nodiscard]] std::string what_hangs() const {
    const char* call = watch_.name();
    const Duration stuck = mono_now() - watch_.since();
    if (call == nullptr) return "the driver is slow: no answer within the deadline";
    if (stuck > kHangPatience)
      while (true)
        ::pause();
    return std::string(call) + " has not returned for " +
           format_duration(std::chrono::duration_cast<std::chrono::seconds>(stuck));
  }

  SystemClock clock_;
  CallWatch watch_;
  NvmlDriver driver_;  // used by the thread alone
  std::mutex mutex_;
  std::condition_variable changed_;
  Task task_;  // in progress on the thread; null: the thread is free
  Result<std::string> answer_;
};

}  // namespace

int run_nvml_helper(int fd, const std::vector<std::string>& arguments) {
  std::string library;
  if (arguments.size() == 2 && arguments[0] == "--library") {
    library = arguments[1];
  } else if (!arguments.empty()) {
    std::cerr << "autopilot helper nvml: takes only --library PATH\n";
    return kExitUsage;
  }
  static NvmlService service(std::move(library));
  const int code = serve(
      fd,
      {{"read", [](std::string_view params, MonoTime deadline) { return service.read(params, deadline); }},
       {"telemetry",
        [](std::string_view params, MonoTime deadline) { return service.read_telemetry(params, deadline); }},
       {"events",
        [](std::string_view params, MonoTime deadline) { return service.take_events(params, deadline); }}});
  // The thread may hang in the driver: exit without destructors and without joining it.
  ::_exit(code);
}

}  // namespace autopilot::host
