// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "host/files/fd.hpp"
#include "host/helpers/helper_stream.hpp"
#include "host/kernel_log/record_source.hpp"

namespace autopilot::host {

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
