// SPDX-License-Identifier: Apache-2.0
#include "host/dns/name_servers.hpp"

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <sys/socket.h>
#include <thread>

#include "host/files/fd.hpp"
#include "tests/support/host/test_folder.hpp"

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

TEST(NoNameServers, are_not_supported) {
  EXPECT_EQ(NameServers::none().ask(MonoTime{}).error().code, Errc::unsupported);
}

using namespace std::string_literals;

// What a server sends for a question; nothing: it says nothing.
using Answering = std::function<std::optional<std::string>(const std::string& question)>;

bool wants_recursion(const std::string& question) {
  return (question.at(2) & 1) != 0;
}

constexpr std::size_t kVersionQuestion = 30;
constexpr std::size_t kStatusQuestion = 12;

// The question with the flags of an answer and a code.
std::string answer_to(std::string question, char code = 0) {
  question.at(2) = static_cast<char>(question.at(2) | '\x80');
  question.at(3) = code;
  return question;
}

// A name server on the loopback, in a thread of its own.
class Server {
 public:
  // Port 0: any. A stranger answers from another port than the one that is asked.
  Server(const std::string& address, std::uint16_t port, Answering answering, bool is_stranger = false)
      : answering_(std::move(answering)) {
    if (is_stranger) stranger_ = Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const bool is_ipv6 = address.find(':') != std::string::npos;
    sockaddr_storage own{};
    socklen_t size = 0;
    if (is_ipv6) {
      auto& to = reinterpret_cast<sockaddr_in6&>(own);
      to.sin6_family = AF_INET6;
      to.sin6_port = htons(port);
      ::inet_pton(AF_INET6, address.c_str(), &to.sin6_addr);
      size = sizeof(sockaddr_in6);
    } else {
      auto& to = reinterpret_cast<sockaddr_in&>(own);
      to.sin_family = AF_INET;
      to.sin_port = htons(port);
      ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
      size = sizeof(sockaddr_in);
    }
    Fd socket(::socket(own.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&own), size) != 0) return;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size);
    port_ = ntohs(is_ipv6 ? reinterpret_cast<sockaddr_in6&>(own).sin6_port
                          : reinterpret_cast<sockaddr_in&>(own).sin_port);
    socket_ = std::move(socket);
    thread_ = std::thread([this] { serve(); });
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    is_ending_ = true;
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] bool is_up() const { return static_cast<bool>(socket_); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // After the last question.
  [[nodiscard]] const std::vector<std::string>& questions() {
    is_ending_ = true;
    if (thread_.joinable()) thread_.join();
    return questions_;
  }

 private:
  void serve() {
    while (true) {
      if (!poll_until(socket_.get(), POLLIN, mono_now() + 5ms)) {
        if (is_ending_) return;
        continue;
      }
      std::array<char, 512> buffer{};
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      const ssize_t got = ::recvfrom(socket_.get(), buffer.data(), buffer.size(), 0,
                                     reinterpret_cast<sockaddr*>(&from), &size);
      if (got <= 0) continue;
      questions_.emplace_back(buffer.data(), static_cast<std::size_t>(got));
      if (const auto answer = answering_(questions_.back()))
        ::sendto(stranger_ ? stranger_.get() : socket_.get(), answer->data(), answer->size(), 0,
                 reinterpret_cast<sockaddr*>(&from), size);
    }
  }

  Answering answering_;
  Fd socket_;
  Fd stranger_;
  std::uint16_t port_ = 0;
  std::atomic<bool> is_ending_ = false;
  std::vector<std::string> questions_;
  std::thread thread_;
};

NameServerAnswer ask_one(const Server& server, Duration patience, const std::string& address = "127.0.0.1") {
  const std::vector<std::string> addresses{address};
  auto answers = ask_name_servers(addresses, server.port(), mono_now() + patience);
  EXPECT_TRUE(answers) << answers.error().what;
  return answers ? answers->at(0) : NameServerAnswer{};
}

// Long enough for a busy machine; whoever answers is not waited for.
constexpr Duration kPatience = 20s;
// Waited for to its end, and half of it is enough for an answer.
constexpr Duration kWhile = 2s;
// For those that never answer.
constexpr Duration kShort = 200ms;

