// SPDX-License-Identifier: Apache-2.0
#include "host/operations/nccl_words.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace autopilot::host {
namespace {

constexpr std::string_view kGigabytes = "gigabytes_per_second";

Observation about(const Subject& subject, std::string_view name, Value value, std::string_view unit = {}) {
  Observation observation;
  observation.name = "nccl_allreduce." + std::string(name);
  observation.subject = subject;
  observation.value = std::move(value);
  observation.unit = unit;
  return observation;
}

Observations outcome(std::string word) {
  return {about(host_subject(), "outcome", std::move(word))};
}

}  // namespace

Result<Observations> nccl_observations(const NcclReport& report, std::span<const GpuDevice> gpus) {
  const auto largest = std::ranges::max_element(report.rows, {}, &NcclReport::Row::bytes);
  if (largest == report.rows.end() || largest->bus_bandwidth == 0)
    return fail(Errc::unavailable, "all_reduce_perf measured nothing");
  std::uint64_t wrong = 0;
  for (const NcclReport::Row& row : report.rows)
    wrong += row.wrong;
  Observations all = outcome("measured");
  const Subject host = host_subject();
  all.push_back(about(host, "busbw", largest->bus_bandwidth, kGigabytes));
  all.push_back(about(host, "algbw", largest->algorithm_bandwidth, kGigabytes));
  all.push_back(about(host, "bytes", static_cast<std::int64_t>(largest->bytes), "bytes"));
  all.push_back(about(host, "wrong", static_cast<std::int64_t>(wrong), "count"));
  std::int64_t rank = 0;
  for (const GpuDevice& gpu : gpus) {
    all.push_back(about(gpu.subject, "rank", rank++));
    if (gpu.name.empty()) continue;
    all.push_back(about(gpu.subject, "", gpu.name));
    all.back().name = "gpu.model";
  }
  return all;
}

Observations nccl_of_one_gpu() {
  return outcome("one_gpu");
}

Observations nccl_in_use(const std::string& by) {
  Observations all = outcome("in_use");
  all.front().attributes = {{"by", by}};
  return all;
}

}  // namespace autopilot::host
