// SPDX-License-Identifier: Apache-2.0
#include "kube/base64.hpp"

#include <gtest/gtest.h>
#include <utility>

namespace autopilot::kube {
namespace {

TEST(Base64, agrees_with_the_examples_of_its_specification) {
  for (const auto& [bytes, text] :
       std::initializer_list<std::pair<std::string, std::string>>{{"", ""},
                                                                  {"f", "Zg=="},
                                                                  {"fo", "Zm8="},
                                                                  {"foo", "Zm9v"},
                                                                  {"foob", "Zm9vYg=="},
                                                                  {"fooba", "Zm9vYmE="},
                                                                  {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes);
  }
}

TEST(Base64, gives_every_byte_back) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    all += static_cast<char>(byte);
  for (std::size_t size = 0; size <= all.size(); ++size)
    EXPECT_EQ(decode_base64(encode_base64(all.substr(0, size))), all.substr(0, size));
}

TEST(Base64, takes_text_that_was_broken_into_lines) {
  EXPECT_EQ(decode_base64("Zm9v\r\n  YmFy\n"), "foobar");
}

TEST(Base64, refuses_what_is_none) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "Zm9v=", "=", "====", "Zm9vZ===", "Zg==Zg==", "Zm-_",
                           "Zh==", "Zm9=", "-----BEGIN CERTIFICATE-----"})
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace autopilot::kube
