// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/communicator.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace autopilot::probes::gpu {
namespace {

TEST(UniqueId, every_byte_survives_as_text) {
  nccl::UniqueId id{};
  for (std::size_t i = 0; i < sizeof id.bytes; ++i)
    id.bytes[i] = static_cast<char>(i * 2 + 1);
  const std::string text = to_text(id);
  EXPECT_EQ(text.size(), 256U);
  EXPECT_EQ(text.substr(0, 6), "010305");
  const nccl::UniqueId back = parse_unique_id(text).value_or(nccl::UniqueId{});
  EXPECT_EQ(std::memcmp(back.bytes, id.bytes, sizeof id.bytes), 0);
}

TEST(UniqueId, upper_case_is_accepted) {
  const nccl::UniqueId id = parse_unique_id(std::string(256, 'F')).value_or(nccl::UniqueId{});
  EXPECT_EQ(id.bytes[127], '\xff');
}

TEST(UniqueId, anything_else_than_256_digits_is_refused) {
  for (const std::string& text :
       {std::string(), std::string(255, '0'), std::string(257, '0'), std::string(258, '0'),
        std::string(std::size_t{1} << 20, 'a'), std::string(256, '\0'), std::string(256, '\xff'),
        std::string(255, '0') + "g", " " + std::string(255, '0'), "0x" + std::string(254, '0'),
        "+" + std::string(255, '1'), "-1" + std::string(254, '1')})
    EXPECT_FALSE(parse_unique_id(text)) << text.size();
}

}  // namespace

}  // namespace autopilot::probes::gpu
