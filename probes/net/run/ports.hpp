// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "probes/net/machine/address.hpp"

namespace autopilot::probes::net {

inline constexpr int kDefaultPort = 5201;
inline constexpr int kMostPort = 65535;

// Where servers may listen.
struct PortRange {
  int first = kDefaultPort;   // 0: wherever the kernel has room
  std::optional<int> last{};  // any of them that are free; without it the first ones, free or not

  [[nodiscard]] bool is_any() const { return first == 0; }
  // Whether a server that finds its port taken goes on to the next.
  [[nodiscard]] bool has_choice() const { return is_any() || last.has_value(); }
};

// "5201", "5201-5300" or "0".
[[nodiscard]] std::optional<PortRange> parse_port_range(std::string_view text);
// "5201" or "5201,5203,5204".
[[nodiscard]] std::optional<std::vector<int>> parse_ports(std::string_view text);

// Gives each port of a range once.
class Ports {
 public:
  // `count`: how many servers, where the range has no end of its own.
  Ports(const PortRange& range, int count);

  // The next one to try. exhausted: there is none left. Of any port: one that was free a moment ago.
  [[nodiscard]] Result<int> next(const Address& bind);

 private:
  bool is_any_;
  int next_;
  int last_;
};

}  // namespace autopilot::probes::net
