// SPDX-License-Identifier: Apache-2.0
#include "host/ethernet/ethernet.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <utility>

#include "core/parse.hpp"
#include "core/subject.hpp"
#include "host/netlink/handles.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kLinkFolder = "/sys/class/net/";
constexpr std::int64_t kInfiniband = 32;     // ARPHRD_INFINIBAND of the type file
constexpr std::int64_t kLinkIsWantedUp = 1;  // IFF_UP of the flags file

std::string path_of(const std::string& name, std::string_view file) {
  return std::string(kLinkFolder) + name + "/" + std::string(file);
}

// The numbers of one interface. The first file that cannot be read or understood is its problem: a zero in
// place of a counter would look like a reset, and in place of a flag like an interface that is switched off.
class Numbers {
 public:
  Numbers(const Files& files, EthernetLink& link) : files_(files), link_(link) {}

  std::int64_t required(std::string_view file) {
    const auto value = files_.read_integer(path_of(link_.name, file));
    if (!value && !link_.problem) link_.problem = value.error();
    return value.value_or(0);
  }
  // Zero where this kernel or driver has no such file.
  std::uint64_t counter(std::string_view file) {
    const auto value = files_.read_integer(path_of(link_.name, file));
    if (!value && value.error().code != Errc::not_found && !link_.problem) link_.problem = value.error();
    return value && *value > 0 ? static_cast<std::uint64_t>(*value) : 0;
  }

 private:
  const Files& files_;
  EthernetLink& link_;
};

std::string last_segment(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

EthernetLink read_link(const Files& files, const std::string& name) {
  EthernetLink link;
  link.name = name;
  Numbers numbers(files, link);
  link.is_up = (numbers.required("flags") & kLinkIsWantedUp) != 0;
  // The kernel refuses to report the carrier of an interface that is down.
  link.has_carrier = link.is_up && numbers.required("carrier") == 1;
  link.operational_state = files.read_word(path_of(name, "operstate")).value_or("unknown");
  link.mtu = static_cast<int>(files.read_integer(path_of(name, "mtu")).value_or(0));
  link.carrier_changes = numbers.counter("carrier_changes");
  link.rx_errors = numbers.counter("statistics/rx_errors");
  link.tx_errors = numbers.counter("statistics/tx_errors");
  link.rx_dropped = numbers.counter("statistics/rx_dropped");
  link.tx_dropped = numbers.counter("statistics/tx_dropped");
  link.rx_crc_errors = numbers.counter("statistics/rx_crc_errors");
  if (const auto master = files.resolve(path_of(name, "master"))) link.bond_master = last_segment(*master);
  add_hardware(files, link);
  return link;
}

}  // namespace

void add_hardware(const Files& files, EthernetLink& link) {
  const auto speed = files.read_integer(path_of(link.name, "speed"));
  if (speed && *speed > 0) link.speed_mbps = static_cast<int>(*speed);
  link.duplex = files.read_word(path_of(link.name, "duplex")).value_or("");
  const auto device = files.resolve(path_of(link.name, "device"));
  link.is_physical = device.has_value();
  link.is_virtual_function = files.exists(path_of(link.name, "device/physfn"));
  link.is_infiniband = files.read_integer(path_of(link.name, "type")).value_or(0) == kInfiniband;
  // sysfs is not mounted, or shows another network namespace.
  const bool is_shown = device || !link.driver_kind.empty() || files.exists(path_of(link.name, ""));
  if (!is_shown && link.is_up && !link.problem)
    link.problem = Error{Errc::unavailable, path_of(link.name, "device") +
                                                ": not there to say whether the interface is hardware"};
  if (!device) return;
  // A virtio interface hangs below its PCI device: the nearest address upwards counts.
  std::string_view path = *device;
  while (!path.empty() && link.pci_address.empty()) {
    const auto slash = path.rfind('/');
    if (slash == std::string_view::npos) break;
    const auto segment = path.substr(slash + 1);
    // "0000:3b:00.0" but not "pci0000:3a" or "virtio0".
    if (segment.size() >= 12 && segment.find('.') != std::string_view::npos)
      if (const auto address = canonical_pci_address(segment)) link.pci_address = *address;
    path = path.substr(0, slash);
  }
}

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
  // For an interface that is down netlink reports an old carrier and sysfs reports none.
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

Result<std::vector<EthernetLink>> SysfsEthernet::links(MonoTime /*deadline*/) const {
  const auto names = files_.list(kLinkFolder);
  if (!names) {
    if (names.error().code == Errc::not_found && files_.exists("/sys")) return std::vector<EthernetLink>{};
    return fail(names.error());
  }
  std::vector<EthernetLink> links;
  for (const auto& name : *names)
    // Files such as bonding_masters are beside the interfaces.
    if (name != "lo" && files_.exists(path_of(name, "operstate"))) links.push_back(read_link(files_, name));
  return links;
}

namespace {

// Files of LACP are empty in other modes, and while no aggregator was chosen.
std::optional<int> read_aggregator(const Files& files, const std::string& path) {
  const auto word = files.read_word(path);
  return word ? parse_number<int>(*word) : std::nullopt;
}

Result<Bond> read_bond(const Files& files, const std::string& name) {
  const std::string path = std::string(kLinkFolder) + name;
  Bond bond;
  bond.name = name;
  const std::string mode = TRY(files.read_word(path + "/bonding/mode"));  // "802.3ad 4"
  bond.mode = mode.substr(0, mode.find(' '));
  bond.is_up = (TRY(files.read_integer(path + "/flags")) & kLinkIsWantedUp) != 0;
  bond.aggregator = read_aggregator(files, path + "/bonding/ad_aggregator");
  if (const auto partner = files.read_word(path + "/bonding/ad_partner_mac"); partner && !partner->empty())
    bond.has_partner = partner->find_first_not_of("0:") != std::string::npos;
  const std::string members = TRY(files.read(path + "/bonding/slaves"));
  for (const std::string_view word : split_words(members)) {
    BondMember member;
    member.name = word;
    const std::string place = std::string(kLinkFolder) + member.name + "/bonding_slave";
    auto link = files.read_word(place + "/mii_status");
    if (!link && link.error().code == Errc::not_found) continue;  // it left the bond since
    member.link = to_lower(TRY(std::move(link)));
    member.aggregator = read_aggregator(files, place + "/ad_aggregator_id");
    bond.members.push_back(std::move(member));
  }
  return bond;
}

}  // namespace

Result<std::vector<Bond>> scan_bonds(const Files& files) {
  const auto names = TRY(files.list_sysfs(kLinkFolder));
  std::vector<Bond> bonds;
  for (const std::string& name : names) {
    if (!files.exists(std::string(kLinkFolder) + name + "/bonding")) continue;
    auto bond = read_bond(files, name);
    if (!bond) {
      if (bond.error().code == Errc::not_found) continue;  // it was removed since the list was read
      Bond unknown;
      unknown.name = name;
      unknown.problem = std::move(bond).error();
      bonds.push_back(std::move(unknown));
      continue;
    }
    bonds.push_back(*std::move(bond));
  }
  return bonds;
}

}  // namespace autopilot::host
