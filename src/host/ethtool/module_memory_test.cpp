// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/module_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

#include "host/ethtool/module_image.hpp"

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;

struct Asked {
  ModulePlace place;
  std::size_t size;
};

std::vector<Asked> questions_to(const ModuleImage& image) {
  std::vector<Asked> asked;
  const auto memory = read_module_memory([&](const ModulePlace& place, std::size_t size) {
    asked.push_back({place, size});
    return image.read(place, size);
  });
  EXPECT_TRUE(memory && !memory->problem);
  return asked;
}

// Bytes whose reading clears them, or that say whose module it is.
bool touches(const Asked& asked, std::uint8_t address, std::uint8_t page, unsigned first, unsigned last) {
  return asked.place.i2c_address == address && asked.place.page == page && asked.place.offset <= last &&
         asked.place.offset + asked.size > first;
}

TEST(ModuleMemory, of_an_sfp_is_read_without_its_flags_and_its_serial_number) {
  const auto asked = questions_to(ModuleImage::sfp28());
  EXPECT_EQ(asked.size(), 5U);
  for (const Asked& one : asked) {
    EXPECT_FALSE(touches(one, 0x51, 0, 110, 117)) << to_string(one.place);
    EXPECT_FALSE(touches(one, 0x50, 0, 68, 91)) << to_string(one.place);
  }
}

TEST(ModuleMemory, of_a_qsfp_is_read_without_its_flags_and_its_serial_number) {
  const auto asked = questions_to(ModuleImage::qsfp28());
  EXPECT_EQ(asked.size(), 5U);
  for (const Asked& one : asked) {
    EXPECT_FALSE(touches(one, 0x50, 0, 3, 21)) << to_string(one.place);
    EXPECT_FALSE(touches(one, 0x50, 0, 196, 219)) << to_string(one.place);
  }
}

TEST(ModuleMemory, of_cmis_is_read_without_its_flags_and_its_serial_number) {
  const auto asked = questions_to(ModuleImage::qsfp_dd());
  EXPECT_EQ(asked.size(), 10U);
  for (const Asked& one : asked) {
    EXPECT_FALSE(touches(one, 0x50, 0, 8, 13)) << to_string(one.place);
    EXPECT_FALSE(touches(one, 0x50, 0x11, 134, 153)) << to_string(one.place);
    EXPECT_FALSE(touches(one, 0x50, 0, 166, 189)) << to_string(one.place);
  }
}

TEST(ModuleMemory, is_asked_only_as_the_kernel_allows) {
  for (const ModuleImage& image : {ModuleImage::sfp28(), ModuleImage::qsfp28(), ModuleImage::qsfp_dd()})
    for (const Asked& one : questions_to(image)) {
      EXPECT_LE(one.size, ModuleMemory::kMaxPart);
      EXPECT_TRUE(one.place.offset >= 128 || one.place.offset + one.size <= 128) << to_string(one.place);
      EXPECT_LE(one.place.offset + one.size, 256U);
      EXPECT_TRUE(one.place.page == 0 || one.place.offset >= 128) << to_string(one.place);
    }
}

TEST(ModuleMemory, without_pages_is_not_asked_for_them) {
  ModuleImage qsfp = ModuleImage::qsfp28();
  qsfp.set({0x50, 0, 2}, 0x04);
  for (const Asked& one : questions_to(qsfp))
    EXPECT_EQ(one.place.page, 0);
  ModuleImage cmis = ModuleImage::qsfp_dd();
  cmis.set({0x50, 0, 2}, 0x80);
  for (const Asked& one : questions_to(cmis))
    EXPECT_EQ(one.place.page, 0);
  ModuleImage sfp = ModuleImage::sfp28();
  sfp.set({0x50, 0, 92}, 0);
  for (const Asked& one : questions_to(sfp))
    EXPECT_EQ(one.place.i2c_address, 0x50);
}

TEST(ModuleMemory, keeps_what_came_before_a_part_that_cannot_be_read) {
  const ModuleImage image = ModuleImage::qsfp28();
  const auto memory = read_module_memory([&](const ModulePlace& place, std::size_t size) {
    return place.page == 3 ? fail(Errc::unsupported, "no such page") : image.read(place, size);
  });
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->parts.size(), 4U);
  ASSERT_TRUE(memory->problem);
  EXPECT_EQ(memory->problem->what, "50/03/128: no such page");
}

TEST(ModuleMemory, of_which_nothing_can_be_read_is_an_error) {
  const auto memory = read_module_memory(
      [](const ModulePlace&, std::size_t) { return fail(Errc::denied, "needs CAP_NET_ADMIN"); });
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, Errc::denied);
  const auto cut = read_module_memory(
      [](const ModulePlace&, std::size_t) -> Result<std::string> { return std::string("\x03"); });
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().what, HasSubstr("1 bytes, not 3"));
}

TEST(ModuleMemory, finds_bytes_inside_one_part_only) {
  ModuleMemory memory;
  memory.parts[{0x50, 0, 128}] = "abcdef";
  memory.parts[{0x50, 3, 128}] = "xyz";
  EXPECT_EQ(memory.find({0x50, 0, 130}, 2), "cd");
  EXPECT_EQ(memory.find({0x50, 3, 128}, 3), "xyz");
  EXPECT_FALSE(memory.find({0x50, 0, 130}, 5));
  EXPECT_FALSE(memory.find({0x50, 0, 0}, 1));
  EXPECT_FALSE(memory.find({0x50, 0, 200}, 1));
  EXPECT_FALSE(memory.find({0x51, 0, 128}, 1));
  EXPECT_FALSE(memory.find({0x50, 1, 128}, 1));
}

TEST(ModulePlaces, have_a_spelling) {
  EXPECT_EQ(to_string(ModulePlace{0x50, 0x11, 154}), "50/11/154");
  EXPECT_EQ(parse_module_place("50/11/154"), (ModulePlace{0x50, 0x11, 154}));
  for (const char* text : {"", "50/11", "50/11/256", "5/1/1", "50/111/1", "zz/00/1", "50/00/-1", "50/00/1/2"})
    EXPECT_FALSE(parse_module_place(text)) << text;
}

}  // namespace
}  // namespace autopilot::host
