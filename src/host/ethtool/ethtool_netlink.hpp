// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "host/ethtool/ethtool.hpp"

namespace autopilot::host {

// The kernel's generic netlink family `ethtool`, of the network namespace of this process. May block as long
// as the kernel does. One thread.
class EthtoolNetlink {
 public:
  // unavailable: the kernel has no such family, or there is no socket.
  [[nodiscard]] static Result<EthtoolNetlink> open();
  EthtoolNetlink(const EthtoolNetlink&) = delete;
  EthtoolNetlink& operator=(const EthtoolNetlink&) = delete;
  EthtoolNetlink(EthtoolNetlink&&) noexcept;
  EthtoolNetlink& operator=(EthtoolNetlink&&) noexcept;
  ~EthtoolNetlink();

  // Everybody may ask for the first two; the third needs CAP_NET_ADMIN over the network namespace.
  [[nodiscard]] Result<PortLink> link(const std::string& interface);
  [[nodiscard]] Result<PortFec> fec(const std::string& interface);
  [[nodiscard]] Result<std::string> module_bytes(const std::string& interface, const ModulePlace& place,
                                                 std::size_t size);

 private:
  struct Socket;
  explicit EthtoolNetlink(std::unique_ptr<Socket> socket);
  std::unique_ptr<Socket> socket_;
};

// The attributes of the kernel's answers.
[[nodiscard]] Result<PortLink> parse_link_attributes(std::string_view attributes);
[[nodiscard]] Result<PortFec> parse_fec_attributes(std::string_view attributes);
[[nodiscard]] Result<std::string> parse_module_attributes(std::string_view attributes);

// The kernel's numbers for why a link is down (linux/ethtool.h, enum ethtool_link_ext_state and its
// substates), as words. A number that this program does not know is itself: "12".
[[nodiscard]] std::string link_reason(unsigned number);
// What `detail` adds to that reason; empty for 0.
[[nodiscard]] std::string link_detail(unsigned reason, unsigned detail);

}  // namespace autopilot::host
