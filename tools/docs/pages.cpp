// SPDX-License-Identifier: Apache-2.0
#include "docs/pages.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "config/controller_config.hpp"
#include "docs/check_pages.hpp"
#include "docs/driver_pages.hpp"
#include "docs/markdown.hpp"

namespace autopilot::docs {
namespace {

using catalog::Catalog;
using catalog::CheckPage;
using catalog::Reason;

std::string reason_section(const Reason& reason) {
  std::string text = "### " + code(reason.id) + "\n\n" + reason.title + ". " + reason.meaning + "\n\n";
  text += "- What to do: " + reason.cure + "\n";
  text += "- May be wrong if " + reason.disproof + ".\n";
  text += "- At worst " + std::string(to_string(reason.max_health)) +
          "; action: " + action_text(reason.action) +
          "; confidence in the culprit: " + number(reason.confidence) + ".\n";
  if (reason.raise_rounds > 1)
    text += "- Counts after " + std::to_string(reason.raise_rounds) + " runs in a row" +
            (reason.asks_again ? "; the second follows the first at once" : "") + ".\n";
  text += "- Clears " + catalog::how_it_clears(reason) + ".\n";
  if (!reason.hides.empty())
    text += "- While it is open, these do not clear: " + join(reason.hides, true) + ".\n";
  return text + "- Source: " + origin(reason.provenance) + ".\n\n";
}

std::string actions_table(const Catalog& facts) {
  std::string table = "## Actions\n\n| action | sentence | command |\n|---|---|---|\n";
  for (const catalog::ActionFacts& action : facts.facts().actions)
    table += "| " + action_text(action.id) + " | " + cell(action.sentence) + " | " +
             (action.command.empty() ? "" : code(action.command)) + " |\n";
  return table;
}

std::string reasons_page(const Catalog& facts) {
  std::string page =
      std::string(kNote) +
      "# Reasons\n\nAll reasons of findings. `autopilot explain REASON` prints the same.\n\n## About "
      "any check\n\nWith these reasons a check did not run or got no answer; they are not a fault of "
      "the machine.\n\n";
  for (const Reason& reason : facts.reasons())
    if (belongs_to(reason, catalog::kAnyCheck)) page += reason_section(reason);
  page +=
      "## About one check\n\nThe page of the check states what you do.\n\n| reason | meaning |\n|---|---|\n";
  for (const CheckPage& check : facts.checks())
    for (const Reason& reason : facts.reasons()) {
      if (reason.checks.front() != check.id) continue;
      page += "| [" + code(reason.id) + "](checks/" + check.id + ".md#" + reason.id + ") | " +
              cell(reason.title) + ". " + cell(reason.meaning) + " |\n";
    }
  page += "\n## About custom checks\n\n";
  for (const Reason& reason : facts.reasons())
    if (belongs_to(reason, catalog::kCustomChecks)) page += reason_section(reason);
  return page + actions_table(facts);
}

std::string several_text(const catalog::Cause& cause) {
  const auto& several = cause.several;
  if (several.count == 0) return "";
  return "- On " + std::to_string(several.count) + " devices or more at once: " + several.because + "\n";
}

std::string causes_page(const Catalog& facts) {
  std::string page =
      std::string(kNote) +
      "# Causes\n\nFindings and driver records with one cause are one incident. The first rule that fits "
      "wins. A\nword is the [reason](reasons.md) of a finding or the code of an [Xid](xids.md) or SXid. A "
      "record without a rule is an event and not an incident.\n";
  for (const catalog::Cause& cause : facts.causes()) {
    page += "\n## " + cause.title + " (" + code(cause.id) + ")\n\n" + "At fault: **" +
            std::string(to_string(cause.end)) + "**. " + cause.because +
            "\n\n- Reported by: " + join(cause.roots, true) + ".\n";
    const std::string before = cause.window_before == cause.window
                                   ? ""
                                   : " after it and " + format_duration(cause.window_before) + " before it";
    const std::string within = " within " + format_duration(cause.window) + before;
    if (!cause.takes.empty())
      page += "- Includes on the same device" + within + ": " + join(cause.takes, true) + ".\n";
    if (!cause.takes_anywhere.empty())
      page += "- Includes on any device" + within + ": " + join(cause.takes_anywhere, true) + ".\n";
    if (!cause.explains.empty()) page += "- Explains while it is open: " + join(cause.explains, true) + ".\n";
    page += several_text(cause) + "- Source: " + origin(cause.provenance) + ".\n";
  }
  return page;
}

std::string requirement(const Catalog& facts, std::string_view profile_id, std::string_view check) {
  const catalog::Profile* profile = facts.profile(profile_id);
  if (profile == nullptr) return "";
  std::string devices;
  for (const auto& required : profile->required) {
    if (required.check != check) continue;
    if (required.when == "always") return " Required.";
    devices.append(devices.empty() ? "" : " or ").append(required.when);
  }
  return devices.empty() ? "" : " Required with " + devices + ".";
}

std::string privileges_page(const Catalog& facts) {
  std::string page = std::string(kNote) + "# What each profile can check\n\n";
  for (const auto& profile : facts.profiles())
    page += "- " + code(profile.id) + ": " + profile.meaning + "\n";
  page +=
      "\nA required check that is unknown makes the verdict WARN; any other only lowers the coverage. A "
      "check\n"
      "is not required without its kind of device. `dropin` and `full` are the profiles of "
      "deploy/manifests/;\n"
      "with more mounts or the network of the node, the agent can check more. The permissions in Kubernetes "
      "are\n"
      "the same in both: [permissions](kubernetes.md#rights).\n\n| check | permissions | local | dropin | "
      "full "
      "|\n|---|---|---|---|---|\n";
  for (const CheckPage& check : facts.checks()) {
    const auto sees = [&](std::string_view profile, const std::string& text) {
      return cell(text + requirement(facts, profile, check.id));
    };
    page += "| [" + code(check.id) + "](checks/" + check.id + ".md) | " +
            (check.rights.empty() ? "none" : join(check.rights, true)) + " | " + sees("local", check.local) +
            " | " + sees("dropin", check.dropin) + " | " + sees("full", check.full) + " |\n";
  }
  return page;
}

// The checks that judge such a line, or the cause if none does.
std::string readers_of(const Catalog& facts, const catalog::LogRule& rule) {
  std::string text;
  for (const CheckPage& check : facts.checks())
    if (std::ranges::find(check.log_rules, rule.id) != check.log_rules.end())
      text += (text.empty() ? "[" : ", [") + code(check.id) + "](checks/" + check.id + ".md)";
  return text.empty() ? cell(rule.not_judged) : text;
}

std::string log_rules_page(const Catalog& facts) {
  std::string page =
      std::string(kNote) +
      "# Kernel-log lines\n\nLines that Autopilot recognises in addition to [Xids](xids.md) and "
      "[SXids](sxids.md). "
      "`autopilot decode` reads a log with these rules; `autopilot explain\n\"LINE\"` explains a line. A "
      "rule is "
      "*unproven* if no source proves the form of the line; its findings are degraded at worst.\n\n"
      "| rule | meaning | example | kernels | read by | source "
      "|\n|---|---|---|---|---|---|\n";
  for (const auto& rule : facts.log_rules())
    page += "| " + code(rule.id) + (rule.unproven ? " **unproven**" : "") + " | " + cell(rule.title) + " | " +
            code(cell(rule.examples.front())) + " | " + cell(rule.kernels) + " | " + readers_of(facts, rule) +
            " | " + cell(origin(rule.provenance)) + " |\n";
  return page;
}

std::string number_cell(const std::optional<double>& number) {
  return number ? to_string(Value{*number}) : "-";
}

std::string link_cell(const catalog::GpuPeaks& peaks) {
  if (!peaks.pcie_generation || !peaks.pcie_lanes) return "-";
  return std::to_string(*peaks.pcie_generation) + " x" + std::to_string(*peaks.pcie_lanes);
}

std::string gpu_models_page(const Catalog& facts) {
  std::string page =
      std::string(kNote) +
      "# GPU models\n\nFacts of each model, by its whole name as the driver spells it. The peaks are figures "
      "of the "
      "vendor: dense, in one\ndirection, at full power. No machine reaches them, and thresholds of the "
      "checks define "
      "the required share. `-`: not verified,\nand not judged. A GPU of another model is compared with its "
      "siblings "
      "and with earlier results of the same card.\n\n"
      "| names | NVLinks | NVLink, GB/s | memory, GB/s | PCIe | FP64, TFLOPS | FP64 on tensor cores | BF16 | "
      "source of the "
      "peaks |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const catalog::GpuModel& model : facts.gpu_models()) {
    const catalog::GpuPeaks peaks = model.peaks.value_or(catalog::GpuPeaks{});
    std::string names;
    for (const std::string& name : model.name_patterns)
      names += (names.empty() ? "" : ", ") + name;
    page += "| " + cell(names) + " | " + std::to_string(model.nvlinks) + " | " +
            number_cell(peaks.nvlink_gigabytes_per_second) + " | " +
            number_cell(peaks.memory_gigabytes_per_second) + " | " + link_cell(peaks) + " | " +
            number_cell(peaks.fp64_teraflops) + " | " + number_cell(peaks.fp64_tensor_teraflops) + " | " +
            number_cell(peaks.bf16_teraflops) + " | " +
            (model.peaks ? cell(origin(peaks.provenance)) : std::string("-")) + " |\n";
  }
  return page;
}

std::string readings_page(const Catalog& facts) {
  std::string page = std::string(kNote) +
                     "# Readings\n\nPossible values of readings of a GPU driver. A value outside its range "
                     "is rejected: the check is\n"
                     "unknown for the GPU, with the reason `malformed_answer`. The ranges are wide: a value "
                     "outside means a wrong "
                     "driver, not a\nfaulty GPU.\n\n"
                     "| readings | from | to | limit | source |\n|---|---|---|---|---|\n";
  for (const catalog::ReadingRange& range : facts.reading_ranges())
    page += "| " + join(range.readings, true) + " | " + number(range.least) + " | " + number(range.most) +
            " | " + cell(range.meaning) + " | " + cell(origin(range.provenance)) + " |\n";
  return page;
}

}  // namespace

std::map<std::string, std::string> make_pages(const Catalog& facts) {
  std::map<std::string, std::string> pages{
      {"checks/README.md", checks_index(facts)},
      {"reasons.md", reasons_page(facts)},
      {"xids.md", xids_page(facts)},
      {"sxids.md", sxids_page(facts)},
      {"causes.md", causes_page(facts)},
      {"privileges.md", privileges_page(facts)},
      {"log_rules.md", log_rules_page(facts)},
      {"gpu_models.md", gpu_models_page(facts)},
      {"readings.md", readings_page(facts)},
      {"configuration.md", std::string(kNote) + config::settings_page()},
      {"controller-configuration.md", std::string(kNote) + config::controller_settings_page()},
  };
  for (const CheckPage& check : facts.checks())
    pages.emplace("checks/" + check.id + ".md", check_page(facts, check));
  return pages;
}

}  // namespace autopilot::docs
