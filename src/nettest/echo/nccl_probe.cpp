// SPDX-License-Identifier: Apache-2.0
#include "nettest/echo/nccl_probe.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "diagnostics/child/gpu_probe_run.hpp"
#include "nettest/echo/probe_json.hpp"

namespace autopilot::nettest {
namespace {

namespace json = boost::json;

constexpr std::string_view kNcclProbe = "autopilot-gpu-probe";
constexpr std::size_t kNcclReportDepth = 4;
constexpr std::size_t kMaxSamples = 256;
constexpr std::size_t kIdLength = 256;  // digits of ncclUniqueId, 128 bytes
constexpr int kMostRanks = 4096;
constexpr const char* kIdVariable = "AUTOPILOT_NCCL_ID=";
constexpr double kMostNcclBits = 1e15;  // a thousand times the fastest line there is

tl::unexpected<Error> refuse_nccl_report(const std::string& what) {
  return refuse_probe_report(kNcclProbe, what);
}

Result<json::object> read_nccl_report(std::string_view text) {
  return read_probe_report(text, kNcclProbe, kMaxNcclProbeReport, kNcclReportDepth);
}

std::optional<double> nccl_rate_of(const json::value* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  json::error_code error;
  const double rate = value->to_number<double>(error);
  return !error && rate > 0 && rate <= kMostNcclBits ? std::optional(rate) : std::nullopt;
}

std::optional<int> rank_of(const json::value* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  json::error_code error;
  const int rank = value->to_number<int>(error);
  return !error && rank >= 0 && rank < kMostRanks ? std::optional(rank) : std::nullopt;
}

std::vector<double> samples_of(const json::object& report) {
  std::vector<double> samples;
  const json::array* const list = probe_list(report, "samples");
  if (list == nullptr) return samples;
  for (const json::value& item : *list)
    if (const auto rate = nccl_rate_of(&item); rate && samples.size() < kMaxSamples) samples.push_back(*rate);
  return samples;
}

host::Command nccl_command_with(const std::string& program, const AllReduceEnd& end,
                                std::vector<std::string> arguments) {
  host::Command command;
  command.program = program;
  command.arguments = std::move(arguments);
  command.arguments.insert(command.arguments.end(),
                           {"--bind", end.address, "--count", std::to_string(end.gpus), "--ranks",
                            std::to_string(end.ranks), "--seconds", std::to_string(end.seconds), "--patience",
                            std::to_string(kNcclPatience), "--require-idle"});
  if (end.vendor == host::GpuVendor::amd)
    command.arguments.insert(command.arguments.end(), {"--vendor", "amd"});
  command.environment = diagnostics::gpu_probe_environment();
  std::erase_if(command.environment, [](const std::string& one) { return one.starts_with(kIdVariable); });
  return command;
}

}  // namespace

host::Command command_of(const std::string& program, const AllReduceServer& server) {
  return nccl_command_with(program, server.end, {"nccl-serve"});
}

host::Command command_of(const std::string& program, const AllReduceTest& test) {
  host::Command command = nccl_command_with(
      program, test.end, {"nccl-measure", "--id", "-", "--first", std::to_string(test.first)});
  command.environment.push_back(kIdVariable + test.id);
  return command;
}

Result<std::string> parse_nccl_id(std::string_view line) {
  const json::object object = TRY(read_nccl_report(line));
  if (const std::string reason = probe_text(object, "reason"); !reason.empty()) {
    const std::string error = probe_text(object, "error");
    return fail(Errc::unavailable, error.empty() ? reason : error);
  }
  std::string id = probe_text(object, "id");
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (id.size() != kIdLength || !std::ranges::all_of(id, is_digit)) return refuse_nccl_report("`id` is none");
  return id;
}

Result<AllReduceReport> parse_all_reduce(std::string_view text) {
  const json::object object = TRY(read_nccl_report(text));
  AllReduceReport report;
  report.reason = probe_text(object, "reason");
  report.error = probe_text(object, "error");
  report.wrong_rank = rank_of(object.if_contains("wrong_rank"));
  report.wrong_last_rank = rank_of(object.if_contains("wrong_last_rank"));
  if (!report.reason.empty()) return report;
  const auto bus = nccl_rate_of(object.if_contains("bus_bits_per_second"));
  if (!bus) return refuse_nccl_report("it has neither a reason nor a bus bandwidth");
  report.measured = AllReduce{*bus, samples_of(object)};
  return report;
}

}  // namespace autopilot::nettest
