// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/check.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/gpu/gpu_check.hpp"
#include "host/gpu/amd_gpus.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::checks {

struct FakeGpus : host::Gpus {
  [[nodiscard]] Result<host::GpuReport> read(const std::vector<host::GpuGroup>& asked,
                                             MonoTime deadline) const override {
    ++reads;
    groups = asked;
    last_deadline = deadline;
    return report;
  }
  [[nodiscard]] Result<std::vector<host::GpuEvent>> take_events(MonoTime) const override {
    return std::vector<host::GpuEvent>{};
  }
  host::GpuReport report;
  mutable int reads = 0;
  mutable std::vector<host::GpuGroup> groups;
  mutable MonoTime last_deadline{};
};

// For tests of GPU checks: a machine whose PCI tree and driver return what the test sets.
class GpuCheckTest : public ::testing::Test {
 protected:
  GpuCheckTest() { folder_.write("/sys/bus/cpu/uevent", ""); }

  static std::string address(int index) { return "0000:" + std::to_string(10 + index) + ":00.0"; }

  void add_to_pci(int index, const std::string& driver = "nvidia") {
    const std::string device = pci_folder(index);
    write(device + "/vendor", "0x10de");
    write(device + "/device", "0x2330");
    write(device + "/class", "0x030200");
    folder_.link("/sys/bus/pci/devices/" + address(index), device);
    const std::string port = port_folder(index);
    write(port + "/vendor", "0x8086");
    folder_.link("/sys/bus/pci/devices" + port.substr(port.rfind('/')), port);
    if (driver.empty()) return;
    write("/sys/bus/pci/drivers/" + driver + "/module", "");
    folder_.link(device + "/driver", "/sys/bus/pci/drivers/" + driver);
  }
  // Folder of the GPU's port in the PCI tree.
  static std::string port_folder(int index) {
    return "/sys/devices/pci0000:00/0000:00:0" + std::to_string(index) + ".0";
  }
  static std::string pci_folder(int index) { return port_folder(index) + "/" + address(index); }
  void write(const std::string& path, const std::string& text) const { folder_.write(path, text + "\n"); }

  host::GpuDevice& add_to_driver(int index, const std::string& model = "NVIDIA H100 80GB HBM3") {
    host::GpuDevice gpu;
    gpu.subject = {.kind = SubjectKind::gpu,
                   .key = address(index),
                   .index = index,
                   .uuid = "GPU-" + std::to_string(index),
                   .serial = {}};
    gpu.name = model;
    gpus_.report.gpus.push_back(std::move(gpu));
    return gpus_.report.gpus.back();
  }
  void add(int index) {
    add_to_pci(index);
    add_to_driver(index);
  }
  // Replaces the reading if it exists.
  void set(int index, std::string_view name, std::optional<Value> value, int code = 0,
           std::optional<int> link = std::nullopt) {
    auto& readings = gpus_.report.gpus.at(static_cast<std::size_t>(index)).readings;
    std::erase_if(readings,
                  [&](const host::GpuReading& old) { return old.name == name && old.link == link; });
    readings.push_back({std::string(name), link, std::move(value), code});
  }
  void set(int index, std::string_view name, std::int64_t value) { set(index, name, Value{value}); }
  void set_flag(int index, std::string_view name, bool value) { set(index, name, Value{value}); }

  [[nodiscard]] Result<Observed> observe(const Check& check) const {
    const Instant now = empty_.clock.now();
    return check.observe(host_,
                         {.now = now, .deadline = now.mono + std::chrono::seconds{10}, .kernel_log_from = 0});
  }
  // Runs the check once more. Returns its findings as "subject health reason", in order.
  std::vector<std::string> look(const Check& check, Duration later = std::chrono::seconds{30}) {
    empty_.clock.advance(later);
    auto observed = observe(check);
    if (!observed) return {"error " + std::string(to_string(observed.error().code))};
    witnesses_ = observed->witnesses;
    history_.add(std::move(observed->observations), check.info.window);
    findings_ = check.judge({.now = empty_.clock.now(),
                             .history = history_,
                             .facts = catalog::builtin(),
                             .expectation = expectation_});
    std::vector<std::string> lines;
    for (const Finding& finding : findings_)
      lines.push_back(to_string(finding.subject) + " " + std::string(to_string(finding.health)) + " " +
                      finding.reason);
    return lines;
  }
  static std::string gpu(int index) { return "gpu/" + address(index); }

  fakes::EmptyHost empty_;
  FakeGpus gpus_;
  host::TestFolder folder_;
  host::Files files_{folder_.path()};
  host::AmdGpus amd_gpus_{files_, empty_.clock};
  host::Host host_{empty_.clock,
                   files_,
                   empty_.kernel_log,
                   gpus_,
                   empty_.filesystems,
                   empty_.ethernet,
                   empty_.time_sync,
                   empty_.nvme,
                   host::SparedAdapters::none(),
                   amd_gpus_};
  History history_;
  Expectation expectation_;
  std::vector<std::string> witnesses_;
  Findings findings_;
};

inline std::string evidence(const Finding& finding, std::string_view name) {
  const Value* value = find_attribute(finding.evidence, name);
  return value == nullptr ? "" : to_string(*value);
}

class MeasuredTest : public ::testing::Test {
 protected:
  static Subject gpu(int number) {
    return {SubjectKind::gpu, "0000:" + std::to_string(10 + number) + ":00.0", number, "", ""};
  }
  void says(const std::string& name, const Subject& subject, Value value, Attributes attributes = {},
            const std::string& tested_at = "2026-11-25T10:00:00Z") {
    Observation result;
    result.name = name;
    result.subject = subject;
    result.value = std::move(value);
    result.unit = "gigabytes_per_second";
    result.source = "probe";
    result.attributes = std::move(attributes);
    result.attributes.emplace_back("testedAt", tested_at);
    round_.push_back(std::move(result));
  }
  void says(const std::string& name, int number, Value value, Attributes attributes = {}) {
    says(name, gpu(number), std::move(value), std::move(attributes));
  }
  const JudgeInput& input() {
    history_.add(round_, std::chrono::minutes{10});
    return input_;
  }
  Expectation expectation_;

 private:
  Observations round_;
  History history_;
  JudgeInput input_{Instant{}, history_, catalog::builtin(), expectation_};
};

}  // namespace autopilot::checks
