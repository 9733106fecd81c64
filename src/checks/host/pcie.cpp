// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/host/pcie_lines.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace host_pcie {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kId = "host.pcie";
constexpr std::string_view kSysfs = "sysfs";
constexpr std::string_view kKernelLog = "/dev/kmsg";
constexpr Duration kWindow = 20min;

// Devices that carry the data of jobs, except GPUs, which have gpu.pcie_link.
constexpr std::array kClasses{host::pci_class::kNvme, host::pci_class::kEthernet,
                              host::pci_class::kNetworkOther, host::pci_class::kInfiniband};

// About the host, only if the class of a device could not be read: it may be one of these devices.
constexpr std::string_view kUnread = "pci.unread";
// Observations about each link, subject link "<device>|<port>".
constexpr std::string_view kDriver = "device.driver";
constexpr std::string_view kWidth = "link.width";
constexpr std::string_view kSpeed = "link.speed";
// One end of the link: its capabilities, and its error counters since boot.
struct End {
  std::string_view max_width;
  std::string_view max_speed;
  std::string_view correctable;
  std::string_view nonfatal;
  std::string_view fatal;
};
constexpr End kDevice{"device.width_max", "device.speed_max", "device.correctable", "device.nonfatal",
                      "device.fatal"};
constexpr End kPort{"port.width_max", "port.speed_max", "port.correctable", "port.nonfatal", "port.fatal"};

// --- observe ---

class Collector {
 public:
  Collector(const host::Host& host, const Request& request) : host_(host), seen_(request.now) {}

  Status add_devices() {
    const host::PciScan scan = TRY(host::scan_pci_classes(host_.files, kClasses));
    for (const host::PciDevice& device : scan.devices)
      add(device);
    if (const auto& unread = scan.unread)
      seen_.add_missing(host_subject(), kUnread, kSysfs, to_string(unread->code), unread->what);
    return {};
  }
  // Log lines about a GPU, or about a port above it, are about the GPU.
  void add_gpus() {
    for (const host::GpuVendor vendor : {host::GpuVendor::nvidia, host::GpuVendor::amd}) {
      const auto gpus = host_.gpu_scan.gpus(vendor);
      if (!gpus) continue;
      for (const host::PciDevice& gpu : *gpus) {
        has_gpus_ = true;
        const Subject subject = gpu_of(gpu.address);
        paths_.add(gpu.address, subject);
        for (const std::string& bridge :
             host::pci_bridges_above(host_.files, gpu.address).value_or(std::vector<std::string>{}))
          paths_.add(bridge, subject);
      }
    }
  }
  [[nodiscard]] Observations take() { return seen_.take(); }
  [[nodiscard]] const PciePaths& paths() const { return paths_; }
  [[nodiscard]] bool has_gpus() const { return has_gpus_; }

 private:
  static Subject gpu_of(const std::string& address) { return make_subject(SubjectKind::gpu, address); }
  // A device without a link is part of the root complex, or emulated by a hypervisor.
  void add(const host::PciDevice& device) {
    const auto bridges = host::pci_bridges_above(host_.files, device.address);
    const auto link = host::read_pci_link(host_.files, device.address);
    if (!bridges || bridges->empty() || !link || !link->max_width) return;
    const std::string& port = bridges->front();
    const Subject subject = make_subject(SubjectKind::link, device.address + "|" + port);
    paths_.add(device.address, subject);
    paths_.add(port, subject);
    seen_.add(subject, kDriver, kSysfs, device.driver.empty() ? "no driver" : device.driver);
    add_number(kWidth, subject, link->width, "lanes");
    add_number(kSpeed, subject, link->speed_gts, "GT/s");
    add_end(kDevice, subject, device.address, *link);
    add_end(kPort, subject, port, host::read_pci_link(host_.files, port).value_or(host::PciLink{}));
  }

  void add_end(const End& end, const Subject& subject, const std::string& address,
               const host::PciLink& link) {
    add_number(end.max_width, subject, link.max_width, "lanes");
    add_number(end.max_speed, subject, link.max_speed_gts, "GT/s");
    const auto errors = host::read_pci_errors(host_.files, address);
    if (!errors) return;
    add_count(end.correctable, subject, errors->correctable);
    add_count(end.nonfatal, subject, errors->nonfatal);
    add_count(end.fatal, subject, errors->fatal);
  }

  void add_count(std::string_view name, const Subject& subject, const std::optional<std::uint64_t>& count) {
    if (count) seen_.add_count(subject, name, kSysfs, *count);
  }
  template <class Number>
  void add_number(std::string_view name, const Subject& subject, const std::optional<Number>& number,
                  std::string_view unit) {
    if (number)
      seen_.add(subject, name, kSysfs, static_cast<double>(*number), unit);
    else
      seen_.add_missing(subject, name, kSysfs, "unknown", "the kernel does not report it");
  }

  const host::Host& host_;
  ObservationBuilder seen_;
  PciePaths paths_;
  bool has_gpus_ = false;
};

// A line about a slot is about the port: its device may have been removed.
Subject subject_of(const PciePaths& paths, const DecodedRecord& decoded) {
  const catalog::LogRule* rule = catalog::builtin().log_rule(decoded.rule);
  if (rule == nullptr || rule->subject != SubjectKind::link) return paths.of(decoded);
  return make_subject(SubjectKind::link, attribute_of(decoded, "device"));
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  Collector collector(host, request);
  const Status devices = collector.add_devices();
  collector.add_gpus();
  Observed observed;
  observed.observations = collector.take();
  if (!observed.observations.empty()) observed.witnesses.emplace_back(kSysfs);
  const Status log = add_rule_events(
      host, request, kId,
      [&collector](const DecodedRecord& decoded) { return subject_of(collector.paths(), decoded); },
      observed);
  add_link_abilities(host.files, observed.observations);
  if (!devices && !log) return fail(devices.error());
  if (devices && observed.observations.empty()) {
    // For GPUs only the log is read here.
    if (!collector.has_gpus())
      return fail(Errc::unsupported, "no GPU, network adapter or NVMe disk with its own PCIe link");
    if (!log) return fail(log.error());
  }
  return observed;
}

