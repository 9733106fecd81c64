// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <netlink/attr.h>
#include <optional>

#include "host/ethtool/ethtool_netlink.hpp"
#include "host/ethtool/link_reasons.hpp"

namespace autopilot::host {
namespace {

// The attributes of one answer, by their number.
template <int Last>
class Attributes {
 public:
  static Result<Attributes> parse(std::string_view bytes) {
    Attributes attributes;
    // libnl does not write to what it parses, and says otherwise.
    auto* head = reinterpret_cast<nlattr*>(const_cast<char*>(bytes.data()));
    if (nla_parse(attributes.found_.data(), Last, head, static_cast<int>(bytes.size()), nullptr) < 0)
      return fail(Errc::malformed, "ethtool: attributes that cannot be read");
    return attributes;
  }

  [[nodiscard]] std::optional<std::string_view> bytes(int number) const {
    const nlattr* attribute = found_.at(static_cast<std::size_t>(number));
    if (attribute == nullptr) return std::nullopt;
    return std::string_view(static_cast<const char*>(nla_data(attribute)),
                            static_cast<std::size_t>(nla_len(attribute)));
  }
  // The first T of the attribute; nothing where it is missing or shorter.
  template <class T>
  [[nodiscard]] std::optional<T> number(int number) const {
    const auto data = bytes(number);
    if (!data || data->size() < sizeof(T)) return std::nullopt;
    T value{};
    std::memcpy(&value, data->data(), sizeof value);
    return value;
  }

 private:
  std::array<nlattr*, std::size_t{Last} + 1> found_{};
};

std::string fec_mode(std::uint32_t link_mode) {
  switch (link_mode) {
    case ETHTOOL_LINK_MODE_FEC_NONE_BIT:
      return "off";
    case ETHTOOL_LINK_MODE_FEC_BASER_BIT:
      return "baser";
    case ETHTOOL_LINK_MODE_FEC_RS_BIT:
      return "rs";
    case ETHTOOL_LINK_MODE_FEC_LLRS_BIT:
      return "llrs";
    default:
      return std::to_string(link_mode);
  }
}

}  // namespace

Result<PortLink> parse_link_attributes(std::string_view attributes) {
  const auto found = TRY(Attributes<ETHTOOL_A_LINKSTATE_MAX>::parse(attributes));
  PortLink link;
  if (const auto reason = found.number<std::uint8_t>(ETHTOOL_A_LINKSTATE_EXT_STATE)) {
    link.reason = link_reason(*reason);
    link.detail =
        link_detail(*reason, found.number<std::uint8_t>(ETHTOOL_A_LINKSTATE_EXT_SUBSTATE).value_or(0));
  }
  if (const auto quality = found.number<std::uint32_t>(ETHTOOL_A_LINKSTATE_SQI))
    link.signal_quality = static_cast<int>(*quality);
  if (const auto most = found.number<std::uint32_t>(ETHTOOL_A_LINKSTATE_SQI_MAX))
    link.signal_quality_max = static_cast<int>(*most);
  return link;
}

Result<PortFec> parse_fec_attributes(std::string_view attributes) {
  const auto found = TRY(Attributes<ETHTOOL_A_FEC_MAX>::parse(attributes));
  PortFec fec;
  if (const auto mode = found.number<std::uint32_t>(ETHTOOL_A_FEC_ACTIVE)) fec.mode = fec_mode(*mode);
  const auto counters = found.bytes(ETHTOOL_A_FEC_STATS);
  if (!counters) return fec;
  const auto counts = TRY(Attributes<ETHTOOL_A_FEC_STAT_MAX>::parse(*counters));
  // The first number is the sum; those of the lanes follow. Empty: the driver does not count.
  fec.corrected_blocks = counts.number<std::uint64_t>(ETHTOOL_A_FEC_STAT_CORRECTED);
  fec.uncorrectable_blocks = counts.number<std::uint64_t>(ETHTOOL_A_FEC_STAT_UNCORR);
  return fec;
}

Result<std::string> parse_module_attributes(std::string_view attributes) {
  const auto found = TRY(Attributes<ETHTOOL_A_MODULE_EEPROM_MAX>::parse(attributes));
  const auto bytes = found.bytes(ETHTOOL_A_MODULE_EEPROM_DATA);
  if (!bytes) return fail(Errc::malformed, "ethtool: an answer without the bytes of the module");
  return std::string(*bytes);
}

}  // namespace autopilot::host
