// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::host {

// All that is ever asked. Why: docs/adr/0013.
enum class DnsQuestion : std::uint8_t {
  root,     // the servers of the root: "." NS IN, recursion desired; 17 bytes
  version,  // what runs there: "version.bind" TXT CH, without recursion; 30 bytes
  status,   // the operation of that name and nothing else, which no server implements; 12 bytes
};

[[nodiscard]] std::string make_dns_question(DnsQuestion question, std::uint16_t id);

struct DnsAnswer {
  std::uint16_t id = 0;
  int code = 0;               // 0..15
  bool is_truncated = false;  // the server had more to say than fits
};

// Longer ones are not read: without EDNS a server sends 512 bytes at most.
inline constexpr std::size_t kMaxDnsAnswer = 4096;

// Pure. The head alone, whatever was asked. malformed: no whole one, or not that of an answer.
[[nodiscard]] Result<DnsAnswer> parse_dns_head(std::string_view packet);
// Pure. malformed: not an answer to the question about the root, or an answer that ends inside of a record.
// A refusal may leave the question out; an answer with the truncation bit may end anywhere behind it.
[[nodiscard]] Result<DnsAnswer> parse_dns_answer(std::string_view packet);

}  // namespace autopilot::host
