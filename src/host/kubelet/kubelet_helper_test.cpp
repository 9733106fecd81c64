// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/kubelet_helper.hpp"

#include <csignal>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

#include "host/clock/system_clock.hpp"
#include "host/files/fd.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A machine whose socket has no listening program; the helpers are real processes.
class KubeletHelper : public ::testing::Test {
 protected:
  [[nodiscard]] Command helper(const std::string& kind) const {
    return {.program = paths::fake("fake_helper"),
            .arguments = {kind, "--root", folder_.path()},
            .environment = own_environment()};
  }
  void put_socket() const {
    const std::string path = folder_.path() + std::string(HelperKubelet::kSocket);
    folder_.write(std::string(HelperKubelet::kFolder) + "/other", "");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_LT(path.size(), sizeof(address.sun_path));
    std::memcpy(address.sun_path, path.data(), path.size());
    const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }

  const TestFolder folder_;
  const Files files_{folder_.path()};
  const SystemClock clock_;
};

// The clock of a machine tree with less uptime than this machine.
class YoungClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    const Instant now = system_.now();
    return {now.wall, now.mono - std::chrono::hours{1000}};
  }

 private:
  SystemClock system_;
};

TEST_F(KubeletHelper, understands_deadlines_of_another_clock) {
  put_socket();
  const YoungClock clock;
  const HelperKubelet kubelet(helper("kubelet"), clock, files_);
  EXPECT_EQ(kubelet.pod_resources(clock.now().mono + 20s).error().code, Errc::unavailable);
}

TEST_F(KubeletHelper, is_not_started_where_no_kubelet_is) {
  const HelperKubelet kubelet(helper("kubelet"), clock_, files_);
  EXPECT_EQ(kubelet.pod_resources(mono_now() + 20s).error().code, Errc::not_found);
  folder_.write("/var/lib/kubelet/pod-resources/other", "");
  EXPECT_EQ(kubelet.pod_resources(mono_now() + 20s).error().code, Errc::not_found);
  EXPECT_EQ(kubelet.stats().starts, 0U);
  EXPECT_THAT(kubelet.problem(), IsEmpty());
}

TEST_F(KubeletHelper, tells_that_nobody_answers_at_the_socket) {
  put_socket();
  const HelperKubelet kubelet(helper("kubelet"), clock_, files_);
  for (int i = 0; i < 2; ++i) {
    const auto resources = kubelet.pod_resources(mono_now() + 20s);
    ASSERT_FALSE(resources);
    EXPECT_EQ(resources.error().code, Errc::unavailable);
    EXPECT_THAT(kubelet.problem(), HasSubstr("kubelet.sock: no program accepts connections there"));
  }
  EXPECT_EQ(kubelet.stats().starts, 1U) << "the helper stays";
}

TEST_F(KubeletHelper, asks_nothing_but_a_socket_of_its_own_machine) {
  folder_.write(std::string(HelperKubelet::kSocket), "");
  const HelperKubelet file(helper("kubelet"), clock_, files_);
  EXPECT_EQ(file.pod_resources(mono_now() + 20s).error().code, Errc::malformed);
  // A symbolic link in a hostile tree.
  const TestFolder elsewhere;
  elsewhere.write("/kubelet.sock", "");
  const TestFolder tree;
  tree.link(std::string(HelperKubelet::kSocket), elsewhere.path() + "/kubelet.sock");
  const Files files(tree.path());
  Command command = helper("kubelet");
  command.arguments.back() = tree.path();
  const HelperKubelet link(std::move(command), clock_, files);
  EXPECT_EQ(link.pod_resources(mono_now() + 20s).error().code, Errc::not_found);
}

TEST_F(KubeletHelper, that_dies_or_lies_is_no_statement_about_the_kubelet) {
  put_socket();
  for (const auto& [kind, code] :
       {std::pair{"dies_at_once", Errc::internal}, {"lies_about_pods", Errc::malformed}}) {
    const HelperKubelet kubelet(helper(kind), clock_, files_);
    const auto resources = kubelet.pod_resources(mono_now() + 20s);
    ASSERT_FALSE(resources) << kind;
    EXPECT_EQ(resources.error().code, code) << kind;
    EXPECT_THAT(kubelet.problem(), HasSubstr("kubelet helper")) << kind;
  }
}

