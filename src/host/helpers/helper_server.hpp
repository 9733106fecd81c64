// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"
#include "host/process/own_process.hpp"

namespace autopilot::host {

// The descriptor on which a helper started by HelperClient finds its agent.
inline constexpr int kHelperFd = 3;

// params and result are JSON text. A method may hang; the agent then kills the process.
using HelperMethod = std::function<Result<std::string>(std::string_view params, MonoTime deadline)>;
using HelperMethods = std::map<std::string, HelperMethod, std::less<>>;

// Answers requests one after the other until the agent closes the connection; returns the exit code of the
// process. If the agent dies the process ends at once, even during a method that hangs in user space. What a
// method puts into `descriptor` is sent with its answer, and closed here.
[[nodiscard]] int serve(int fd, const HelperMethods& methods, Fd* descriptor = nullptr);

// A helper with permissions that the agent lacks is not a child of the agent; it listens on a Unix socket.

// Connects the agent. unavailable: no program listens, or the helper is busy. denied: no permission to write
// to the socket, or the listening process runs as another user than root and this user and cannot be trusted.
[[nodiscard]] Result<Fd> connect_to_helper(const std::string& path);

struct HelperListening {
  // Connections at one time: an agent may have a few, and so may the agents that are being replaced.
  static constexpr std::size_t kMaxAgents = 16;
  static constexpr std::size_t kMaxAllowed = 16;

  std::string name;  // prefix of lines on standard error
  std::string path;
  std::vector<uid_t> allowed;                   // in addition to root and the user of this process
  Capabilities capabilities = kNoCapabilities;  // kept once it listens; it starts no program
};

// "--listen /PATH [--allow-uid UID]...", in any order. Empty: other arguments, or more than kMaxAllowed
// users.
[[nodiscard]] std::optional<HelperListening> parse_listening(std::string name,
                                                             const std::vector<std::string>& arguments);

// Listens until SIGTERM or SIGINT; a child process for each agent runs `serve` on the connection and ends
// with this process. Other users get an error and are disconnected. Returns the exit code. The calling
// process must have no other thread; SIGTERM, SIGINT and SIGCHLD stay blocked.
[[nodiscard]] int listen_for_agents(const HelperListening& listening,
                                    const std::function<int(int fd)>& serve);

}  // namespace autopilot::host