TEST(AskNameServers, an_answer_is_told_with_its_code) {
  for (const char code : {'\0', '\2', '\3', '\5'}) {
    Server server("127.0.0.1", 0, [code](const std::string& question) { return answer_to(question, code); });
    ASSERT_TRUE(server.is_up());
    const auto answer = ask_one(server, kPatience);
    EXPECT_EQ(answer.outcome, NameServerOutcome::answered);
    EXPECT_EQ(answer.code, code);
    EXPECT_GT(answer.after, Duration{0});
    EXPECT_LT(answer.after, kPatience);
    ASSERT_EQ(server.questions().size(), 1U);
    EXPECT_TRUE(wants_recursion(server.questions()[0]));
    EXPECT_EQ(server.questions()[0].size(), 17U);
  }
}

TEST(AskNameServers, several_are_asked_at_once_and_each_gets_its_own_outcome) {
  Server good("127.0.0.1", 0, [](const std::string& question) { return answer_to(question); });
  ASSERT_TRUE(good.is_up());
  Server silent("127.0.0.2", good.port(), [](const std::string&) { return std::nullopt; });
  Server garbled("127.0.0.3", good.port(), [](const std::string&) { return "hello"s; });
  if (!silent.is_up() || !garbled.is_up()) GTEST_SKIP() << "the port is taken at 127.0.0.2 or 127.0.0.3";
  const std::vector<std::string> addresses{"127.0.0.2", "127.0.0.1", "127.0.0.3", "127.0.0.4"};
  const auto answers = ask_name_servers(addresses, good.port(), mono_now() + kWhile);
  ASSERT_TRUE(answers) << answers.error().what;
  ASSERT_EQ(answers->size(), 4U);
  EXPECT_EQ(answers->at(0).outcome, NameServerOutcome::silent);
  EXPECT_EQ(answers->at(1).outcome, NameServerOutcome::answered);
  EXPECT_EQ(answers->at(2).outcome, NameServerOutcome::malformed);
  EXPECT_EQ(answers->at(3).outcome, NameServerOutcome::closed);
  EXPECT_EQ(answers->at(3).address, "127.0.0.4");
}

TEST(AskNameServers, a_silent_one_is_asked_again_for_what_it_knows) {
  Server server("127.0.0.1", 0, [](const std::string&) { return std::nullopt; });
  ASSERT_TRUE(server.is_up());
  EXPECT_EQ(ask_one(server, kShort).outcome, NameServerOutcome::silent);
  const auto& questions = server.questions();
  ASSERT_EQ(questions.size(), 3U);
  EXPECT_TRUE(wants_recursion(questions[0]));
  EXPECT_EQ(questions[1].size(), kVersionQuestion);
  EXPECT_FALSE(wants_recursion(questions[1]));
  EXPECT_EQ(questions[2].size(), kStatusQuestion);
}

// dnsmasq passes on what it is not asked about itself, systemd-resolved refuses what wants no recursion.
TEST(AskNameServers, one_that_answers_only_about_itself_is_helpless) {
  for (const char code : {'\0', '\5'}) {
    Server server("127.0.0.1", 0, [code](const std::string& question) {
      return question.size() == kVersionQuestion ? std::optional(answer_to(question, code)) : std::nullopt;
    });
    ASSERT_TRUE(server.is_up());
    const auto answer = ask_one(server, kWhile);
    EXPECT_EQ(answer.outcome, NameServerOutcome::helpless);
    EXPECT_EQ(answer.code, code);
  }
}

// CoreDNS passes every question on; what is none it does not implement, or older ones do not understand.
TEST(AskNameServers, one_that_only_refuses_what_is_no_question_is_helpless) {
  for (const char code : {'\4', '\1'}) {
    Server server("127.0.0.1", 0, [code](std::string question) -> std::optional<std::string> {
      if (question.size() != kStatusQuestion) return std::nullopt;
      if (code == '\1') question.at(2) = 0;
      return answer_to(std::move(question), code);
    });
    ASSERT_TRUE(server.is_up());
    const auto answer = ask_one(server, kWhile);
    EXPECT_EQ(answer.outcome, NameServerOutcome::helpless);
    EXPECT_EQ(answer.code, code);
  }
}

TEST(AskNameServers, a_garbled_answer_about_the_root_is_none) {
  Server server("127.0.0.1", 0, [](const std::string& question) -> std::optional<std::string> {
    if (!wants_recursion(question)) return std::nullopt;
    return answer_to(question).substr(0, 14);
  });
  ASSERT_TRUE(server.is_up());
  EXPECT_EQ(ask_one(server, kShort).outcome, NameServerOutcome::malformed);
}

