// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "core/parse.hpp"

namespace autopilot::checks {
namespace gpu_present {
namespace {

constexpr std::string_view kProc = "/proc/driver/nvidia/gpus";
constexpr Duration kWindow = std::chrono::minutes{10};

// Observations about the host.
constexpr std::string_view kPciCount = "pci.gpu_count";
constexpr std::string_view kDrivers = "driver";
// About each GPU, from the PCI tree and the kernel module.
constexpr std::string_view kVendor = "pci.vendor";             // a word of host::GpuVendor
constexpr std::string_view kModuleUuid = "module.uuid_known";  // false: the module failed to initialise it
constexpr std::string_view kModuleExcluded = "module.excluded";

// --- observe ---

class Reader {
 public:
  Reader(const host::Host& host, const Request& request) : host_(host), request_(request) {}

  void found(std::size_t gpus) {
    add_witness(kPci);
    in_pci_ = in_pci_.value_or(0) + static_cast<std::int64_t>(gpus);
  }

  void read_pci(const GpuDriver& driver) {
    if (!driver.known) return;
    found(driver.known->size());
    for (const host::PciDevice& gpu : *driver.known) {
      observed_.observations.push_back(pci_driver_observation(gpu, request_.now));
      add(kVendor, gpu_subject(gpu.address), std::string(to_string(driver.vendor)), "", kPci);
    }
  }

  Status read_driver(const GpuDriver& driver) {
    const host::GpuReport report =
        TRY(driver.gpus.read({host::GpuGroup::identity}, driver_deadline(request_)));
    add(driver_state_name(driver.vendor), host_subject(), std::string(to_string(report.state)), "",
        driver.witness);
    if (report.state != host::DriverState::ok)
      return fail(Errc::unavailable,
                  "the driver is " + std::string(to_string(report.state)) + ": " + report.detail);
    add_witness(driver.witness);
    listed_ = listed_.value_or(0) + static_cast<std::int64_t>(report.gpus.size());
    for (const host::GpuDevice& gpu : report.gpus)
      add_gpu(observed_.observations, gpu, driver.witness, request_.now);
    return {};
  }

  void read_module() {
    const auto names = host_.files.list(kProc);
    if (!names) return;
    observed_.witnesses.emplace_back(kProc);
    for (const std::string& name : *names) {
      const auto address = canonical_pci_address(name);
      const auto text = host_.files.read(std::string(kProc) + "/" + name + "/information", 16384);
      if (!address || !text) continue;
      add(kModuleUuid, gpu_subject(*address), !has_line(*text, "GPU UUID", "??"), "", kProc);
      add(kModuleExcluded, gpu_subject(*address), has_line(*text, "GPU Excluded", "Yes"), "", kProc);
    }
  }

  // The counts include all vendors.
  [[nodiscard]] Observed take() {
    if (in_pci_) add(kPciCount, host_subject(), *in_pci_, "count", kPci);
    if (listed_) add(kDriverGpuCount, host_subject(), *listed_, "count", kDrivers);
    return std::move(observed_);
  }

 private:
  // True if there is a line "<name>: <value>" whose value contains `word`.
  static bool has_line(std::string_view text, std::string_view name, std::string_view word) {
    for (const std::string_view line : split(text, '\n')) {
      const auto colon = line.find(':');
      if (colon != std::string_view::npos && trim(line.substr(0, colon)) == name)
        return line.substr(colon).find(word) != std::string_view::npos;
    }
    return false;
  }
  void add_witness(std::string_view witness) {
    if (std::ranges::find(observed_.witnesses, witness) == observed_.witnesses.end())
      observed_.witnesses.emplace_back(witness);
  }
  void add(std::string_view name, const Subject& about, Value value, std::string_view unit,
           std::string_view source) {
    observed_.observations.push_back(
        make_observation(name, about, std::move(value), unit, source, request_.now));
  }

