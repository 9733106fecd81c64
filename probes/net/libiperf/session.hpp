// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iperf_api.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace autopilot::probes::net {

// A test of libiperf, told what to do as the program iperf3 is told.
class Session {
 public:
  explicit Session(std::vector<std::string> arguments);
  // Null where libiperf does not take the arguments; i_errno says why.
  [[nodiscard]] iperf_test* test() const { return is_ready_ ? test_.get() : nullptr; }
  // The report in JSON; empty where there is none.
  [[nodiscard]] std::string json() const;

 private:
  struct Free {
    void operator()(iperf_test* test) const { ::iperf_free_test(test); }
  };

  std::vector<std::string> arguments_;  // libiperf keeps pointers into some of them
  std::unique_ptr<iperf_test, Free> test_;
  bool is_ready_ = false;
};

// libiperf maps a file of its own for each stream. It lies in memory where that can be, for a container may
// have no folder that it may write to.
void use_scratch_in_memory();

void write_all(int output, std::string_view text);

}  // namespace autopilot::probes::net