TEST(AskNameServers, the_first_answer_counts_also_after_the_second_question) {
  std::string first;
  Server server("127.0.0.1", 0, [&first](const std::string& question) -> std::optional<std::string> {
    if (wants_recursion(question)) {
      first = question;
      return std::nullopt;
    }
    if (question.size() != kVersionQuestion) return std::nullopt;
    return answer_to(first);
  });
  ASSERT_TRUE(server.is_up());
  const auto answer = ask_one(server, kWhile);
  EXPECT_EQ(answer.outcome, NameServerOutcome::answered);
  EXPECT_GE(answer.after, 1s);
}

TEST(AskNameServers, numbers_differ_and_a_wrong_one_is_no_answer) {
  std::set<std::string> numbers;
  for (int i = 0; i < 8; ++i) {
    Server server("127.0.0.1", 0, [](std::string question) {
      question.at(0) = static_cast<char>(question.at(0) ^ 1);
      return answer_to(std::move(question));
    });
    ASSERT_TRUE(server.is_up());
    EXPECT_EQ(ask_one(server, 20ms).outcome, NameServerOutcome::silent);
    for (const std::string& question : server.questions())
      numbers.insert(question.substr(0, 2));
  }
  // Two dozen numbers of 65,536: that half of them are the same is no chance.
  EXPECT_GT(numbers.size(), 12U);
}

TEST(AskNameServers, an_answer_from_another_port_is_none) {
  Server server(
      "127.0.0.1", 0, [](const std::string& question) { return answer_to(question); }, true);
  ASSERT_TRUE(server.is_up());
  EXPECT_EQ(ask_one(server, kShort).outcome, NameServerOutcome::silent);
  EXPECT_EQ(server.questions().size(), 3U);
}

TEST(AskNameServers, garbage_before_the_answer_does_no_harm) {
  int asked = 0;
  Server server("127.0.0.1", 0, [&asked](const std::string& question) -> std::optional<std::string> {
    return ++asked == 1 ? std::string(5000, 'x') : answer_to(question);
  });
  ASSERT_TRUE(server.is_up());
  EXPECT_EQ(ask_one(server, kWhile).outcome, NameServerOutcome::helpless);
}

TEST(AskNameServers, ipv6_too) {
  Server server("::1", 0, [](const std::string& question) { return answer_to(question); });
  if (!server.is_up()) GTEST_SKIP() << "this machine has no ::1";
  EXPECT_EQ(ask_one(server, kPatience, "::1").outcome, NameServerOutcome::answered);
  // The C library makes nothing of an interface where the address needs none.
  EXPECT_EQ(ask_one(server, kPatience, "::1%nosuchif0").outcome, NameServerOutcome::answered);
}

TEST(AskNameServers, one_that_the_kernel_knows_no_way_to_is_unreachable) {
  // A link-local address needs an interface, and one that is there.
  const std::vector<std::string> addresses{"fe80::1", "fe80::1%nosuchif0", "fe80::1%"};
  const auto answers = ask_name_servers(addresses, kDnsPort, mono_now() + kShort);
  ASSERT_TRUE(answers) << answers.error().what;
  for (const NameServerAnswer& answer : *answers)
    EXPECT_EQ(answer.outcome, NameServerOutcome::unreachable) << answer.address;
}

TEST(AskNameServers, a_deadline_that_has_passed_is_not_waited_for) {
  Server server("127.0.0.1", 0, [](const std::string&) { return std::nullopt; });
  ASSERT_TRUE(server.is_up());
  EXPECT_EQ(ask_one(server, -1s).outcome, NameServerOutcome::silent);
}

TEST(AskNameServers, nobody_is_asked_at_what_is_no_address) {
  const std::vector<std::string> addresses{"example"};
  EXPECT_EQ(ask_name_servers(addresses, kDnsPort, mono_now() + kShort).error().code, Errc::malformed);
  // Whether this machine has the interface is another question: a list may be that of another machine.
  for (const char* text : {"192.0.2.1", "::1", "fe80::1%lo", "2001:db8::53", "fe80::1%nosuchif0", "fe80::1%7",
                           "2001:db8::1%nosuchif0"})
    EXPECT_TRUE(is_internet_address(text)) << text;
  for (const char* text : {"", "example", "192.0.2.1:53", "192.0.2.300", "[::1]", "192.0.2.1%lo", "%lo"})
    EXPECT_FALSE(is_internet_address(text)) << text;
}

}  // namespace
}  // namespace autopilot::host
