// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/access.hpp"

namespace autopilot::kube {

// What an exec plugin answers: a token, a certificate with its key, or both.
struct ExecCredential {
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

  std::string token;
  std::string certificate;  // PEM
  std::string key;          // PEM
  std::optional<WallTime> expires;
};

// An ExecCredential of exactly that version of client.authentication.k8s.io. malformed: names the member and
// no content.
[[nodiscard]] Result<ExecCredential> parse_exec_credential(std::string_view text,
                                                           std::string_view api_version);

// What a plugin finds in KUBERNETES_EXEC_INFO: an ExecCredential that asks. The cluster stands in it where
// the plugin wants it. access.exec is set.
[[nodiscard]] std::string exec_info_json(const Access& access);

}  // namespace autopilot::kube
