// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host/helpers/message.hpp"
#include "host/kernel_log/kmsg_helper.hpp"
#include "host/process_helper/process_helper.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::frame_fuzz {

// Bytes of a lying helper or agent: frames out of any pieces, messages out of any body.
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(host::decode_answer(bytes));
  static_cast<void>(host::decode_request(bytes));
  static_cast<void>(host::parse_witness(bytes));
  static_cast<void>(host::parse_patience(bytes));
  static_cast<void>(host::parse_process_start(bytes));
  static_cast<void>(host::parse_io(bytes));
  if (const auto facts = host::parse_facts(bytes))
    AUTOPILOT_ASSERT(host::parse_facts(host::encode_facts(*facts)).has_value());
  if (const auto records = host::parse_records(bytes); records && !records->empty()) {
    std::size_t begin = 0;
    const auto again = host::parse_records(host::encode_records(*records, begin));
    AUTOPILOT_ASSERT(again.has_value() && again->size() == begin);
  }
  const std::size_t piece = size == 0 ? 1 : 1 + data[0] % 16;
  host::FrameReader reader;
  for (std::size_t at = 0; at < size; at += piece) {
    reader.add(bytes.substr(at, piece));
    while (true) {
      const auto body = reader.next();
      if (!body) return 0;
      if (!*body) break;
      if (const auto answer = host::decode_answer(**body); answer && answer->result)
        AUTOPILOT_ASSERT(host::decode_answer(host::encode_answer(*answer)).has_value());
      if (const auto request = host::decode_request(**body))
        AUTOPILOT_ASSERT(host::decode_request(host::encode_request(*request)).has_value());
    }
  }
  return 0;
}

}  // namespace autopilot::frame_fuzz
