// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {

// The kubelet's folder of logs, which only root can read: <namespace>_<pod>_<uid>/<container>/<start>.log.
inline constexpr std::string_view kPodLogFolder = "/var/log/pods";

// Request of `autopilot helper kubelet`: the path of a log below `pods`, a JSON text. The descriptor is sent
// with the answer.
inline constexpr std::string_view kOpenPodLog = "open_pod_log";

// For reading. malformed: the path is not that of a log in `pods`. unsupported: not a regular file, or behind
// a symbolic link, such as the logs of Docker. not_found; denied.
[[nodiscard]] Result<Fd> open_pod_log(const std::string& path, std::string_view pods = kPodLogFolder);

// The same by the helper that listens at `socket`, over a new connection. Returns by the deadline. Further
// errors: unavailable: no helper listens. unsupported: the helper is an older one. timed_out.
[[nodiscard]] Result<Fd> ask_pod_log(const std::string& socket, const std::string& path, MonoTime deadline);

}  // namespace autopilot::host