TEST_F(KubeletHelper, that_hangs_costs_no_more_than_the_deadline) {
  put_socket();
  const HelperKubelet kubelet(helper("hangs_about_pods"), clock_, files_);
  EXPECT_EQ(kubelet.pod_resources(mono_now() + 100ms).error().code, Errc::timed_out);
}

TEST_F(KubeletHelper, knows_its_words) {
  EXPECT_EQ(run_kubelet_helper(-1, {"--socket", "/x"}), 64);
  EXPECT_EQ(run_kubelet_helper(-1, {"--root"}), 64);
  EXPECT_EQ(run_kubelet_helper(-1, {"--root", "/x", "--listen"}), 64);
  EXPECT_EQ(run_kubelet_helper(-1, {"--listen", "/x", "--root", "/x"}), 64);
}

// A helper of another user, behind a socket.
class ListeningKubeletHelper : public KubeletHelper {
 protected:
  void start() {
    Command command = helper("kubelet");
    command.arguments.insert(command.arguments.end(), {"--listen", socket()});
    auto child = Child::start(command, {.output = -1, .errors = STDERR_FILENO, .extra = -1});
    ASSERT_TRUE(child) << child.error().what;
    child_ = std::make_unique<Child>(std::move(*child));
  }
  void end() {
    child_->send_signal(SIGTERM);
    ASSERT_TRUE(child_->wait_until(mono_now() + 20s));
  }
  [[nodiscard]] std::string socket() const { return folder_.path() + "/helper.sock"; }
  // The first error that contains `wanted`, or the last one at the deadline.
  static std::string words_of(const Kubelet& kubelet, const std::string& wanted) {
    const MonoTime deadline = mono_now() + 20s;
    while (true) {
      std::string words = kubelet.pod_resources(mono_now() + 20s).error().what;
      if (words.find(wanted) != std::string::npos || mono_now() > deadline) return words;
      std::this_thread::sleep_for(1ms);
    }
  }

  std::unique_ptr<Child> child_;
};

TEST_F(ListeningKubeletHelper, is_asked_in_place_of_one_of_our_own) {
  const HelperKubelet kubelet(helper("dies_at_once"), clock_, files_, socket());
  EXPECT_EQ(kubelet.pod_resources(mono_now() + 20s).error().code, Errc::unavailable);
  EXPECT_THAT(kubelet.problem(), HasSubstr(socket() + ": no helper listens there"));
  start();
  EXPECT_THAT(words_of(kubelet, "kubelet.sock"), HasSubstr(HelperKubelet::kSocket));
  EXPECT_EQ(kubelet.pod_resources(mono_now() + 20s).error().code, Errc::not_found) << "no kubelet here";
  EXPECT_THAT(kubelet.problem(), IsEmpty());
  end();
  EXPECT_EQ(kubelet.pod_resources(mono_now() + 20s).error().code, Errc::unavailable);
  put_socket();
  start();
  EXPECT_THAT(words_of(kubelet, "no program accepts"),
              HasSubstr("kubelet.sock: no program accepts connections there"));
  EXPECT_THAT(kubelet.problem(), HasSubstr("no program accepts connections there"));
  EXPECT_EQ(kubelet.stats().starts, 0U);
}

TEST_F(ListeningKubeletHelper, that_hangs_costs_no_more_than_the_deadline) {
  start();
  const HelperKubelet kubelet(helper("dies_at_once"), clock_, files_, socket());
  EXPECT_THAT(words_of(kubelet, "kubelet.sock"), HasSubstr(HelperKubelet::kSocket));
  child_->send_signal(SIGSTOP);
  EXPECT_EQ(kubelet.pod_resources(mono_now() + 100ms).error().code, Errc::timed_out);
  EXPECT_THAT(kubelet.problem(), HasSubstr("kubelet helper at " + socket()));
  child_->send_signal(SIGCONT);
  EXPECT_THAT(words_of(kubelet, "kubelet.sock"), HasSubstr(HelperKubelet::kSocket));
}

TEST(Kubelet, of_a_machine_without_one_is_not_there) {
  EXPECT_EQ(Kubelet::none().pod_resources({}).error().code, Errc::not_found);
}

}  // namespace
}  // namespace autopilot::host
