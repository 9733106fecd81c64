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

// Ports on which servers can listen.
struct PortRange {
  int first = kDefaultPort;   // 0: any free port
  std::optional<int> last{};  // set: any free port of the range; not set: consecutive ports from `first`

  [[nodiscard]] bool is_any() const { return first == 0; }
  // True if a server tries another port when its port is taken.
  [[nodiscard]] bool has_choice() const { return is_any() || last.has_value(); }
};

// "5201", "5201-5300" or "0".
[[nodiscard]] std::optional<PortRange> parse_port_range(std::string_view text);
// "5201" or "5201,5203,5204".
[[nodiscard]] std::optional<std::vector<int>> parse_ports(std::string_view text);

// Returns each port of a range once.
class Ports {
 public:
  // `count`: number of servers, if the range has no end of its own.
  Ports(const PortRange& range, int count);

  // The next port to try. exhausted: none is left. For any port: a port that was free a moment ago.
  [[nodiscard]] Result<int> next(const Address& bind);

 private:
  bool is_any_;
  int next_;
  int last_;
};

}  // namespace autopilot::probes::net
