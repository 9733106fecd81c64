// SPDX-License-Identifier: Apache-2.0
// Scrubbing a recording changes names and nothing else.
#include "golden/scrub_test.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"
#include "cli/recording/recording.hpp"
#include "cli/recording/scrub_recording.hpp"
#include "core/yaml_text.hpp"
#include "golden/golden_case.hpp"
#include "golden/recorded_machine.hpp"
#include "incidents/verdict.hpp"
#include "runtime/conclude.hpp"
#include "runtime/one_shot.hpp"

namespace autopilot::golden {
namespace {

// Words that are planted in every kind of file. None of them may remain.
constexpr std::string_view kPlanted[] = {"rack7-n042",   "hpc.corp-internal", "bwayne",         "Br0odyW4yne",
                                         "filer7",       "J7K2M9X0042",       "5000c500a1b2c3", "tyxdRt8QzW",
                                         "10.77.3.",     "3c:ec:ef:77",       "506b:4b03",      "7d5c1e0a",
                                         "ghp_AbCdEfGh", "train-llama",       "team-gotham",    "S6EUNA0R5",
                                         "2a00:1450",    "enx3cecef77",       "0a0b0c0d0e0f"};

constexpr std::string_view kBootId = "7d5c1e0a-31f4-4c5e-9a2b-0123456789ab";

const char* const kPlantedLines[] = {
    "Command line: BOOT_IMAGE=/vmlinuz root=UUID=7d5c1e0a-31f4-4c5e-9a2b-000000000007 "
    "ip=10.77.3.9::10.77.3.1:"
    "255.255.255.0:rack7-n042:eno1:off iscsi_password=Br0odyW4yne token=tyxdRt8QzW",
    "systemd[1]: Hostname set to <rack7-n042.hpc.corp-internal>.",
    "systemd-logind[900]: New session 4 of user bwayne.",
    "usb 1-4: SerialNumber: S6EUNA0R500123",
    "mlx5_core 0000:17:00.0: Port module event: MAC 3c:ec:ef:77:01:02 GUID 506b:4b03:005c:2b60",
    "scsi 0:0:1:0: SSP: handle(0x0009), sas_addr(0x5000c500a1b2c3d4), phy(4)",
    "nfs: server filer7 OK",
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=cri-containerd-"
    "0a0b0c0d0e0f0a0b0c0d0e0f0a0b0c0d0e0f0a0b0c0d0e0f0a0b0c0d0e0f0a0b.scope,mems_allowed=0-1,"
    "task_memcg=/kubepods.slice/"
    "kubepods-pod7d5c1e0a_31f4_4c5e_9a2b_00000000c0de.slice,task=idle,pid=99,uid=1000",
    "overlayfs: lowerdir of /var/log/pods/team-gotham_train-llama-0_7d5c1e0a-31f4-4c5e-9a2b-00000000c0de/0",
    "IPv6: enx3cecef770102: 2a00:1450:1:2::77 used",
    "EXT4-fs (sda9): mounted filesystem 7d5c1e0a-31f4-4c5e-9a2b-000000000007 with ordered data mode."};

void append(simulator::Machine& machine, const std::string& path, const std::string& text) {
  const std::string* known = machine.files.text(path);
  if (known != nullptr) machine.files.write(path, *known + text);
}

// Where the machine has the file, so that no check has more or less to read.
void plant(simulator::Machine& machine) {
  yaml_member(machine.machine, "node") = yaml_word("rack7-n042");
  yaml_member(machine.machine, "boot_id") = yaml_word(kBootId);
  machine.files.write("/proc/sys/kernel/hostname", "rack7-n042\n");
  machine.files.write("/proc/sys/kernel/random/boot_id", std::string(kBootId) + "\n");
  machine.files.write("/proc/cmdline",
                      "root=UUID=7d5c1e0a-31f4-4c5e-9a2b-000000000007 ro inst.ks=http://bwayne:Br0odyW4yne@"
                      "boot.hpc.corp-internal/k.cfg --token ghp_AbCdEfGhIjKlMnOpQr\n");
  if (const auto dmi = machine.files.resolve("/sys/class/dmi/id"))
    machine.files.write(*dmi + "/product_serial", "J7K2M9X0042\n");
  append(machine, "/etc/fstab",
         "# filer7.hpc.corp-internal:/home/bwayne username=bwayne,password=Br0odyW4yne\n");
  append(machine, "/etc/resolv.conf", "search hpc.corp-internal\n# 10.77.3.53\n");
  const double first = machine.log.empty() ? 1 : std::max(1.0, machine.log.front().seconds);
  std::vector<simulator::LogRecord> lines;
  for (const char* line : kPlantedLines)
    lines.push_back({.priority = 6, .sequence = std::nullopt, .seconds = first, .text = line});
  // After the first record, whose number the others follow.
  const bool is_readable =
      std::ranges::all_of(machine.log, [](const simulator::LogRecord& one) { return one.error.empty(); });
  if (is_readable && !machine.log.empty() && !machine.log.front().sequence)
    machine.log.insert(machine.log.begin() + 1, lines.begin(), lines.end());
}

// Everything that is written.
std::string text_of(const cli::Recording& recording) {
  std::string text = to_yaml(recording.machine) + recording.kernel_log;
  if (recording.nvml) text += to_yaml(*recording.nvml);
  for (const auto& [path, file] : recording.files)
    text.append(path).append("\n").append(file.text).append("\n");
  return text;
}

// UUIDs and serial numbers that the machine has anyway.
std::vector<std::string> own_secrets(const cli::Recording& recording) {
  std::vector<std::string> secrets;
  const YamlNode* gpus = recording.nvml ? recording.nvml->find("gpus") : nullptr;
  if (gpus == nullptr) return secrets;
  for (const YamlMember& gpu : gpus->members)
    for (const char* key : {"uuid", "serial"})
      if (const YamlNode* node = gpu.value.find(key); node != nullptr && node->text.size() > 8)
        secrets.push_back(node->text);
  return secrets;
}

struct ScrubResult {
  std::string verdict;
  std::vector<std::string> lines;  // a finding or incident each, sorted
};

std::string line_of(const std::string& check, const Finding& finding) {
  // The key of a subject can be a name or an address; its kind and number are neither.
  std::string line = check + " " + std::string(to_string(finding.subject.kind)) + " ";
  if (finding.subject.index) line += std::to_string(*finding.subject.index) + " ";
  return line + std::string(to_string(finding.health)) + " " + finding.reason + " " +
         std::string(to_string(finding.action));
}

ScrubResult result_of_check(const checks::Check& check, const host::OpenedHost& machine) {
  const Instant now = machine.host->clock.now();
  auto observed = check.observe(
      *machine.host, {.now = now, .deadline = now.mono + check.info.deadline, .kernel_log_from = 0});
  History history;
  ScrubResult result;
  for (const Finding& finding : runtime::conclude(check, std::move(observed), check.info.window, now,
                                                  catalog::builtin(), Expectation{}, history))
    result.lines.push_back(line_of(std::string(check.info.id), finding));
  std::ranges::sort(result.lines);
  return result;
}

ScrubResult result_of_all(const host::OpenedHost& machine) {
  runtime::OneShot one_shot;
  one_shot.options.node = machine.node;
  one_shot.options.boot_id = machine.boot_id;
  one_shot.options.simulated = true;
  one_shot.options.workers.threads = 4;
  one_shot.window = Duration{0};
  const auto node =
      runtime::look_once(machine.host, catalog::builtin(), checks::builtin_checks(), std::move(one_shot));
  ScrubResult result{.verdict = std::string(to_string(node->verdict)), .lines = {}};
  for (const CheckResult& one : node->results)
    for (const Finding& finding : one.findings)
      result.lines.push_back(line_of(std::string(one.check), finding));
  for (const Incident& incident : node->incidents)
    result.lines.push_back("incident of " + std::to_string(incident.members.size()));
  std::ranges::sort(result.lines);
  return result;
}

std::string differing(const ScrubResult& raw, const ScrubResult& scrubbed) {
  std::string text =
      raw.verdict == scrubbed.verdict ? "" : raw.verdict + " became " + scrubbed.verdict + "\n";
  std::vector<std::string> lost, gained;
  std::ranges::set_difference(raw.lines, scrubbed.lines, std::back_inserter(lost));
  std::ranges::set_difference(scrubbed.lines, raw.lines, std::back_inserter(gained));
  for (const std::string& line : lost)
    text += "  - " + line + "\n";
  for (const std::string& line : gained)
    text += "  + " + line + "\n";
  return text;
}

class ScrubTest : public testing::Test {
 public:
  ScrubTest(std::string source, const checks::Check* check) : source_(std::move(source)), check_(check) {}

