// SPDX-License-Identifier: Apache-2.0
#include "host/dns/name_servers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/word_table.hpp"
#include "host/dns/ask_name_servers.hpp"
#include "host/ethernet/routes.hpp"

namespace autopilot::host {
namespace {

// MAXNS of the C library.
constexpr std::size_t kMaxServers = 3;
constexpr std::string_view kThisMachine = "127.0.0.1";

constexpr WordTable<NameServerOutcome, 7> kOutcomes{{
    {NameServerOutcome::answered, "answered"},
    {NameServerOutcome::helpless, "helpless"},
    {NameServerOutcome::silent, "silent"},
    {NameServerOutcome::closed, "closed"},
    {NameServerOutcome::malformed, "malformed"},
    {NameServerOutcome::unreachable, "unreachable"},
    {NameServerOutcome::denied, "denied"},
}};

constexpr std::array<std::string_view, 6> kCodes{"NOERROR",  "FORMERR", "SERVFAIL",
                                                 "NXDOMAIN", "NOTIMP",  "REFUSED"};

class NoNameServers final : public NameServers {
 public:
  [[nodiscard]] Result<NameServersSeen> ask(MonoTime /*deadline*/) const override {
    return fail(Errc::unsupported, "no name servers");
  }
};

}  // namespace

std::string_view to_string(NameServerOutcome outcome) {
  return word_of(kOutcomes, outcome);
}

std::optional<NameServerOutcome> parse_name_server_outcome(std::string_view word) {
  return value_of(kOutcomes, word);
}

std::string dns_code_name(int code) {
  if (code >= 0 && std::cmp_less(code, kCodes.size()))
    return std::string(kCodes.at(static_cast<std::size_t>(code)));
  return std::to_string(code);
}

const NameServers& NameServers::none() {
  static const NoNameServers nobody;
  return nobody;
}

Result<NameServerList> read_name_servers(const Files& files) {
  const auto resolvers = read_resolvers(files);
  if (!resolvers && resolvers.error().code != Errc::not_found) return fail(resolvers.error());
  NameServerList list;
  std::size_t taken = 0;
  for (const std::string& address : resolvers ? *resolvers : std::vector<std::string>{}) {
    if (taken == kMaxServers) break;
    if (!is_internet_address(address)) continue;
    ++taken;
    if (std::ranges::find(list.addresses, address) == list.addresses.end()) list.addresses.push_back(address);
  }
  if (list.addresses.empty()) return NameServerList{false, {std::string(kThisMachine)}};
  return list;
}

}  // namespace autopilot::host
