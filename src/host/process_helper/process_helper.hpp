// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/process/process_reader.hpp"

namespace autopilot::host {

// The messages between the agent and a helper that reads processes of other users, inside the frames of
// host/helpers.

// ProcessStart -> ClosedFacts.
inline constexpr std::string_view kReadFacts = "facts";
// ProcessStart -> TaskIo.
inline constexpr std::string_view kReadIo = "io";

struct ProcessStart {
  std::int64_t pid = 0;
  std::uint64_t started_ticks = 0;  // since boot
};

[[nodiscard]] std::string encode_process_start(const ProcessStart& start);
[[nodiscard]] std::string encode_facts(const ClosedFacts& facts);
[[nodiscard]] std::string encode_io(const TaskIo& io);
// malformed: a missing member, a number out of range, or a variable that is not listed, is too long or not
// printable.
[[nodiscard]] Result<ProcessStart> parse_process_start(std::string_view params);
[[nodiscard]] Result<ClosedFacts> parse_facts(std::string_view answer);
[[nodiscard]] Result<TaskIo> parse_io(std::string_view answer);

// The methods of a helper. Variables that are not listed (environment_names()) never leave it. Facts need
// CAP_SYS_PTRACE; I/O of a process of another user needs CAP_DAC_READ_SEARCH as well.
[[nodiscard]] HelperMethods process_methods();

// Reads processes through a helper behind a socket, over one connection that is kept. A helper that does not
// answer costs the caller at most kPatience, and is then left alone for kPause: requests meanwhile get the
// same error at once.
class HelperProcesses final : public ProcessReader {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(1);
  static constexpr Duration kPause = std::chrono::seconds(5);

  explicit HelperProcesses(std::string socket) : socket_(std::move(socket)) {}

  [[nodiscard]] Result<ClosedFacts> facts(std::int64_t pid, std::uint64_t started_ticks) const override;
  [[nodiscard]] Result<TaskIo> io(std::int64_t pid, std::uint64_t started_ticks) const override;

 private:
  [[nodiscard]] Result<std::string> ask(std::string_view method, const ProcessStart& start) const;
  [[nodiscard]] Error pause_after(Error problem) const;
  [[nodiscard]] Result<std::string> exchange(std::string_view method, const std::string& params,
                                             MonoTime deadline) const;

  const std::string socket_;
  mutable std::timed_mutex mutex_;  // guards the members below
  mutable std::unique_ptr<HelperStream> stream_;
  mutable MonoTime not_before_{};
  mutable Error problem_;  // of the helper, until not_before_
};

}  // namespace autopilot::host
