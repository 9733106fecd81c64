// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::agent {

// A certificate, and by whom it can be verified; both PEM.
struct SignedKey {
  std::string certificate;  // with those between it and its authority
  std::string authorities;
};

// Signs the keys of a node. On the loop's thread.
class Signer {
 public:
  // retry_after: pause that the signer demands before the next request; missing: none demanded.
  using OnAnswer = std::function<void(const Result<SignedKey>& key, std::optional<Duration> retry_after)>;

  virtual ~Signer() = default;
  // request: PKCS #10, PEM. Calls back once, never from within; not any more when it is asked again or ends.
  virtual void sign(const std::string& request, OnAnswer on_answer) = 0;
};

}  // namespace autopilot::agent
