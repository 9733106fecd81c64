// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "kube/client.hpp"

namespace autopilot::controller {

// One request that changes the cluster, or that reads what is there.
struct Write {
  enum class Method : std::uint8_t { create, merge_patch, remove, get };
  Method method = Method::get;
  std::string path;
  std::string body;
  friend bool operator==(const Write&, const Write&) = default;
};
[[nodiscard]] net::Exchange send(kube::Client& client, const Write& write, kube::OnObject on_answer);

}  // namespace autopilot::controller
