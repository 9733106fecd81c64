// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nccl_report.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <span>

namespace autopilot::host {
namespace {

namespace json = boost::json;

constexpr std::size_t kNcclReportDepth = 8;
constexpr double kMostWrong = 1e15;     // told as a floating-point number
constexpr double kMostBandwidth = 1e6;  // GB/s, which no links have

tl::unexpected<Error> refuse_nccl_report(const std::string& what) {
  return fail(Errc::malformed, "report of all_reduce_perf: " + what);
}

// A number that is told and is one: a result that was not measured is null, or the word nan.
std::optional<double> measured_number(const json::object& object, std::string_view name) {
  const json::value* const member = object.if_contains(name);
  if (member == nullptr || !member->is_number()) return std::nullopt;
  json::error_code error;
  const double number = member->to_number<double>(error);
  return !error && std::isfinite(number) && number >= 0 ? std::optional(number) : std::nullopt;
}

struct Way {
  double algorithm_bandwidth = 0;
  double bus_bandwidth = 0;
  std::optional<double> wrong;
};

// What was measured in place, or out of place; nothing: it was not.
std::optional<Way> way_of(const json::object& row, std::string_view name) {
  const json::value* const member = row.if_contains(name);
  const json::object* const object = member == nullptr ? nullptr : member->if_object();
  if (object == nullptr) return std::nullopt;
  Way way{.algorithm_bandwidth = measured_number(*object, "alg_bw").value_or(0),
          .bus_bandwidth = measured_number(*object, "bus_bw").value_or(0),
          .wrong = measured_number(*object, "nwrong")};
  if (way.bus_bandwidth > kMostBandwidth) way.bus_bandwidth = 0;
  return way.bus_bandwidth > 0 || way.wrong.value_or(0) > 0 ? std::optional(way) : std::nullopt;
}

void add(const Way& way, NcclReport::Row& read) {
  if (way.bus_bandwidth == 0) return;
  if (read.bus_bandwidth == 0 || way.bus_bandwidth < read.bus_bandwidth) {
    read.bus_bandwidth = way.bus_bandwidth;
    read.algorithm_bandwidth = way.algorithm_bandwidth;
  }
}

std::optional<std::uint64_t> wrong_of(std::span<const Way> ways) {
  double wrong = 0;
  for (const Way& way : ways)
    wrong += std::min(way.wrong.value_or(0), kMostWrong);
  const bool are_checked =
      !ways.empty() && std::ranges::all_of(ways, [](const Way& way) { return way.wrong.has_value(); });
  if (wrong == 0 && !are_checked) return std::nullopt;
  return static_cast<std::uint64_t>(wrong);
}

Result<NcclReport::Row> read_row(const json::value& item) {
  const json::object* const row = item.if_object();
  const auto size = row == nullptr ? std::nullopt : measured_number(*row, "size");
  if (!size || *size > kMostWrong) return refuse_nccl_report("an item of `results` has no `size`");
  NcclReport::Row read;
  read.bytes = static_cast<std::uint64_t>(*size);
  std::vector<Way> ways;
  for (const std::string_view name : {"out_of_place", "in_place"})
    if (const auto way = way_of(*row, name)) ways.push_back(*way);
  for (const Way& way : ways)
    add(way, read);
  read.wrong = wrong_of(ways);
  return read;
}

}  // namespace

Result<NcclReport> parse_nccl_report(std::string_view text) {
  if (text.size() > kMaxNcclReport) return refuse_nccl_report("it is too long");
  json::error_code error;
  json::parse_options options;
  options.max_depth = kNcclReportDepth;
  const json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return refuse_nccl_report(error.message());
  const json::object* const object = value.if_object();
  const json::value* const member = object == nullptr ? nullptr : object->if_contains("results");
  const json::array* const results = member == nullptr ? nullptr : member->if_array();
  if (results == nullptr) return refuse_nccl_report("`results` is no list");
  if (results->size() > kMaxNcclRows) return refuse_nccl_report("it has too many results");
  NcclReport report;
  for (const json::value& item : *results)
    report.rows.push_back(TRY(read_row(item)));
  return report;
}

}  // namespace autopilot::host
