// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

// POST /v1/gangs of the controller: an agent asks whether a pod that it has looked at may begin, as far as
// the other pods of its job are concerned. Pure.
namespace autopilot::api {

inline constexpr const char* kGangsPath = "/v1/gangs";

struct GangQuestion {
  static constexpr std::size_t kLongestUid = 128;  // bytes
  static constexpr std::size_t kMostPods = 100'000;

  std::string pod_uid;
  std::size_t size = 0;  // of the job, in pods; 0: nobody says
  // Its own node is. Else it asks where the others are, to test the network between them.
  bool is_proven = true;
};
[[nodiscard]] std::string to_json(const GangQuestion& question);
// malformed: what is missing, not known, or beyond the limits.
[[nodiscard]] Result<GangQuestion> parse_gang_question(std::string_view json);

struct GangAnswer {
  static constexpr std::size_t kMostNodes = 64;

  bool may_start = false;  // one that is not proven: the test may, for all pods have a node
  std::string message;     // whom it waits for, in a sentence; empty where it may start
  // For one that is not proven: those of the other pods that have GPUs or are tested. Where they are more
  // than kMostNodes each pod is told those that follow its own by name, so that each node is told as often.
  std::vector<std::string> nodes = {};
};
[[nodiscard]] std::string to_json(const GangAnswer& answer);
[[nodiscard]] Result<GangAnswer> parse_gang_answer(std::string_view json);

}  // namespace autopilot::api
