// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/fd.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::host {

// What agent and `autopilot helper kmsg` say to each other, inside the frames of host/helpers.

// null -> {"witness":"/dev/kmsg"}. denied, unavailable: the log. Once for each connection, first.
inline constexpr std::string_view kOpenKernelLog = "open";
// {"patienceMs":10000} -> {"records":[...]}: those that follow; none after that long without any.
inline constexpr std::string_view kNextRecords = "next";

[[nodiscard]] std::string encode_witness(std::string_view witness);
[[nodiscard]] Result<std::string> parse_witness(std::string_view answer);

[[nodiscard]] std::string encode_patience(std::chrono::milliseconds patience);
[[nodiscard]] Result<std::chrono::milliseconds> parse_patience(std::string_view params);

// Texts must be UTF-8. Takes records from `begin` on while the answer fits into a frame for sure; moves
// `begin` behind the last one taken.
[[nodiscard]] std::string encode_records(const std::vector<SourcedRecord>& records, std::size_t& begin);
// malformed: too many, a text too long or not UTF-8, a number out of range, a member missing.
[[nodiscard]] Result<std::vector<SourcedRecord>> parse_records(std::string_view answer);

using OpenRecordSource = std::function<Result<std::unique_ptr<RecordSource>>()>;

// Gives one agent, at the other end of `fd`, the records of a log that is opened when it asks for it. Returns
// the exit code of the process.
[[nodiscard]] int run_kmsg_helper(int fd, const OpenRecordSource& open);
// `autopilot helper kmsg --listen PATH [--allow-uid UID]...`: the log of this machine, for agents that may
// not read it.
[[nodiscard]] int run_kmsg_helper_verb(const std::vector<std::string>& arguments);

// The kernel log that somebody with the right to read it reads for us: `autopilot helper kmsg`.
class HelperSource final : public RecordSource {
 public:
  struct Limits {
    Duration answer = std::chrono::seconds(2);  // without waiting for a record; then the helper hangs
    // A helper that waits for a record says so this often; how long one that hangs is not noticed.
    Duration patience = std::chrono::seconds(10);
  };

  // denied, unavailable: this user at the socket, or the helper at the log. timed_out, malformed: the helper.
  [[nodiscard]] static Result<std::unique_ptr<HelperSource>> open(const std::string& socket_path) {
    return open(socket_path, Limits{});
  }
  [[nodiscard]] static Result<std::unique_ptr<HelperSource>> open(const std::string& socket_path,
                                                                  Limits limits);

  [[nodiscard]] Result<std::vector<SourcedRecord>> next(Duration patience) override;
  void interrupt() override;
  // What the helper reads: "/dev/kmsg", "syslog".
  [[nodiscard]] std::string witness() const override { return witness_; }

 private:
  HelperSource(const std::string& socket_path, Fd socket, Fd wake, Limits limits);
  [[nodiscard]] Status start();
  [[nodiscard]] bool is_interrupted() const;

  Fd wake_;
  HelperStream stream_;
  Limits limits_;
  std::string witness_;
};

}  // namespace autopilot::host