  void TestBody() override {
    const auto source = simulator::open_source(source_);
    ASSERT_TRUE(source) << source.error().what;
    simulator::Machine machine =
        source->simulation.at(source->rounds.empty() ? Duration{0} : source->rounds.back());
    if (has_a_hang(machine)) GTEST_SKIP() << "a machine that hangs is not recorded whole";
    plant(machine);
    static MachineBench bench;
    const auto written = bench.put(machine);
    ASSERT_TRUE(written) << written.error().what;
    const auto now = instant_of(machine);
    ASSERT_TRUE(now) << now.error().what;
    const host::OpenedHost live = open_machine(bench.directory(), *now);
    const auto raw = cli::record_machine(*live.host, live.node, live.boot_id);
    ASSERT_TRUE(raw) << raw.error().what;
    const cli::Recording scrubbed = cli::scrubbed(*raw).recording;
    expect_nothing_remains(*raw, scrubbed);
    EXPECT_EQ(text_of(cli::scrubbed(scrubbed).recording), text_of(scrubbed))
        << "a second scrubbing changes it";
    const std::string lines = differing(result_of(*raw, *now), result_of(scrubbed, *now));
    EXPECT_TRUE(lines.empty()) << "recording (-), scrubbed (+)\n" << lines;
  }

 private:
  void expect_nothing_remains(const cli::Recording& raw, const cli::Recording& scrubbed) const {
    const std::string text = text_of(scrubbed);
    const auto expect_gone = [&](std::string_view secret) {
      const std::size_t at = text.find(secret);
      EXPECT_EQ(at, std::string::npos) << text.substr(at > 80 ? at - 80 : 0, 160);
    };
    for (const std::string_view secret : kPlanted)
      expect_gone(secret);
    for (const std::string& secret : own_secrets(raw))
      expect_gone(secret);
  }

  [[nodiscard]] ScrubResult result_of(const cli::Recording& recording, Instant now) const {
    static MachineBench bench;
    const auto written = bench.put(machine_of(recording));
    EXPECT_TRUE(written) << written.error().what;
    const host::OpenedHost machine = open_machine(bench.directory(), now);
    if (!machine.host) return {};
    return check_ == nullptr ? result_of_all(machine) : result_of_check(*check_, machine);
  }

  std::string source_;
  const checks::Check* check_;
};

}  // namespace

void add_scrub_test(const std::string& group, const std::string& name, const std::string& source,
                    const checks::Check* check) {
  testing::RegisterTest(group.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [source, check]() -> testing::Test* { return new ScrubTest(source, check); });
}

}  // namespace autopilot::golden
