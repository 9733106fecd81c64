// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host/dns/dns_message.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::dns_fuzz {

// Untrusted answers of a name server.
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view packet(reinterpret_cast<const char*>(data), size);
  const auto answer = host::parse_dns_answer(packet);
  const auto head = host::parse_dns_head(packet);
  AUTOPILOT_ASSERT(head.has_value() == (size >= 12 && (data[2] & 0x80U) != 0));
  if (!answer) {
    AUTOPILOT_ASSERT(answer.error().code == Errc::malformed);
    return 0;
  }
  AUTOPILOT_ASSERT(answer->code >= 0 && answer->code < 16);
  AUTOPILOT_ASSERT(head && head->id == answer->id && head->code == answer->code);
  // What is an answer stays one when more follows it, and a question is none.
  std::string longer(packet);
  longer += '\0';
  AUTOPILOT_ASSERT(host::parse_dns_answer(longer).has_value());
  AUTOPILOT_ASSERT(!host::parse_dns_answer(host::make_dns_question(host::DnsQuestion::root, answer->id)));
  return 0;
}

}  // namespace autopilot::dns_fuzz
