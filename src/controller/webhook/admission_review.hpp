// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/webhook/review_outcome.hpp"

// AdmissionReviews of admission.k8s.io/v1 for new objects. Pure.
namespace autopilot::controller {

// An API server accepts objects of at most 3 MiB.
inline constexpr std::size_t kLongestReview = std::size_t{3} << 20;

// The decision about one new pod.
struct PodDecision {
  ReviewOutcome outcome = ReviewOutcome::unchanged;
  boost::json::array patch;           // RFC 6902; empty: no change
  std::vector<std::string> warnings;  // for the user who creates the pod
};

// Parses the review, calls `decide` with a new pod, and returns the response. A text that is not a review,
// too long or too deep is allowed with a warning, with the uid of the request if it can be read.
[[nodiscard]] HandlerAnswer answer_review(
    std::string_view review, const std::function<PodDecision(const boost::json::object& pod)>& decide);
// Allows the request without parsing the review.
[[nodiscard]] HandlerAnswer allow_unread(std::string_view review, ReviewOutcome outcome, std::string warning);

// Operations of a JSON patch.
[[nodiscard]] boost::json::object patch_add(std::string_view path, boost::json::value value);
[[nodiscard]] boost::json::object patch_replace(std::string_view path, boost::json::value value);
[[nodiscard]] boost::json::object patch_remove(std::string_view path);
[[nodiscard]] boost::json::object patch_move(std::string_view from, std::string_view path);
// Escapes a name for use in a JSON pointer.
[[nodiscard]] std::string patch_token(std::string_view name);

}  // namespace autopilot::controller
