// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/scrub_recording.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "checks/kernel_log/decode.hpp"
#include "core/parse.hpp"
#include "core/yaml_text.hpp"

namespace autopilot::cli {
namespace {

Recording recording_of(const std::string& node, const std::vector<std::string>& lines) {
  Recording recording;
  recording.machine = yaml_map();
  yaml_member(recording.machine, "node") = yaml_word(node);
  for (const std::string& line : lines)
    recording.kernel_log += boost::json::serialize(boost::json::object{{"prio", 3}, {"text", line}}) + "\n";
  return recording;
}

std::vector<std::string> texts_in(const std::string& log) {
  std::vector<std::string> texts;
  for (const std::string_view line : split(log, '\n'))
    if (!line.empty())
      texts.emplace_back(
          boost::json::parse(boost::json::string_view(line.data(), line.size())).at("text").as_string());
  return texts;
}

std::string decoded(const std::string& text) {
  host::KernelRecord record;
  record.text = text;
  const auto line = checks::builtin_decoder().decode(record);
  if (!line) return "none";
  std::string what =
      line->rule + " " + line->kind + " " + line->pci + " " + line->severity + " " + line->fault_class;
  if (line->code) what += " code " + std::to_string(*line->code);
  if (line->pid) what += " pid " + std::to_string(*line->pid);
  // Values are names or addresses in some of them; numbers never are.
  for (const auto& [name, value] : line->attributes)
    what +=
        " " + name + (name != "serial" && parse_number<std::uint64_t>(value) ? "=" + value : std::string());
  return what;
}

// Also for hosts that are called like a driver, a filesystem, a device or a process.
TEST(ScrubRecording, every_line_of_the_catalog_means_the_same) {
  std::vector<std::string> lines;
  for (const catalog::LogRule& rule : catalog::builtin().log_rules())
    lines.insert(lines.end(), rule.examples.begin(), rule.examples.end());
  lines.emplace_back("NVRM: Xid (PCI:0000:61:00): 79, pid=4242, name=python3, GPU has fallen off the bus.");
  lines.emplace_back("nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 32 egress timeout");
  for (const char* node :
       {"gpu-017", "nvme", "nfs", "mlx5_core", "NVRM", "sda", "amdgpu", "1b", "link", "python3"}) {
    const auto scrubbed_lines = texts_in(scrubbed(recording_of(node, lines)).recording.kernel_log);
    ASSERT_EQ(scrubbed_lines.size(), lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
      EXPECT_EQ(decoded(scrubbed_lines[i]), decoded(lines[i])) << node << ": " << scrubbed_lines[i];
  }
}

TEST(ScrubRecording, a_name_that_a_late_line_shows_is_replaced_in_the_lines_before_it) {
  const auto texts = texts_in(
      scrubbed(recording_of("gpu-017", {"usb: S6EUNA0R500123 of alice", "Started Session 4 of user alice.",
                                        "SerialNumber: S6EUNA0R500123"}))
          .recording.kernel_log);
  EXPECT_EQ(texts.at(0), "usb: X0XXXX0X000001 of user-1");
}

TEST(ScrubRecording, files_are_scrubbed_by_what_they_are) {
  Recording recording = recording_of("gpu-017", {});
  const auto add = [&recording](const std::string& path, const std::string& text) {
    recording.files[path] = {.is_link = false, .text = text, .is_folder = false, .error = {}};
  };
  add("/sys/class/dmi/id/product_serial", "12345678\n");
  add("/sys/block/sda/stat", "12345678 0 1654123000101\n");
  add("/sys/class/infiniband/mlx5_0/fw_ver", "20.31.10.12\n");
  add("/proc/net/route", "eth0\t0003010A\t0103010A\t0003\t0\t0\t0\t00FFFFFF\n");
  add("/proc/1/status", "SigCgt:\t0123456789abcdef0123456789abcdef\n");
  const host::RecordedFiles files = scrubbed(recording).recording.files;
  EXPECT_EQ(files.at("/sys/class/dmi/id/product_serial").text, "00000001\n");
  for (const char* path : {"/sys/block/sda/stat", "/sys/class/infiniband/mlx5_0/fw_ver", "/proc/1/status"})
    EXPECT_EQ(files.at(path).text, recording.files.at(path).text);
  EXPECT_EQ(files.at("/proc/net/route").text, "eth0\t000200C0\t010200C0\t0003\t0\t0\t0\t00FFFFFF\n");
}

TEST(ScrubRecording, the_report_states_counts_and_no_values) {
  const auto result = scrubbed(recording_of("gpu-017", {"from 10.1.2.3 to 10.1.2.4"}));
  const std::string report = scrub_report(result.counts);
  EXPECT_NE(report.find("network_addresses: {values: 2, places: 2}"), std::string::npos) << report;
  EXPECT_EQ(report.find("10.1.2"), std::string::npos);
  EXPECT_EQ(scrub_summary(result.counts), "Replaced: host names (1), network addresses (2).");
  EXPECT_EQ(scrub_summary({}), "Nothing in it had to be replaced.");
}

}  // namespace
}  // namespace autopilot::cli
