// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/webhook/review_outcome.hpp"

// admission.k8s.io/v1: what an API server asks about an object that somebody makes, and what it is told.
// Pure.
namespace autopilot::controller {

// An API server takes objects of 3 MiB at most; nobody writes such a pod.
inline constexpr std::size_t kLongestReview = std::size_t{3} << 20;

// What is said of one new pod.
struct PodDecision {
  ReviewOutcome outcome = ReviewOutcome::unchanged;
  boost::json::array patch;           // RFC 6902; empty: the pod stays as it is
  std::vector<std::string> warnings;  // for whoever makes the pod
};

// Reads the review, lets `decide` look at the pod where one is to be made, and writes the answer. What is no
// review, too long or too deep is allowed with a warning, in the name of the request as far as that can be
// read.
[[nodiscard]] HandlerAnswer answer_review(
    std::string_view review, const std::function<PodDecision(const boost::json::object& pod)>& decide);
// The same without a look at it.
[[nodiscard]] HandlerAnswer allow_unread(std::string_view review, ReviewOutcome outcome, std::string warning);

// Steps of a patch. `value`: what is there afterwards.
[[nodiscard]] boost::json::object patch_add(std::string_view path, boost::json::value value);
[[nodiscard]] boost::json::object patch_replace(std::string_view path, boost::json::value value);
[[nodiscard]] boost::json::object patch_remove(std::string_view path);
[[nodiscard]] boost::json::object patch_move(std::string_view from, std::string_view path);
// A name as a part of a path.
[[nodiscard]] std::string patch_token(std::string_view name);

}  // namespace autopilot::controller
