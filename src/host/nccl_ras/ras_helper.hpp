// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/nccl_ras/ras_client.hpp"

namespace autopilot::host {

// Whom to ask: RAS in the network namespace of a process.
struct RasTarget {
  std::int64_t pid = 0;
  std::uint64_t started_ticks = 0;  // of that process, since boot
  RasAddress address;
};

// The messages between the agent and `autopilot helper ras`, inside the frames of host/helpers.

// RasTarget -> {"bytes":N}: asks, and keeps the answer until the next request.
inline constexpr std::string_view kAskRas = "ask";
// {"from":N} -> a text: bytes of the answer from there on, empty at its end.
inline constexpr std::string_view kNextRasPiece = "piece";

[[nodiscard]] std::string encode_ras_target(const RasTarget& target);
// malformed: a missing member, or a number out of range.
[[nodiscard]] Result<RasTarget> parse_ras_target(std::string_view params);

// `autopilot helper ras [--listen PATH [--allow-uid UID]...]`: asks RAS in other network namespaces for the
// agent at the other end of `fd`; with --listen, for agents without the permission. Needs CAP_SYS_ADMIN and
// CAP_SYS_PTRACE. It sends nothing of the agent's and connects to loopback only. Each request runs in a child
// process with a deadline; with two children that hang in the kernel, no more requests are made. It answers
// the requests of process_helper.hpp as well. Returns the exit code.
[[nodiscard]] int run_ras_helper(int fd, const std::vector<std::string>& arguments);

// Asks RAS: directly if the process shares the network namespace of the agent, otherwise through a helper.
// Thread-safe; one request to the helper at a time, others wait within their deadline.
class RasAccess {
 public:
  // `socket`: path on which a separate helper listens; empty: `helper` is started when it is needed.
  RasAccess(Command helper, std::string socket = {});

  // The answer, at most kMaxRasBytes. Returns by the deadline plus half a second. Errors of query_ras, and
  // not_found: the process has ended. denied: a permission for its namespace is missing. exhausted: too many
  // requests hang.
  [[nodiscard]] Result<std::string> ask(const RasTarget& target, MonoTime deadline);

 private:
  [[nodiscard]] Result<std::string> ask_helper(const RasTarget& target, MonoTime deadline);
  [[nodiscard]] HelperResult exchange(std::string_view method, const std::string& params, MonoTime deadline);

  const std::string socket_;
  HelperClient child_;
  std::timed_mutex mutex_;                // the two requests of an answer follow each other
  std::unique_ptr<HelperStream> stream_;  // to the separate helper; guarded by mutex_
};

}  // namespace autopilot::host
