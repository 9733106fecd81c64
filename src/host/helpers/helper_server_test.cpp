// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/helper_server.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::host {
namespace {

using Words = std::vector<std::string>;

TEST(HelperListening, is_a_place_and_those_who_may_ask) {
  const auto listening =
      parse_listening("helper", {"--allow-uid", "65532", "--listen", "/run/x.sock", "--allow-uid", "1"});
  ASSERT_TRUE(listening);
  EXPECT_EQ(listening->name, "helper");
  EXPECT_EQ(listening->path, "/run/x.sock");
  EXPECT_EQ(listening->allowed, (std::vector<uid_t>{65532, 1}));
  EXPECT_TRUE(parse_listening("helper", {"--listen", "/x"})->allowed.empty());
}

TEST(HelperListening, is_nothing_else) {
  for (const Words& words : {Words{},
                             {"--listen"},
                             {"--listen", ""},
                             {"--listen", "x.sock"},
                             {"--allow-uid", "1"},
                             {"/x"},
                             {"--listen", "/x", "--listen", "/y"},
                             {"--listen", "/x", "--allow-uid"},
                             {"--listen", "/x", "--allow-uid", "-1"},
                             {"--listen", "/x", "--allow-uid", "4294967296"},
                             {"--listen", "/x", "--allow-gid", "1"},
                             {"--listen", "/x", "y"}})
    EXPECT_FALSE(parse_listening("helper", words)) << ::testing::PrintToString(words);
}

TEST(HelperListening, has_a_limit_of_users) {
  Words words{"--listen", "/x"};
  for (std::size_t i = 0; i < HelperListening::kMaxAllowed; ++i)
    words.insert(words.end(), {"--allow-uid", std::to_string(i)});
  EXPECT_TRUE(parse_listening("helper", words));
  words.insert(words.end(), {"--allow-uid", "99"});
  EXPECT_FALSE(parse_listening("helper", words));
}

}  // namespace
}  // namespace autopilot::host