  const host::Host& host_;
  const Request& request_;
  std::optional<std::int64_t> in_pci_;
  std::optional<std::int64_t> listed_;
  Observed observed_;
};

Result<Observed> observe(const host::Host& host, const Request& request) {
  Reader reader(host, request);
  const auto drivers = gpu_drivers(host, Vendors::all);
  if (!drivers && drivers.error().code != Errc::unsupported) return fail(drivers.error());
  if (!drivers) {
    reader.found(0);
    return reader.take();
  }
  for (const GpuDriver& driver : *drivers) {
    reader.read_pci(driver);
    const Status answered = reader.read_driver(driver);
    if (!answered && !driver.known)
      return fail(answered.error().code, driver.known.error().what + "; " + answered.error().what);
  }
  reader.read_module();
  return reader.take();
}

// --- judge ---

struct StateVerdict {
  host::GpuState state;
  std::string_view reason;
  Health health;
  std::string_view message;
};

constexpr std::array kStateVerdicts{
    StateVerdict{host::GpuState::lost, "gpu_lost", Health::failed, "is lost: it does not answer on the bus"},
    StateVerdict{host::GpuState::reset_required, "gpu_reset_required", Health::failed,
                 "must be reset before it can be used again"},
    StateVerdict{host::GpuState::unresponsive, "gpu_unresponsive", Health::failed, "does not answer in time"},
    StateVerdict{host::GpuState::unreadable, "gpu_unreadable", Health::degraded,
                 "is listed, but answers with an error"},
};

struct Recovery {
  host::RecoveryAction value;
  Action action;
  Health health;
  std::string_view message;
};

constexpr std::array kRecoveries{
    Recovery{host::RecoveryAction::gpu_reset, Action::reset_gpu, Health::failed, "a reset of the GPU"},
    Recovery{host::RecoveryAction::node_reboot, Action::reboot_node, Health::failed, "a reboot of the node"},
    Recovery{host::RecoveryAction::drain_p2p, Action::drain_p2p, Health::degraded,
             "its peer-to-peer traffic to be drained"},
    Recovery{host::RecoveryAction::drain_and_reset, Action::drain_then_reset_gpu, Health::degraded,
             "a drain, then a reset of the GPU"},
    Recovery{host::RecoveryAction::imex_domain, Action::recover_imex, Health::degraded,
             "its IMEX domain to be recovered"},
    Recovery{host::RecoveryAction::bus_reset, Action::reset_gpu, Health::failed, "a reset of its bus"},
    Recovery{host::RecoveryAction::system_reboot, Action::reboot_node, Health::failed,
             "a reboot of the system"},
};

class PresenceJudge {
 public:
  explicit PresenceJudge(const JudgeInput& input) : input_(input), history_(input.history) {}

  [[nodiscard]] Findings findings() {
    judge_count();
    for (const Subject& gpu : history_.subjects(SubjectKind::gpu))
      if (driver_answers(vendor_of(gpu))) judge_gpu(gpu);
    return std::move(findings_);
  }

 private:
  // If the PCI tree could not be read, only NVIDIA's driver was called.
  [[nodiscard]] host::GpuVendor vendor_of(const Subject& gpu) const {
    return history_.word(gpu, kVendor) == std::string(to_string(host::GpuVendor::amd))
               ? host::GpuVendor::amd
               : host::GpuVendor::nvidia;
  }
  [[nodiscard]] bool driver_answers(host::GpuVendor vendor) const {
    return history_.word(host_subject(), driver_state_name(vendor)) ==
           std::string(to_string(host::DriverState::ok));
  }

  void add(const Subject& gpu, std::string_view reason, Health health, const std::string& message) {
    findings_.push_back(make_finding(input_, gpu, reason, health, message));
    const auto driver = history_.word(gpu, kPciDriver);
    if (driver) findings_.back().evidence.emplace_back("kernelDriver", *driver);
  }

  void judge_gpu(const Subject& gpu) {
    const auto state = history_.word(gpu, kGpuState);
    if (!state) return judge_unlisted(gpu);
    if (has_just_left(gpu)) {
      add(gpu, "could_not_look", Health::unknown,
          gpu_text(gpu) + " does not answer on the bus at this moment; it may be resetting");
      return;
    }
    for (const StateVerdict& verdict : kStateVerdicts)
      if (*state == to_string(verdict.state))
        add(gpu, verdict.reason, verdict.health, gpu_text(gpu) + " " + std::string(verdict.message));
    judge_recovery(gpu);
  }

  // AMD's GPUs do not answer for a moment while their driver resets them.
  [[nodiscard]] bool has_just_left(const Subject& gpu) const {
    if (vendor_of(gpu) != host::GpuVendor::amd) return false;
    const auto samples = history_.samples(gpu, kGpuState);
    const auto is_lost = [](const Sample& sample) {
      return to_string(sample.value) == to_string(host::GpuState::lost);
    };
    return samples.size() > 1 && is_lost(samples.back()) && !is_lost(samples[samples.size() - 2]);
  }

