// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/helper_server.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "host/helpers/helper_client.hpp"
#include "host/helpers/message.hpp"
#include "tests/support/host/test_folder.hpp"

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

// Answers one request, and ends a while after its agent.
int linger(int agent) {
  const std::string frame = encode_frame(encode_answer({.id = 1, .result = "null"})).value();
  char byte = 0;
  if (::read(agent, &byte, 1) != 1) return 1;
  if (::send(agent, frame.data(), frame.size(), MSG_NOSIGNAL) < 0) return 1;
  while (::read(agent, &byte, 1) > 0) {
  }
  std::this_thread::sleep_for(std::chrono::milliseconds{30});
  return 0;
}

class ListeningHelper : public ::testing::Test {
 protected:
  void SetUp() override {
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) ::_exit(listen_for_agents({.name = "helper", .path = socket(), .allowed = {}}, linger));
    const MonoTime deadline = mono_now() + std::chrono::seconds{20};
    while (!connect_to_helper(socket()) && mono_now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  void TearDown() override {
    ::kill(child_, SIGTERM);
    int status = -1;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    EXPECT_EQ(status, 0);
  }
  [[nodiscard]] std::string socket() const { return folder_.path() + "/helper.sock"; }
  [[nodiscard]] HelperStream connect() const {
    return {"helper", connect_to_helper(socket()).value_or(Fd())};
  }
  static HelperResult ask(HelperStream& stream) {
    return stream.exchange("any", "null", mono_now() + std::chrono::seconds{20});
  }

  const TestFolder folder_;
  pid_t child_ = -1;
};

TEST_F(ListeningHelper, answers_a_burst_of_short_connections) {
  for (std::size_t i = 0; i < HelperListening::kMaxAgents * 4; ++i) {
    HelperStream stream = connect();
    const auto answer = ask(stream);
    ASSERT_TRUE(answer) << i << ": " << answer.error().error.what;
  }
}

TEST_F(ListeningHelper, states_that_too_many_are_connected) {
  std::vector<HelperStream> agents;
  for (std::size_t i = 0; i < HelperListening::kMaxAgents; ++i) {
    agents.push_back(connect());
    const auto answer = ask(agents.back());
    ASSERT_TRUE(answer) << i << ": " << answer.error().error.what;
  }
  HelperStream further = connect();
  EXPECT_EQ(ask(further).error().error.code, Errc::exhausted);
  agents.clear();
  HelperStream later = connect();
  EXPECT_TRUE(ask(later));
}

}  // namespace
}  // namespace autopilot::host
