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

// Credentials from an exec plugin: a token, a certificate with its key, or both.
struct ExecCredential {
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

  std::string token;
  std::string certificate;  // PEM
  std::string key;          // PEM
  std::optional<WallTime> expires;
};

// Parses an ExecCredential of that version of client.authentication.k8s.io. malformed: names the member,
// without its content.
[[nodiscard]] Result<ExecCredential> parse_exec_credential(std::string_view text,
                                                           std::string_view api_version);

// Value of KUBERNETES_EXEC_INFO for a plugin: an ExecCredential, with the cluster if the plugin requests it.
// access.exec must be set.
[[nodiscard]] std::string exec_info_json(const Access& access);

}  // namespace autopilot::kube