  // In the PCI tree, and not in the driver's list.
  void judge_unlisted(const Subject& gpu) {
    const std::string driver = history_.word(gpu, kPciDriver).value_or("none");
    const bool is_known_to_module = history_.find(gpu, kModuleUuid) != nullptr;
    const std::string_view own = kernel_driver_name(vendor_of(gpu));
    if (driver != own && driver != "none") {
      add(gpu, "gpu_not_used_here", Health::unsupported,
          gpu_text(gpu) + " is bound to the kernel driver " + driver);
    } else if (is_true(input_, gpu, kModuleExcluded)) {
      add(gpu, "gpu_not_used_here", Health::unsupported, gpu_text(gpu) + " is excluded from the driver");
    } else if (is_known_to_module && !is_true(input_, gpu, kModuleUuid)) {
      add(gpu, "gpu_uninitialised", Health::failed,
          gpu_text(gpu) + " is known to the kernel module, which could not initialise it");
    } else if (driver == own && !is_known_to_module && module_lists_others() && !all_are_expected()) {
      // The container runtime shows a container only its own GPUs; the PCI tree shows all.
      add(gpu, "gpu_not_used_here", Health::unsupported,
          gpu_text(gpu) + " is in the machine, but was not given to this container");
    } else {
      add(gpu, "gpu_missing", Health::failed,
          gpu_text(gpu) + " is in the PCI tree, but the driver does not list it");
    }
  }

  [[nodiscard]] bool module_lists_others() const {
    const SharedObservations& latest = history_.latest();
    return std::any_of(latest.begin(), latest.end(),
                       [](const Observation& observation) { return observation.name == kModuleUuid; });
  }
  [[nodiscard]] bool all_are_expected() const {
    const auto count = history_.number(host_subject(), kPciCount);
    return input_.expectation.gpu_count && count && *count <= *input_.expectation.gpu_count;
  }

  void judge_recovery(const Subject& gpu) {
    const auto number = history_.number(gpu, host::reading::kRecoveryAction);
    if (!number || *number == 0) return;
    const auto* const recovery =
        std::find_if(kRecoveries.begin(), kRecoveries.end(),
                     [&](const Recovery& known) { return static_cast<double>(known.value) == *number; });
    const bool is_known = recovery != kRecoveries.end();
    add(gpu, "gpu_recovery_wanted", is_known ? recovery->health : Health::degraded,
        gpu_text(gpu) + ": the driver requests " +
            (is_known ? std::string(recovery->message) : "recovery action " + rounded(*number)));
    if (is_known) findings_.back().action = recovery->action;
    findings_.back().evidence.emplace_back("recoveryAction", *number);
  }

  void judge_count() {
    const auto in_pci = history_.number(host_subject(), kPciCount);
    const auto count = in_pci ? in_pci : history_.number(host_subject(), kDriverGpuCount);
    if (!count) return;
    const auto expected = input_.expectation.gpu_count;
    if (expected && *count < *expected) {
      add_count("gpu_count_low", Health::failed, *count, *expected, "expected");
    } else if (expected && *count > *expected) {
      add_count("gpu_count_high", Health::degraded, *count, *expected, "expected");
    } else if (const double before = most_seen(); *count < before) {
      add_count("gpu_vanished", Health::failed, *count, before, "a few minutes ago");
    } else if (*count == 0) {
      findings_.push_back(
          make_finding(input_, host_subject(), "not_present", Health::unsupported, "no GPU in the PCI tree"));
    }
  }

  // The largest count of the PCI tree in the window.
  [[nodiscard]] double most_seen() const {
    double most = 0;
    for (const Sample& sample : history_.samples(host_subject(), kPciCount))
      most = std::max(most, as_number(sample.value).value_or(0));
    return most;
  }

  void add_count(std::string_view reason, Health health, double count, double other, std::string_view what) {
    findings_.push_back(
        make_finding(input_, host_subject(), reason, health,
                     rounded(count) + " GPUs in the machine, " + rounded(other) + " " + std::string(what)));
    findings_.back().evidence = {{"count", count}, {"comparedWith", other}};
  }

  const JudgeInput& input_;
  const History& history_;
  Findings findings_;
};

Findings judge(const JudgeInput& input) {
  return PresenceJudge(input).findings();
}

}  // namespace
}  // namespace gpu_present

const Check kGpuPresent = {
    .info = {.id = "gpu.present",
             .title = "GPUs present",
             .tags = {"gpu", "passive"},
             .period = std::chrono::seconds{30},
             .deadline = std::chrono::seconds{10},
             .window = gpu_present::kWindow,
             .cost = Cost::moderate,
             .witnesses = {std::string(kPci), std::string(kNvml), std::string(gpu_present::kProc),
                           std::string(kAmdgpu)},
             .rights = {},
             .needs_window = false},
    .observe = gpu_present::observe,
    .judge = gpu_present::judge,
};

}  // namespace autopilot::checks
