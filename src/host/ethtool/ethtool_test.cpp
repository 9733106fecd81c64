// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/ethtool.hpp"

#include <gtest/gtest.h>

#include "host/ethtool/ethtool_netlink.hpp"
#include "host/ethtool/module_image.hpp"

namespace autopilot::host {
namespace {

TEST(PortText, is_read_back_as_it_was) {
  const EthtoolPort port{PortLink{"link_training_failed", "remote_fault", 3, 7},
                         PortFec{"rs", 18'446'744'073'709'551'615ULL, 0},
                         ModuleImage::qsfp_dd().memory().value()};
  const auto again = parse_ethtool_port(format_ethtool_port(port));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->link->reason, "link_training_failed");
  EXPECT_EQ(again->link->detail, "remote_fault");
  EXPECT_EQ(again->link->signal_quality, 3);
  EXPECT_EQ(again->link->signal_quality_max, 7);
  EXPECT_EQ(again->fec->mode, "rs");
  EXPECT_EQ(again->fec->corrected_blocks, 18'446'744'073'709'551'615ULL);
  EXPECT_EQ(again->fec->uncorrectable_blocks, 0U);
  EXPECT_EQ(again->module->parts, port.module->parts);
}

TEST(PortText, keeps_each_error_where_it_was) {
  ModuleMemory memory;
  memory.parts[{0x50, 0, 0}] = "abc";
  memory.problem = Error{Errc::unavailable, "50/00/3: Input/output error"};
  const EthtoolPort port{fail(Errc::unavailable, "a"), fail(Errc::unsupported, "b \"quoted\""), memory};
  const auto again = parse_ethtool_port(format_ethtool_port(port));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->link.error().what, "a");
  EXPECT_EQ(again->fec.error().code, Errc::unsupported);
  EXPECT_EQ(again->fec.error().what, "b \"quoted\"");
  ASSERT_TRUE(again->module->problem);
  EXPECT_EQ(again->module->problem->what, "50/00/3: Input/output error");
}

TEST(PortText, that_lies_is_malformed) {
  const std::string rest = R"("fec":{"mode":""},"module":{"parts":{}}})";
  EXPECT_TRUE(parse_ethtool_port(R"({"link":{"reason":"","detail":""},)" + rest));
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("{}"), std::string("{\"link\":"),
        "{\"link\":[]," + rest, "{\"link\":{\"reason\":7,\"detail\":\"\"}," + rest,
        "{\"link\":{\"reason\":\"" + std::string(65, 'x') + "\",\"detail\":\"\"}," + rest,
        "{\"link\":{\"error\":{\"code\":\"splendid\",\"what\":\"\"}}," + rest,
        "{\"link\":{\"reason\":\"\",\"detail\":\"\",\"signalQuality\":-1}," + rest,
        std::string(R"({"link":{"reason":"","detail":""},"fec":{"mode":"","correctedBlocks":1.5},)") +
            R"("module":{"parts":{}}})",
        std::string(
            R"({"link":{"reason":"","detail":""},"fec":{"mode":""},"module":{"parts":{"50/00/0":"0"}}})"),
        std::string(
            R"({"link":{"reason":"","detail":""},"fec":{"mode":""},"module":{"parts":{"50":"00"}}})")})
    EXPECT_EQ(parse_ethtool_port(text).error().code, Errc::malformed) << text;
  std::string many = R"({"link":{"reason":"","detail":""},"fec":{"mode":""},"module":{"parts":{)";
  for (int i = 0; i < 20; ++i)
    many += (i == 0 ? "\"50/00/" : ",\"50/00/") + std::to_string(i) + "\":\"00\"";
  EXPECT_FALSE(parse_ethtool_port(many + "}}}"));
}

TEST(LinkReasons, have_the_words_of_the_kernel) {
  EXPECT_EQ(link_reason(4), "no_cable");
  EXPECT_EQ(link_reason(3), "bad_signal_integrity");
  EXPECT_EQ(link_detail(1, 4), "remote_fault");
  EXPECT_EQ(link_detail(3, 4), "no_signal");
  EXPECT_EQ(link_detail(10, 1), "not_ready");
  EXPECT_EQ(link_detail(4, 0), "");
  EXPECT_EQ(link_reason(99), "99");
  EXPECT_EQ(link_detail(4, 3), "3");
  EXPECT_EQ(link_detail(99, 1), "1");
}

}  // namespace
}  // namespace autopilot::host
