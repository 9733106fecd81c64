// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

// Requests to an API server about a caller of ours: the user of a token (TokenReview), and the permissions of
// that user (SubjectAccessReview). Pure.
namespace autopilot::kube {

inline constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
inline constexpr const char* kAccessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

// Audience of tokens for us. Other tokens are refused: a token stolen from us is useless elsewhere, and a
// token sent to another service is useless here.
inline constexpr const char* kTokenAudience = "autopilot.ibm.com";

struct UserInfo {
  std::string name;  // "alice", "system:serviceaccount:team-a:ci"
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>, std::less<>> extra;
  friend bool operator==(const UserInfo&, const UserInfo&) = default;
};

// The pod of a token, as the API server reads it from the token.
struct BoundPod {
  std::string name_space;
  std::string account;
  std::string name;
  std::string uid;
  std::string node;  // empty: a server before Kubernetes 1.30, which does not report it
  friend bool operator==(const BoundPod&, const BoundPod&) = default;
};
// denied: the token is not of a service account, or not bound to a pod.
[[nodiscard]] Result<BoundPod> bound_pod(const UserInfo& user);

// In the terms of RBAC rules.
struct AccessQuestion {
  std::string verb;
  std::string group;
  std::string resource;
  std::string subresource;  // empty: none
  std::string name;         // of the object; empty: all
  std::string name_space;   // empty: all
  friend auto operator<=>(const AccessQuestion&, const AccessQuestion&) = default;
};
// "create checks/gpu.xid.autopilot.ibm.com node-1 in namespace autopilot".
[[nodiscard]] std::string to_string(const AccessQuestion& question);

[[nodiscard]] std::string token_review_json(std::string_view token, std::string_view audience);
// denied: the token has no user, or is for another audience than `audience`. malformed: not a TokenReview.
[[nodiscard]] Result<UserInfo> parse_token_review(std::string_view answer, std::string_view audience);

// A user as passed between agents: all data that decides the user's permissions, in base64. exhausted: longer
// than kLongestUser.
inline constexpr std::size_t kLongestUser = std::size_t{8} << 10;
[[nodiscard]] Result<std::string> user_text(const UserInfo& user);
// malformed: not such a text.
[[nodiscard]] Result<UserInfo> parse_user_text(std::string_view text);

[[nodiscard]] std::string access_review_json(const UserInfo& user, const AccessQuestion& question);
// denied: the user has no permission; the text has the server's reason. malformed: not a SubjectAccessReview.
[[nodiscard]] Status parse_access_review(std::string_view answer);

}  // namespace autopilot::kube