// --- judge ---

class LinkJudge {
 public:
  LinkJudge(const JudgeInput& input, const Subject& link) : input_(input), link_(link) {
    const auto bar = link.key.find('|');
    device_ = link.key.substr(0, bar);
    port_ = link.key.substr(bar + 1);
  }

  [[nodiscard]] Findings findings() {
    const auto width = number(kWidth);
    if (!width) {
      add("could_not_look", Health::unknown, "does not report its PCIe link: it may have fallen off the bus");
      return std::move(findings_);
    }
    compare("pcie_device_width_low", *width, least(&End::max_width), "on " + rounded(*width) + " PCIe lanes");
    if (const auto speed = number(kSpeed))
      compare("pcie_device_speed_low", *speed, least(&End::max_speed), "at " + rounded(*speed) + " GT/s");
    judge_errors(&End::fatal, "pcie_device_errors", "host.pcie.fatal", false);
    judge_errors(&End::nonfatal, "pcie_device_errors", "host.pcie.nonfatal", false);
    judge_errors(&End::correctable, "pcie_device_corrects", "host.pcie.correctable_per_minute", true);
    return std::move(findings_);
  }

 private:
  using Counter = std::string_view End::*;

  [[nodiscard]] std::optional<double> number(std::string_view name) const {
    return input_.history.number(link_, name);
  }
  [[nodiscard]] std::optional<double> least(Counter ability) const {
    const auto device = number(kDevice.*ability);
    const auto port = number(kPort.*ability);
    return device && port ? std::min(*device, *port) : device;
  }
  [[nodiscard]] std::string text() const {
    return device_ + " (" + input_.history.word(link_, kDriver).value_or("no driver") + ") ";
  }

  void compare(std::string_view reason, double value, std::optional<double> possible,
               const std::string& runs) {
    if (!possible || value >= *possible) return;
    add(reason, Health::degraded, "runs " + runs + ", but supports " + rounded(*possible));
    findings_.back().evidence = {{"value", value}, {"expected", *possible}};
  }

  // Names the end with more errors. A device without errors below a port with errors points to the slot
  // between them.
  void judge_errors(Counter counter, std::string_view reason, std::string_view threshold, bool per_minute) {
    const Limit most = limit(input_, threshold);
    const double device = grown(kDevice.*counter, per_minute);
    const double port = grown(kPort.*counter, per_minute);
    const double worst = std::max(device, port);
    if (worst <= most.value) return;
    const std::string end = device >= port ? "it" : "port " + port_ + " above it";
    findings_.push_back(make_finding(
        input_, link_, reason, Health::degraded,
        text() + "has PCIe errors: " + end + " counted " + rounded(worst) +
            (per_minute ? " corrected errors per minute" : " uncorrected errors in the last 20 minutes"),
        worst, most));
    findings_.back().evidence.emplace_back("device", device);
    findings_.back().evidence.emplace_back("port", port);
  }
  [[nodiscard]] double grown(std::string_view counter, bool per_minute) const {
    const auto growth = input_.history.growth(link_, counter, input_.now, kWindow);
    if (!growth) return 0;
    return per_minute ? growth->per_minute() : growth->delta;
  }

  void add(std::string_view reason, Health health, const std::string& what) {
    findings_.push_back(make_finding(input_, link_, reason, health, text() + what));
  }

  const JudgeInput& input_;
  const Subject& link_;
  std::string device_;
  std::string port_;
  Findings findings_;
};

// The checks of other devices report their loss.
void judge_unreachable(Findings& findings) {
  for (Finding& finding : findings) {
    if (finding.reason != "pcie_unreachable") continue;
    const Value* driver = find_attribute(finding.evidence, "driver");
    const std::string name = driver == nullptr ? std::string() : to_string(*driver);
    if (finding.subject.kind == SubjectKind::gpu || name == "nvidia" || name == "amdgpu")
      finding.health = Health::failed;
  }
}

Findings judge(const JudgeInput& input) {
  Findings findings = rule_findings(input);
  judge_unreachable(findings);
  for (const Subject& link : input.history.subjects(SubjectKind::link))
    if (input.history.word(link, kDriver)) {
      Findings more = LinkJudge(input, link).findings();
      findings.insert(findings.end(), std::make_move_iterator(more.begin()),
                      std::make_move_iterator(more.end()));
    }
  add_unread(input, host_subject(), kUnread, findings);
  judge_pcie_lines(input, findings);
  return findings;
}

}  // namespace
}  // namespace host_pcie

const Check kHostPcie = {
    .info = {.id = std::string(host_pcie::kId),
             .title = "PCIe devices",
             .tags = {"host", "pcie", "kernel_log", "passive"},
             .period = std::chrono::minutes{2},
             .deadline = std::chrono::seconds{10},
             .window = std::chrono::hours{2},
             .cost = Cost::moderate,
             .witnesses = {std::string(host_pcie::kSysfs), std::string(host_pcie::kKernelLog)},
             .rights = {"CAP_SYSLOG"},
             .needs_window = false,
             .judges_growth = true},
    .observe = host_pcie::observe,
    .judge = host_pcie::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
