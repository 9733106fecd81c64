// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nvml_driver.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "host/gpu/nvml_reader.hpp"
#include "host/gpu/readings.hpp"

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
  for (unsigned i = 0; i < std::min(count, kMaxGpus); ++i) {
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

tl::unexpected<Error> call_failed(const NvmlLibrary& library, std::string_view function, nvml::Return code) {
  if (code == nvml::kSymbolAbsent)
    return fail(Errc::unsupported, "the driver's library has no " + std::string(function));
  return fail(code == nvml::kNoPermission ? Errc::denied : Errc::unavailable,
              std::string(function) + ": " + library.error_text(code));
}

std::optional<std::string> address_of_device(NvmlLibrary& library, nvml::Device device) {
  nvml::PciInfo pci{};
  if (library.call(library.functions().nvmlDeviceGetPciInfo_v3, device, &pci) != nvml::kSuccess)
    return std::nullopt;
  return canonical_pci_address(driver_text(pci.busId, sizeof(pci.busId)));
}

bool is_alike(const GpuEvent& a, const GpuEvent& b) {
  return a.subject == b.subject && a.code == b.code;
}

}  // namespace

Status NvmlEvents::listen(NvmlLibrary& library) {
  if (set_ != nullptr) return {};
  const nvml::Functions& functions = library.functions();
  nvml::EventSet set = nullptr;
  if (const auto code = library.call(functions.nvmlEventSetCreate, &set); code != nvml::kSuccess)
    return call_failed(library, "nvmlEventSetCreate", code);
  unsigned count = 0;
  nvml::Return why = library.call(functions.nvmlDeviceGetCount_v2, &count);
  std::map<nvml::Device, std::string> addresses;
  for (unsigned i = 0; i < std::min(count, NvmlDriver::kMaxGpus); ++i) {
    nvml::Device device = nullptr;
    nvml::Return code = library.call(functions.nvmlDeviceGetHandleByIndex_v2, i, &device);
    if (code == nvml::kSuccess)
      code = library.call(functions.nvmlDeviceRegisterEvents, device, nvml::kEventXidCriticalError, set);
    if (code != nvml::kSuccess)
      why = code;
    else if (auto address = address_of_device(library, device))
      addresses.emplace(device, std::move(*address));
  }
  if (addresses.empty()) {
    library.call(functions.nvmlEventSetFree, set);
    if (why == nvml::kSuccess) return fail(Errc::unavailable, "the driver lists no GPU");
    return call_failed(library, "nvmlDeviceRegisterEvents", why);
  }
  set_ = set;
  addresses_ = std::move(addresses);
  drained_ = clock_.now().mono;
  return {};
}

void NvmlEvents::end() {
  set_ = nullptr;
  addresses_.clear();
}

Status NvmlEvents::drain(NvmlLibrary& library) {
  if (set_ == nullptr) return {};
  const Instant now = clock_.now();
  const Duration late = now.mono - std::exchange(drained_, now.mono);
  for (int i = 0; i < kMaxAtOnce; ++i) {
    nvml::EventData data{};
    const auto code = library.call(library.functions().nvmlEventSetWait_v2, set_, &data, 0U);
    if (code == nvml::kTimeout) break;
    if (code != nvml::kSuccess) return call_failed(library, "nvmlEventSetWait_v2", code);
    const auto address = addresses_.find(data.device);
    if ((data.eventType & nvml::kEventXidCriticalError) == 0 || address == addresses_.end()) continue;
    GpuEvent event;
    event.subject = {SubjectKind::gpu, address->second, std::nullopt, "", ""};
    event.code = static_cast<std::uint32_t>(
        std::min<unsigned long long>(data.eventData, std::numeric_limits<std::uint32_t>::max()));
    event.time = now;
    event.late = late;
    add(std::move(event));
  }
  return {};
}

// Many events of one kind leave room for other events.
void NvmlEvents::add(GpuEvent event) {
  const auto alike = [&event](const GpuEvent& other) { return is_alike(other, event); };
  if (static_cast<std::size_t>(std::ranges::count_if(kept_events_, alike)) >= kMostAlike)
    kept_events_.erase(std::prev(std::find_if(kept_events_.rbegin(), kept_events_.rend(), alike).base()));
  kept_events_.push_back(std::move(event));
  if (kept_events_.size() > kMost) kept_events_.pop_front();
}

std::vector<GpuEvent> NvmlEvents::take() {
  const MonoTime oldest = clock_.now().mono - kKeptFor;
  std::erase_if(kept_events_, [oldest](const GpuEvent& event) { return event.time.mono < oldest; });
  std::vector<GpuEvent> taken(std::make_move_iterator(kept_events_.begin()),
                              std::make_move_iterator(kept_events_.end()));
  kept_events_.clear();
  return taken;
}

}  // namespace autopilot::host
