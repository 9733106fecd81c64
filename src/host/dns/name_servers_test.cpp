// SPDX-License-Identifier: Apache-2.0
#include "host/dns/name_servers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/dns/name_server_doors.hpp"
#include "host/files/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class NameServersOfTheFile : public ::testing::Test {
 protected:
  NameServerList list(const std::string& text) {
    folder_.write("/etc/resolv.conf", text);
    return read_name_servers(files_).value();
  }

  TestFolder folder_;
  Files files_{folder_.path()};
};

TEST_F(NameServersOfTheFile, are_the_first_three_addresses_each_once) {
  EXPECT_THAT(list("nameserver 192.0.2.1\nnameserver example\nnameserver 192.0.2.1\nnameserver 2001:db8::1\n"
                   "nameserver 192.0.2.4\n")
                  .addresses,
              ElementsAre("192.0.2.1", "2001:db8::1"));
  EXPECT_THAT(list("nameserver 127.0.0.53\noptions edns0\n").addresses, ElementsAre("127.0.0.53"));
}

TEST_F(NameServersOfTheFile, do_not_depend_on_the_interfaces_of_who_reads_it) {
  EXPECT_THAT(list("nameserver fe80::1%nosuchif0\nnameserver 2001:db8::1%nosuchif0\n").addresses,
              ElementsAre("fe80::1%nosuchif0", "2001:db8::1%nosuchif0"));
}

TEST_F(NameServersOfTheFile, stand_at_the_beginning_of_a_line) {
  EXPECT_THAT(list(" nameserver 192.0.2.1\nnameserver 192.0.2.2\n").addresses, ElementsAre("192.0.2.2"));
}

TEST_F(NameServersOfTheFile, is_this_machine_where_it_names_none) {
  const auto missing = read_name_servers(files_);
  ASSERT_TRUE(missing) << missing.error().what;
  EXPECT_FALSE(missing->is_configured);
  EXPECT_THAT(missing->addresses, ElementsAre("127.0.0.1"));
  for (const char* text : {"", "search example\n", "nameserver\n", "nameserver example\n"}) {
    EXPECT_FALSE(list(text).is_configured) << text;
    EXPECT_THAT(list(text).addresses, ElementsAre("127.0.0.1")) << text;
  }
}

TEST(NameServerOutcomes, have_a_word_each) {
  for (const char* word :
       {"answered", "helpless", "silent", "closed", "malformed", "unreachable", "denied"}) {
    const auto outcome = parse_name_server_outcome(word);
    ASSERT_TRUE(outcome) << word;
    EXPECT_EQ(to_string(*outcome), word);
  }
  EXPECT_FALSE(parse_name_server_outcome(""));
}

TEST(DnsCodes, have_the_names_of_the_specification) {
  EXPECT_EQ(dns_code_name(0), "NOERROR");
  EXPECT_EQ(dns_code_name(kServerFailure), "SERVFAIL");
  EXPECT_EQ(dns_code_name(5), "REFUSED");
  EXPECT_EQ(dns_code_name(11), "11");
  EXPECT_EQ(dns_code_name(-1), "-1");
}

class NameServersOfATree : public ::testing::Test {
 protected:
  Result<NameServersSeen> ask(const std::string& answers) {
    folder_.write("/machine.yaml",
                  "schema: autopilot.machine/v1\nnode: n\nboot_id: b\ntime: 2026-01-15T08:00:00Z\n"
                  "uptime: 1h\nsimulated: true\n" +
                      answers);
    const auto tree = TRY(MachineTreeFile::open(folder_.path()));
    const Files files(tree->read().value()->root());
    return TreeNameServers(files, *tree).ask(MonoTime{});
  }

  TestFolder folder_;
};

TEST_F(NameServersOfATree, are_those_of_its_list_with_the_answers_of_its_machine) {
  folder_.write("/root/etc/resolv.conf", "nameserver 192.0.2.53\nnameserver ::1\n");
  const auto seen =
      ask("name_servers:\n"
          "  192.0.2.53: {outcome: answered, code: 5, milliseconds: 1.5}\n"
          "  \"::1\": {outcome: closed}\n"
          "  192.0.2.99: {outcome: silent}\n");
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_TRUE(seen->is_configured);
  ASSERT_EQ(seen->answers.size(), 2U);
  EXPECT_EQ(seen->answers[0].address, "192.0.2.53");
  EXPECT_EQ(seen->answers[0].code, 5);
  EXPECT_EQ(seen->answers[0].after, 1500us);
  EXPECT_EQ(seen->answers[1].outcome, NameServerOutcome::closed);
}

TEST_F(NameServersOfATree, that_it_says_nothing_of_are_not_guessed) {
  const auto seen = ask("");
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, Errc::unavailable);
  EXPECT_THAT(seen.error().what, HasSubstr("says nothing of the name server 127.0.0.1"));
}

TEST_F(NameServersOfATree, are_read_strictly) {
  EXPECT_THAT(ask("name_servers: {192.0.2.1: {outcome: shy}}\n").error().what, HasSubstr("`shy`"));
  EXPECT_THAT(ask("name_servers: {192.0.2.1: {code: 0}}\n").error().what,
              HasSubstr("192.0.2.1: `outcome` is missing"));
  EXPECT_THAT(ask("name_servers: {192.0.2.1: {outcome: silent, milliseconds: -1}}\n").error().what,
              HasSubstr("`milliseconds` is out of range"));
}

TEST(NoNameServers, are_not_supported) {
  EXPECT_EQ(NameServers::none().ask(MonoTime{}).error().code, Errc::unsupported);
}

}  // namespace
}  // namespace autopilot::host
