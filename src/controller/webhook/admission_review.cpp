// SPDX-License-Identifier: Apache-2.0
#include "controller/webhook/admission_review.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <utility>

#include "core/text.hpp"
#include "kube/base64.hpp"
#include "kube/json_path.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

constexpr const char* kVersion = "admission.k8s.io/v1";
constexpr const char* kKind = "AdmissionReview";
// The deepest part of a pod are its managed fields, about twenty levels below the review.
constexpr std::size_t kDeepest = 64;
constexpr std::size_t kLongestUid = 128;
// API servers truncate longer warnings, and all warnings at 4 KiB.
constexpr std::size_t kLongestWarning = 256;
constexpr std::size_t kMostWarnings = 8;

bool is_uid(std::string_view text) {
  return !text.empty() && text.size() <= kLongestUid && std::ranges::all_of(text, [](char c) {
    return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

// The API server identifies a response by the uid of the request, so the uid is also searched in a text that
// cannot be parsed: API servers write it as the first member of the request, without spaces.
std::string_view uid_in(std::string_view review) {
  constexpr std::string_view kMark = R"("request":{"uid":")";
  constexpr std::size_t kBeginning = 4096;
  std::string_view text = review.substr(0, kBeginning);
  const std::size_t begin = text.find(kMark);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + kMark.size());
  text = text.substr(0, text.find('"'));
  return is_uid(text) ? text : std::string_view();
}

HandlerAnswer answer(std::string_view uid, const PodDecision& decision) {
  json::object response{{"uid", uid}, {"allowed", true}};
  if (!decision.patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = kube::encode_base64(json::serialize(decision.patch));
  }
  json::array warnings;
  for (const std::string& warning : decision.warnings)
    if (warnings.size() < kMostWarnings)
      warnings.emplace_back(cut_utf8("Autopilot: " + warning, kLongestWarning));
  if (!warnings.empty()) response["warnings"] = std::move(warnings);
  const json::object review{{"apiVersion", kVersion}, {"kind", kKind}, {"response", std::move(response)}};
  return {decision.outcome, json::serialize(review)};
}

bool is_new_pod(const json::object& request) {
  return kube::text_at(request, {"operation"}) == "CREATE" &&
         kube::text_at(request, {"subResource"}).empty() &&
         kube::text_at(request, {"kind", "kind"}) == "Pod" &&
         kube::text_at(request, {"kind", "group"}).empty() &&
         kube::text_at(request, {"kind", "version"}) == "v1";
}

}  // namespace

HandlerAnswer allow_unread(std::string_view review, ReviewOutcome outcome, std::string warning) {
  return answer(uid_in(review), {outcome, {}, {std::move(warning)}});
}

HandlerAnswer answer_review(std::string_view review,
                            const std::function<PodDecision(const json::object& pod)>& decide) {
  if (review.size() > kLongestReview)
    return allow_unread(review, ReviewOutcome::oversized, "the pod is too large to check");
  std::array<unsigned char, 16384> room;  // first memory of the parser
  json::monotonic_resource memory(room.data(), room.size());
  json::parse_options options;
  options.max_depth = kDeepest;
  json::error_code error;
  const json::value value = json::parse({review.data(), review.size()}, error, &memory, options);
  const json::object* members = error ? nullptr : value.if_object();
  const json::object* request = members == nullptr ? nullptr : kube::object_at(*members, {"request"});
  const std::string_view uid = request == nullptr ? std::string_view() : kube::text_at(*request, {"uid"});
  if (!is_uid(uid) || kube::text_at(*members, {"apiVersion"}) != kVersion)
    return allow_unread(review, ReviewOutcome::malformed, "not an AdmissionReview of admission.k8s.io/v1");
  if (!is_new_pod(*request)) return answer(uid, {ReviewOutcome::left_out, {}, {}});
  const json::object* pod = kube::object_at(*request, {"object"});
  if (pod == nullptr) return answer(uid, {ReviewOutcome::malformed, {}, {"the review has no pod"}});
  return answer(uid, decide(*pod));
}

json::object patch_add(std::string_view path, json::value value) {
  return {{"op", "add"}, {"path", path}, {"value", std::move(value)}};
}

json::object patch_replace(std::string_view path, json::value value) {
  return {{"op", "replace"}, {"path", path}, {"value", std::move(value)}};
}

json::object patch_remove(std::string_view path) {
  return {{"op", "remove"}, {"path", path}};
}

json::object patch_move(std::string_view from, std::string_view path) {
  return {{"op", "move"}, {"from", from}, {"path", path}};
}

std::string patch_token(std::string_view name) {
  std::string token;
  for (const char c : name)
    if (c == '~')
      token += "~0";
    else if (c == '/')
      token += "~1";
    else
      token += c;
  return token;
}

}  // namespace autopilot::controller
