// SPDX-License-Identifier: Apache-2.0
#include "kube/lease_object.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <limits>

#include "kube/objects.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

// The API accepts exactly six fraction digits.
std::string micro_time(WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::floor<std::chrono::microseconds>(time - second).count();
  const std::string text = format_time(second);
  std::array<char, 16> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%06dZ", static_cast<int>(micros));
  return text.substr(0, text.find('.')) + fraction.data();
}

json::object lease_spec_of(const LeaseRecord& record) {
  json::object spec{{"holderIdentity", record.holder},
                    {"leaseDurationSeconds", record.duration_s},
                    {"leaseTransitions", record.transitions}};
  if (record.acquired) spec["acquireTime"] = micro_time(*record.acquired);
  if (record.renewed) spec["renewTime"] = micro_time(*record.renewed);
  return spec;
}

template <class Number>
std::int32_t within_int32(Number number) {
  constexpr Number highest = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp<Number>(number, 0, highest));
}

}  // namespace

std::string leases_path(const std::string& name_space) {
  return "/apis/coordination.k8s.io/v1/namespaces/" + name_space + "/leases";
}

std::string lease_json(const std::string& name, const LeaseRecord& record) {
  return json::serialize(json::object{{"apiVersion", "coordination.k8s.io/v1"},
                                      {"kind", "Lease"},
                                      {"metadata", json::object{{"name", name}}},
                                      {"spec", lease_spec_of(record)}});
}

std::string lease_patch_json(const LeaseRecord& record) {
  return json::serialize(
      json::object{{"metadata", json::object{{"resourceVersion", record.resource_version}}},
                   {"spec", lease_spec_of(record)}});
}

Result<LeaseRecord> parse_lease_record(std::string_view text) {
  const Lease lease = TRY(parse_lease(text));
  if (lease.meta.version.empty()) return fail(Errc::malformed, "the response is not a Lease");
  LeaseRecord record;
  record.holder = lease.holder;
  if (lease.duration)
    record.duration_s = within_int32(std::chrono::floor<std::chrono::seconds>(*lease.duration).count());
  record.transitions = within_int32(lease.transitions);
  record.acquired = lease.acquired;
  record.renewed = lease.renewed;
  record.resource_version = lease.meta.version;
  return record;
}

}  // namespace autopilot::kube
