// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/protobuf_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "host/kubelet/protobuf_message.hpp"

namespace autopilot::host {
namespace {

using testing::bytes_field;
using ::testing::ElementsAre;
using testing::number_field;
using testing::varint;

// "2=text", "3" for a number; "malformed" ends it.
std::vector<std::string> fields_of(std::string_view message) {
  ProtobufReader reader(message);
  std::vector<std::string> fields;
  while (true) {
    const auto field = reader.next();
    if (!field) {
      fields.emplace_back(to_string(field.error().code));
      return fields;
    }
    if (!*field) return fields;
    const ProtobufField& one = **field;
    fields.push_back(std::to_string(one.number) + (one.bytes ? "=" + std::string(*one.bytes) : ""));
  }
}

TEST(ProtobufReader, walks_over_every_kind_of_field) {
  const std::string eight = varint(4U << 3U | 1U) + std::string(8, 'x');
  const std::string four = varint(5U << 3U | 5U) + std::string(4, 'x');
  EXPECT_THAT(fields_of(bytes_field(2, "text") + number_field(3, std::numeric_limits<std::uint64_t>::max()) +
                        eight + four + bytes_field(536870911, "")),
              ElementsAre("2=text", "3", "4", "5", "536870911="));
  EXPECT_THAT(fields_of(""), ElementsAre());
}

TEST(ProtobufReader, refuses_what_is_no_message) {
  const std::vector<std::string> wrong = {
      varint(1U << 3U | 3U),  // a group begins
      varint(1U << 3U | 4U),  // or ends
      varint(1U << 3U | 6U),
      varint(1U << 3U | 7U),                        // no kind of field
      number_field(0, 1),                           // field 0
      varint(std::uint64_t{1} << 33U) + varint(0),  // a field beyond 2^29
      "\x08",                                       // no value
      "\x08\xff",                                   // half of one
      "\x08" + std::string(10, '\xff') + "\x01",    // of more than 64 bits
      "\x08" + std::string(9, '\xff') + "\x02",     // by one bit
      varint(1U << 3U | 1U) + "1234567",            // seven of eight bytes
      varint(1U << 3U | 5U) + "123",                // three of four
      varint(1U << 3U | 2U) + varint(5) + "text",   // longer than the rest
      varint(1U << 3U | 2U) + varint(std::numeric_limits<std::uint64_t>::max()) + "text",
  };
  for (const std::string& message : wrong)
    EXPECT_THAT(fields_of(message), ElementsAre("malformed")) << ::testing::PrintToString(message);
}

}  // namespace
}  // namespace autopilot::host
