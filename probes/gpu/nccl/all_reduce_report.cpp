// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/all_reduce_report.hpp"

#include <boost/json.hpp>
#include <cmath>

#include "core/parse.hpp"
#include "probes/gpu/run/exit_code.hpp"

namespace autopilot::probes::gpu {
namespace {

namespace json = boost::json;

std::uint64_t whole(double bits) {
  return static_cast<std::uint64_t>(std::llround(bits));
}

json::object beginning_of(const AllReduceReport& report) {
  return {{"program", "autopilot-gpu-probe"}, {"format", 1}, {"simulated", report.simulated}};
}

const char* version_key(Vendor vendor) {
  return vendor == Vendor::amd ? "rccl_version" : "nccl_version";
}

void add_figures(json::object& object, const AllReduceFigures& figures) {
  object["bytes"] = figures.bytes;
  object["iterations"] = figures.iterations;
  object["seconds"] = figures.seconds;
  object["bus_bits_per_second"] = whole(figures.bus_bits_per_second);
  object["algorithm_bits_per_second"] = whole(figures.algorithm_bits_per_second);
  json::array samples;
  for (const double sample : figures.samples)
    samples.push_back(whole(sample));
  object["samples"] = std::move(samples);
}

}  // namespace

std::string to_json(const AllReduceReport& report) {
  json::object object = beginning_of(report);
  if (report.address) object["address"] = *report.address;
  if (report.nccl_version) object[version_key(report.vendor)] = *report.nccl_version;
  object["ranks"] = report.ranks;
  if (report.gpus) object["gpus"] = *report.gpus;
  if (report.failure) {
    object["reason"] = to_string(report.failure->reason);
    object["error"] = to_utf8(report.failure->text);
    if (report.wrong_rank) object["wrong_rank"] = *report.wrong_rank;
    if (report.wrong_last_rank) object["wrong_last_rank"] = *report.wrong_last_rank;
  } else if (report.figures) {
    add_figures(object, *report.figures);
  }
  return json::serialize(object);
}

std::string to_invitation(const AllReduceReport& report, const std::string& id) {
  json::object object = beginning_of(report);
  object["id"] = id;
  object["gpus"] = report.gpus.value_or(0);
  object[version_key(report.vendor)] = report.nccl_version.value_or("");
  return json::serialize(object);
}

int exit_code_of(const AllReduceReport& report) {
  if (report.failure) return report.failure->reason == Reason::wrong_result ? exit_wrong : exit_not_looked;
  return report.figures ? exit_measured : exit_not_looked;
}

}  // namespace autopilot::probes::gpu
