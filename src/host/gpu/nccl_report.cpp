// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/nccl_report.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

namespace autopilot::host {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDepth = 8;
constexpr double kMostWrong = 1e15;  // told as a floating-point number

tl::unexpected<Error> refuse(const std::string& what) {
  return fail(Errc::malformed, "report of all_reduce_perf: " + what);
}

// A number that is told and is one: a result that was not measured is null, or the word nan.
std::optional<double> number_of(const json::object& object, std::string_view name) {
  const json::value* const member = object.if_contains(name);
  if (member == nullptr || !member->is_number()) return std::nullopt;
  json::error_code error;
  const double number = member->to_number<double>(error);
  return !error && std::isfinite(number) && number >= 0 ? std::optional(number) : std::nullopt;
}

// What was measured one way.
void add(const json::object& row, std::string_view name, NcclReport::Row& read) {
  const json::value* const member = row.if_contains(name);
  const json::object* const way = member == nullptr ? nullptr : member->if_object();
  if (way == nullptr) return;
  const double bus = number_of(*way, "bus_bw").value_or(0);
  if (bus > read.bus_bandwidth) {
    read.bus_bandwidth = bus;
    read.algorithm_bandwidth = number_of(*way, "alg_bw").value_or(0);
  }
  read.wrong += static_cast<std::uint64_t>(std::min(number_of(*way, "nwrong").value_or(0), kMostWrong));
}

Result<NcclReport::Row> read_row(const json::value& item) {
  const json::object* const row = item.if_object();
  const auto size = row == nullptr ? std::nullopt : number_of(*row, "size");
  if (!size || *size > kMostWrong) return refuse("an item of `results` has no `size`");
  NcclReport::Row read;
  read.bytes = static_cast<std::uint64_t>(*size);
  add(*row, "out_of_place", read);
  add(*row, "in_place", read);
  return read;
}

}  // namespace

Result<NcclReport> parse_nccl_report(std::string_view text) {
  if (text.size() > kMaxNcclReport) return refuse("it is too long");
  json::error_code error;
  json::parse_options options;
  options.max_depth = kMaxDepth;
  const json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return refuse(error.message());
  const json::object* const object = value.if_object();
  const json::value* const member = object == nullptr ? nullptr : object->if_contains("results");
  const json::array* const results = member == nullptr ? nullptr : member->if_array();
  if (results == nullptr) return refuse("`results` is no list");
  if (results->size() > kMaxNcclRows) return refuse("it has too many results");
  NcclReport report;
  for (const json::value& item : *results)
    report.rows.push_back(TRY(read_row(item)));
  return report;
}

}  // namespace autopilot::host
