// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iperf_api.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace autopilot::probes::net {

// A libiperf test, configured by the arguments of the program iperf3.
class Session {
 public:
  explicit Session(std::vector<std::string> arguments);
  // Null if libiperf rejects the arguments; i_errno has the reason.
  [[nodiscard]] iperf_test* test() const { return is_ready_ ? test_.get() : nullptr; }
  // The report in JSON; empty if missing.
  [[nodiscard]] std::string json() const;

 private:
  struct Free {
    void operator()(iperf_test* test) const { ::iperf_free_test(test); }
  };

  std::vector<std::string> arguments_;  // libiperf keeps pointers into some of them
  std::unique_ptr<iperf_test, Free> test_;
  bool is_ready_ = false;
};

// libiperf maps a temporary file for each stream. Places it in memory if possible, because a container can
// lack a writable folder.
void use_scratch_in_memory();

void write_all(int output, std::string_view text);

}  // namespace autopilot::probes::net
