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

// The messages between the agent and `autopilot helper kmsg`, inside the frames of host/helpers.

// null -> {"witness":"/dev/kmsg"}. denied, unavailable: errors of the log. The first request of each
// connection, sent once.
inline constexpr std::string_view kOpenKernelLog = "open";
// {"patienceMs":10000} -> {"records":[...]}: the next records; empty if none arrives in that time.
inline constexpr std::string_view kNextRecords = "next";

[[nodiscard]] std::string encode_witness(std::string_view witness);
[[nodiscard]] Result<std::string> parse_witness(std::string_view answer);

[[nodiscard]] std::string encode_patience(std::chrono::milliseconds patience);
[[nodiscard]] Result<std::chrono::milliseconds> parse_patience(std::string_view params);

// Encodes records from `begin` on, as many as surely fit into a frame; moves `begin` behind the last encoded
// record. Texts must be UTF-8.
[[nodiscard]] std::string encode_records(const std::vector<SourcedRecord>& records, std::size_t& begin);
// malformed: too many records, a text that is too long or not UTF-8, a number out of range, or a missing
// member.
[[nodiscard]] Result<std::vector<SourcedRecord>> parse_records(std::string_view answer);

// Serves the records of a log to the agent at the other end of `fd`; opens the log when the agent requests
// it. Returns the exit code of the process.
[[nodiscard]] int run_kmsg_helper(int fd, const OpenRecordSource& open);
// `autopilot helper kmsg --listen PATH [--allow-uid UID]...`: serves the log of this machine to agents
// without the permission to read it.
[[nodiscard]] int run_kmsg_helper_verb(const std::vector<std::string>& arguments);

// The kernel log, read by a helper with the permission: `autopilot helper kmsg`.
class HelperSource final : public RecordSource {
 public:
  struct Limits {
    Duration answer = std::chrono::seconds(2);  // time for an answer, beyond waiting for a record
    // Longest wait for a record in one request. A hanging helper is noticed after this and `answer`.
    Duration patience = std::chrono::seconds(10);
  };

  // denied, unavailable: errors of the socket, or of the helper's log. timed_out, malformed: errors of the
  // helper.
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
