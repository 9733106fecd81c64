// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/nccl_words.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace autopilot::diagnostics {
namespace {

constexpr std::string_view kNcclRateUnit = "gigabytes_per_second";

Observation nccl_observation(const Subject& subject, std::string_view name, Value value,
                             std::string_view unit = {}) {
  Observation observation;
  observation.name = "nccl_allreduce." + std::string(name);
  observation.subject = subject;
  observation.value = std::move(value);
  observation.unit = unit;
  return observation;
}

Observation wrong_sums(const host::NcclReport& report) {
  const auto wrong = wrong_of(report);
  if (wrong) return nccl_observation(host_subject(), "wrong", static_cast<std::int64_t>(*wrong), "count");
  Observation unchecked = nccl_observation(host_subject(), "wrong", std::int64_t{0}, "count");
  unchecked.value.reset();
  unchecked.missing = to_string(Errc::unavailable);
  unchecked.attributes = {{"error", std::string("all_reduce_perf did not check its sums")}};
  return unchecked;
}

Observations nccl_outcome(std::string word) {
  return {nccl_observation(host_subject(), "outcome", std::move(word))};
}

}  // namespace

std::optional<std::uint64_t> wrong_of(const host::NcclReport& report) {
  std::uint64_t wrong = 0;
  bool are_checked = true;
  for (const host::NcclReport::Row& row : report.rows) {
    wrong += row.wrong.value_or(0);
    are_checked = are_checked && (row.wrong || row.bus_bandwidth == 0);
  }
  return wrong > 0 || are_checked ? std::optional(wrong) : std::nullopt;
}

Result<Observations> nccl_observations(const host::NcclReport& report,
                                       std::span<const host::GpuDevice> gpus) {
  const auto largest = std::ranges::max_element(report.rows, {}, &host::NcclReport::Row::bytes);
  const bool has_measured = largest != report.rows.end() && largest->bus_bandwidth > 0;
  if (!has_measured && wrong_of(report).value_or(0) == 0)
    return fail(Errc::unavailable, "all_reduce_perf measured nothing");
  Observations all = nccl_outcome("measured");
  const Subject host = host_subject();
  if (has_measured) {
    all.push_back(nccl_observation(host, "busbw", largest->bus_bandwidth, kNcclRateUnit));
    all.push_back(nccl_observation(host, "algbw", largest->algorithm_bandwidth, kNcclRateUnit));
    all.push_back(nccl_observation(host, "bytes", static_cast<std::int64_t>(largest->bytes), "bytes"));
  }
  all.push_back(wrong_sums(report));
  std::int64_t rank = 0;
  for (const host::GpuDevice& gpu : gpus) {
    all.push_back(nccl_observation(gpu.subject, "rank", rank++));
    if (gpu.name.empty()) continue;
    all.push_back(nccl_observation(gpu.subject, "", gpu.name));
    all.back().name = "gpu.model";
  }
  return all;
}

Observations nccl_of_one_gpu() {
  return nccl_outcome("one_gpu");
}

Observations nccl_in_use(const std::string& by) {
  Observations all = nccl_outcome("in_use");
  all.front().attributes = {{"by", by}};
  return all;
}

}  // namespace autopilot::diagnostics
