// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>

#include "host/ethernet/ethernet_doors.hpp"
#include "host/netlink/handles.hpp"

namespace autopilot::host {
namespace {

struct FreeCache {
  void operator()(nl_cache* cache) const { nl_cache_free(cache); }
};

Error netlink_error(int code, std::string_view what) {
  return {code == -NLE_PERM || code == -NLE_NOACCESS ? Errc::denied : Errc::unavailable,
          std::string(what) + ": " + nl_geterror(code)};
}

std::string operational_word(std::uint8_t state) {
  std::array<char, 32> word{};
  return rtnl_link_operstate2str(state, word.data(), word.size());
}

EthernetLink to_link(rtnl_link* entry, nl_cache* cache) {
  EthernetLink link;
  link.name = rtnl_link_get_name(entry);
  if (const char* kind = rtnl_link_get_type(entry)) link.driver_kind = kind;
  link.is_up = (rtnl_link_get_flags(entry) & static_cast<unsigned>(IFF_UP)) != 0;
  // Of an interface that is down netlink tells an old carrier and sysfs none.
  link.has_carrier = link.is_up && rtnl_link_get_carrier(entry) == 1;
  link.operational_state = operational_word(rtnl_link_get_operstate(entry));
  link.mtu = static_cast<int>(rtnl_link_get_mtu(entry));
  std::uint32_t changes = 0;
  if (rtnl_link_get_carrier_changes(entry, &changes) == 0) link.carrier_changes = changes;
  link.rx_errors = rtnl_link_get_stat(entry, RTNL_LINK_RX_ERRORS);
  link.tx_errors = rtnl_link_get_stat(entry, RTNL_LINK_TX_ERRORS);
  link.rx_dropped = rtnl_link_get_stat(entry, RTNL_LINK_RX_DROPPED);
  link.tx_dropped = rtnl_link_get_stat(entry, RTNL_LINK_TX_DROPPED);
  link.rx_crc_errors = rtnl_link_get_stat(entry, RTNL_LINK_RX_CRC_ERR);
  if (const int master = rtnl_link_get_master(entry); master != 0) {
    std::array<char, IF_NAMESIZE> name{};
    if (rtnl_link_i2name(cache, master, name.data(), name.size()) != nullptr) link.bond_master = name.data();
  }
  return link;
}

}  // namespace

Result<std::vector<EthernetLink>> NetlinkEthernet::links(MonoTime /*deadline*/) const {
  const NetlinkSocket socket(nl_socket_alloc());
  if (!socket) return fail(Errc::exhausted, "netlink: no socket");
  if (const int code = nl_connect(socket.get(), NETLINK_ROUTE); code < 0)
    return fail(netlink_error(code, "netlink"));
  nl_cache* filled = nullptr;
  if (const int code = rtnl_link_alloc_cache(socket.get(), AF_UNSPEC, &filled); code < 0)
    return fail(netlink_error(code, "netlink: list of interfaces"));
  const std::unique_ptr<nl_cache, FreeCache> cache(filled);

  std::vector<EthernetLink> links;
  for (nl_object* object = nl_cache_get_first(cache.get()); object != nullptr;
       object = nl_cache_get_next(object)) {
    auto* entry = reinterpret_cast<rtnl_link*>(object);
    if ((rtnl_link_get_flags(entry) & static_cast<unsigned>(IFF_LOOPBACK)) != 0) continue;
    EthernetLink link = to_link(entry, cache.get());
    add_hardware(files_, link);
    links.push_back(std::move(link));
  }
  std::sort(links.begin(), links.end(),
            [](const EthernetLink& a, const EthernetLink& b) { return a.name < b.name; });
  return links;
}

}  // namespace autopilot::host
