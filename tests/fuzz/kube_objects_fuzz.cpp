// SPDX-License-Identifier: Apache-2.0
// Answers of an API server, or of a program in its place: every view of an object parses or refuses them. The
// requests of a node and its pods can be summed up, whatever the numbers are.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "diagnostics/cluster/deep_test_job.hpp"
#include "diagnostics/cluster/deep_test_words.hpp"
#include "diagnostics/cluster/idle_gpus.hpp"
#include "diagnostics/cluster/own_pod.hpp"
#include "diagnostics/cluster/reservation.hpp"
#include "kube/health_reports.hpp"
#include "kube/objects.hpp"
#include "kube/reviews.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::kube_objects_fuzz {
namespace {

const std::string kPrefix = "autopilot.ibm.com";

void read_as_node(std::string_view text, std::span<const kube::Pod> pods) {
  const auto node = kube::parse_node(text);
  if (!node) return;
  const auto use = diagnostics::accelerator_use(*node, pods);
  AUTOPILOT_ASSERT(use.holders.size() <= pods.size());
  static_cast<void>(diagnostics::testing_marks(*node, kPrefix));
  // A record that was read is written and read again as it was.
  const diagnostics::DeepTestRecord record = diagnostics::deep_test_record(*node, kPrefix);
  static_cast<void>(diagnostics::words_of(record));
  const std::string patch = diagnostics::release_patch(*node, kPrefix, record);
  const auto patched = kube::parse_node(patch);
  AUTOPILOT_ASSERT(patched.has_value());
  AUTOPILOT_ASSERT(!diagnostics::testing_marks(*patched, kPrefix).any());
  AUTOPILOT_ASSERT(diagnostics::deep_test_record(*patched, kPrefix).outcome == record.outcome);
}

void read_as_pods(std::string_view text) {
  if (const auto pod = kube::parse_pod(text)) static_cast<void>(diagnostics::deep_test_result(*pod, {}, {}));
  static_cast<void>(diagnostics::parse_own_pod(text));
  const auto pods = kube::parse_pods(text);
  if (pods) read_as_node(text, *pods);
}

// Whose a token is can be asked about further, whatever the server called them.
void read_as_reviews(std::string_view text) {
  static_cast<void>(kube::parse_access_review(text));
  if (const auto user = kube::parse_token_review(text, kPrefix))
    static_cast<void>(kube::access_review_json(*user, {}));
}

// What was read is read again as it was, however much is cut at first.
void read_as_report(std::string_view text) {
  const auto report = kube::parse_health_check_report(text);
  if (!report) return;
  const std::string once = kube::health_check_report_json(*report);
  const auto again = kube::parse_health_check_report(once);
  AUTOPILOT_ASSERT(again.has_value());
  AUTOPILOT_ASSERT(kube::health_check_report_json(*again) == once);
  AUTOPILOT_ASSERT(kube::parse_health_check_report(kube::health_check_status_patch(*report)).has_value());
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const void* bytes = data;
  const std::string_view text(static_cast<const char*>(bytes), size);
  read_as_pods(text);
  const bool is_object = kube::parse_job(text).has_value();
  AUTOPILOT_ASSERT(kube::parse_jobs(text).has_value() == is_object);
  AUTOPILOT_ASSERT(kube::parse_claim(text).has_value() == is_object);
  AUTOPILOT_ASSERT(kube::parse_claims(text).has_value() == is_object);
  AUTOPILOT_ASSERT(kube::parse_endpoint_slices(text).has_value() == is_object);
  AUTOPILOT_ASSERT(kube::parse_storage_class(text).has_value() == is_object);
  AUTOPILOT_ASSERT(kube::parse_lease(text).has_value() == is_object);
  read_as_reviews(text);
  read_as_report(text);
  return 0;
}

}  // namespace autopilot::kube_objects_fuzz
