// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::api {

// POST /v1/certificates of the controller: signs the key of an agent's node. Pure.

inline constexpr const char* kCertificatesPath = "/v1/certificates";

struct SigningRequest {
  std::string request;  // PKCS #10, PEM; its names are ignored
};
[[nodiscard]] std::string to_json(const SigningRequest& request);
// malformed: a member is missing or unknown.
[[nodiscard]] Result<SigningRequest> parse_signing_request(std::string_view json);

struct SignedCertificate {
  std::string certificate;  // PEM, with intermediate certificates
  std::string authority;    // PEM, at least one certificate
};
[[nodiscard]] std::string to_json(const SignedCertificate& issued);
[[nodiscard]] Result<SignedCertificate> parse_signed_certificate(std::string_view json);

// POST /v1/gangs of the controller: an agent asks whether a checked pod can start, depending on the other
// pods of its job. Pure.

inline constexpr const char* kGangsPath = "/v1/gangs";

struct GangQuestion {
  static constexpr std::size_t kLongestUid = 128;  // bytes
  static constexpr std::size_t kMostPods = 100'000;

  std::string pod_uid;
  std::size_t size = 0;  // number of pods of the job; 0: unknown
  // The pod's own node has passed. False: the agent asks for the nodes of the other pods, to test the network
  // between them.
  bool is_proven = true;
};
[[nodiscard]] std::string to_json(const GangQuestion& question);
// malformed: a member is missing, unknown or beyond the limits.
[[nodiscard]] Result<GangQuestion> parse_gang_question(std::string_view json);

struct GangAnswer {
  static constexpr std::size_t kMostNodes = 64;

  bool may_start = false;  // if not proven: the test can start, because all pods have a node
  std::string message;     // a sentence: the pods that it waits for; empty if it can start
  // If not proven: nodes of the other pods that have GPUs or are tested. If there are more than kMostNodes,
  // each pod gets the nodes that follow its own by name, so that each node appears equally often.
  std::vector<std::string> nodes = {};
};
[[nodiscard]] std::string to_json(const GangAnswer& answer);
[[nodiscard]] Result<GangAnswer> parse_gang_answer(std::string_view json);

}  // namespace autopilot::api
