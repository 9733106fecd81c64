// SPDX-License-Identifier: Apache-2.0
#include "host/ethernet/bond.hpp"

#include <utility>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kBondFolder = "/sys/class/net/";
constexpr std::int64_t kBondIsWantedUp = 1;  // IFF_UP of the flags file

// Files of LACP are empty in other modes, and while no aggregator was chosen.
std::optional<int> read_aggregator(const Files& files, const std::string& path) {
  const auto word = files.read_word(path);
  return word ? parse_number<int>(*word) : std::nullopt;
}

Result<Bond> read_bond(const Files& files, const std::string& name) {
  const std::string path = std::string(kBondFolder) + name;
  Bond bond;
  bond.name = name;
  const std::string mode = TRY(files.read_word(path + "/bonding/mode"));  // "802.3ad 4"
  bond.mode = mode.substr(0, mode.find(' '));
  bond.is_up = (TRY(files.read_integer(path + "/flags")) & kBondIsWantedUp) != 0;
  bond.aggregator = read_aggregator(files, path + "/bonding/ad_aggregator");
  if (const auto partner = files.read_word(path + "/bonding/ad_partner_mac"); partner && !partner->empty())
    bond.has_partner = partner->find_first_not_of("0:") != std::string::npos;
  const std::string members = TRY(files.read(path + "/bonding/slaves"));
  for (const std::string_view word : split_words(members)) {
    BondMember member;
    member.name = word;
    const std::string place = std::string(kBondFolder) + member.name + "/bonding_slave";
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
  const auto names = files.list(kBondFolder.substr(0, kBondFolder.size() - 1));
  if (!names) {
    if (names.error().code == Errc::not_found && files.exists("/sys")) return std::vector<Bond>{};
    return fail(names.error().code == Errc::not_found ? Errc::unavailable : names.error().code,
                names.error().what);
  }
  std::vector<Bond> bonds;
  for (const std::string& name : *names) {
    if (!files.exists(std::string(kBondFolder) + name + "/bonding")) continue;
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
