// SPDX-License-Identifier: Apache-2.0
#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"

namespace autopilot::checks {
namespace gpu_row_remap {
namespace {

using namespace host::reading;

Result<Observed> observe(const host::Host& host, const Request& request) {
  return observe_gpus(host, request, {host::GpuGroup::row_remap}, Vendors::nvidia);
}

void judge_flags(const JudgeInput& input, const Subject& gpu, Findings& findings) {
  const std::int64_t rows =
      static_cast<std::int64_t>(input.history.number(gpu, kRowRemapUncorrectable).value_or(0));
  if (is_true(input, gpu, kRowRemapFailed)) {
    findings.push_back(
        make_finding(input, gpu, "row_remap_failed", Health::failed,
                     gpu_text(gpu) + " could not remap a bad memory row: no spare row is left"));
    findings.back().evidence = {{"uncorrectableRows", rows}, {"witness", std::string(kNvml)}};
  }
  if (is_true(input, gpu, kRowRemapPending)) {
    findings.push_back(make_finding(input, gpu, "row_remap_pending", Health::degraded,
                                    gpu_text(gpu) + " will remap a bad memory row at its next reset"));
    findings.back().evidence = {{"uncorrectableRows", rows}, {"witness", std::string(kNvml)}};
  }
}

void judge_repair(const JudgeInput& input, const Subject& gpu, Findings& findings) {
  if (is_true(input, gpu, kRowRemapUnrepairable))
    findings.push_back(
        make_finding(input, gpu, "row_remap_unrepairable", Health::failed,
                     gpu_text(gpu) + " has memory that cannot be repaired, as the driver reports"));
  const bool channel = is_true(input, gpu, kRepairChannelPending);
  const bool tpc = is_true(input, gpu, kRepairTpcPending);
  if (!channel && !tpc) return;
  findings.push_back(make_finding(input, gpu, "repair_pending", Health::degraded,
                                  gpu_text(gpu) + " will repair " +
                                      (channel ? "a memory channel" : "a processing cluster") +
                                      " at its next reset"));
  findings.back().evidence = {{"channel", channel}, {"tpc", tpc}};
}

void judge_spares(const JudgeInput& input, const Subject& gpu, Findings& findings) {
  const Limit rows = limit(input, "gpu.row_remap.uncorrectable_rows");
  if (const auto used = input.history.number(gpu, kRowRemapUncorrectable); used && *used >= rows.value)
    findings.push_back(make_finding(
        input, gpu, "row_remap_limit", Health::failed,
        gpu_text(gpu) + " has remapped " + rounded(*used) + " rows because of uncorrectable errors", *used,
        rows));
  const Limit banks = limit(input, "gpu.row_remap.banks_without_spare");
  if (const auto none = input.history.number(gpu, kRowRemapBanksNone); none && *none > banks.value)
    findings.push_back(make_finding(input, gpu, "row_remap_banks_exhausted", Health::degraded,
                                    gpu_text(gpu) + " has " + rounded(*none) +
                                        (*none == 1 ? " memory bank" : " memory banks") +
                                        " without a spare row",
                                    *none, banks));
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  for (const Subject& gpu : readable_gpus(input, {kRowRemapPending, kRowRemapFailed}, findings)) {
    judge_flags(input, gpu, findings);
    judge_repair(input, gpu, findings);
    judge_spares(input, gpu, findings);
  }
  return findings;
}

}  // namespace
}  // namespace gpu_row_remap

const Check kGpuRowRemap = {
    .info = {.id = "gpu.row_remap",
             .title = "GPU memory row remapping",
             .tags = {"gpu", "memory", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{10},
             .window = std::chrono::minutes{10},
             .cost = Cost::moderate,
             .witnesses = {std::string(kNvml)},
             .rights = {},
             .needs_window = false},
    .observe = gpu_row_remap::observe,
    .judge = gpu_row_remap::judge,
};

}  // namespace autopilot::checks
