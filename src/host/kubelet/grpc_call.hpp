// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

struct GrpcCall {
  static constexpr std::size_t kMaxAnswer = std::size_t{16} << 20;

  std::string socket;  // path of a Unix socket, as on the machine
  std::string method;  // "/v1.PodResourcesLister/List"
};

// One question with an empty message to a gRPC server, over a connection of its own; the message of the
// answer. Returns at the deadline at the latest.
// not_found: no socket there. unavailable: nobody listens, or the call was broken off. denied: the file is
// closed to this user, the server is neither root nor this user, or it refuses. unsupported: the server does
// not know the method. timed_out. exhausted: the message is longer than kMaxAnswer, or the server answers so.
// malformed: what comes is no gRPC, or is compressed, which was not asked for.
[[nodiscard]] Result<std::string> call_grpc(const Files& files, const GrpcCall& call, MonoTime deadline);

}  // namespace autopilot::host
