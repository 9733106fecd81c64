// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/kmsg_helper.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <optional>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

#include "host/files/fd.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/helpers/message.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"
#include "host/process/child.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;

std::string with(const std::string& member, const std::string& value) {
  std::string text = R"({"records":[{)";
  for (const auto& [name, usual] : {std::pair<std::string, std::string>{"sequence", "1"},
                                    {"wall", "2"},
                                    {"mono", "3"},
                                    {"priority", "3"},
                                    {"facility", "0"},
                                    {"injected", "0"},
                                    {"lost", "0"},
                                    {"text", "\"x\""}}) {
    if (name == member && value.empty()) continue;
    if (text.back() != '{') text += ',';
    text += '"' + name + "\":" + (name == member ? value : usual);
  }
  return text + "}]}";
}

TEST(KmsgProtocol, a_record_survives_the_way) {
  SourcedRecord sourced{.record = {}, .lost_before = 7};
  sourced.record.sequence = std::uint64_t{1} << 62U | 5;  // of syslog(2)
  sourced.record.time = {WallTime(123456789ns), MonoTime(-5ns)};
  sourced.record.priority = 3;
  sourced.record.facility = 1;
  sourced.record.injected = true;
  sourced.record.text = "a \"quoted\" \\ text\n with \xc3\xa9 and \x01";
  std::size_t begin = 0;
  const auto records = parse_records(encode_records({sourced}, begin));
  ASSERT_TRUE(records) << records.error().what;
  ASSERT_EQ(records->size(), 1U);
  EXPECT_EQ(begin, 1U);
  const KernelRecord& record = records->front().record;
  EXPECT_EQ(records->front().lost_before, 7U);
  EXPECT_EQ(record.sequence, sourced.record.sequence);
  EXPECT_EQ(record.time.wall, sourced.record.time.wall);
  EXPECT_EQ(record.time.mono, sourced.record.time.mono);
  EXPECT_EQ(record.priority, 3);
  EXPECT_EQ(record.facility, 1);
  EXPECT_TRUE(record.verified);
  EXPECT_TRUE(record.injected);
  EXPECT_EQ(record.text, sourced.record.text);
}

TEST(KmsgProtocol, many_long_records_are_sent_in_several_frames) {
  SourcedRecord longest;
  longest.record.text = std::string(KernelRecord::kMaxText, '\x01');  // six bytes each
  const std::vector<SourcedRecord> all(RecordSource::kMaxBatch, longest);
  std::size_t begin = 0;
  std::size_t answers = 0;
  while (begin < all.size()) {
    const std::size_t before = begin;
    const std::string answer = encode_records(all, begin);
    EXPECT_LT(answer.size() + 1024, kMaxFrame);
    EXPECT_EQ(parse_records(answer)->size(), begin - before);
    ++answers;
  }
  EXPECT_GT(answers, 50U);
  EXPECT_TRUE(parse_records(encode_records(all, begin))->empty());
}

TEST(KmsgProtocol, refuses_what_is_no_record) {
  EXPECT_TRUE(parse_records(with("", "")));
  EXPECT_TRUE(parse_records(R"({"records":[]})"));
  for (const char* member :
       {"sequence", "wall", "mono", "priority", "facility", "injected", "lost", "text"}) {
    for (const char* value : {"", "null", "-1.5", "[]", "\"7\"", "18446744073709551615"}) {
      if (member == std::string_view("text") && value == std::string_view("\"7\"")) continue;
      EXPECT_EQ(parse_records(with(member, value)).error().code, Errc::malformed) << member << value;
    }
  }
  EXPECT_FALSE(parse_records(with("priority", "8")));
  EXPECT_FALSE(parse_records(with("priority", "-1")));
  EXPECT_FALSE(parse_records(with("facility", "8192")));
  EXPECT_FALSE(parse_records(with("injected", "2")));
  EXPECT_FALSE(parse_records(with("text", '"' + std::string(KernelRecord::kMaxText + 1, 'x') + '"')));
  EXPECT_FALSE(parse_records(with("text", "\"\xff\"")));
  for (const std::string_view text : {"", "7", "[]", "{}", R"({"records":7})", R"({"records":[7]})", "{\""})
    EXPECT_EQ(parse_records(text).error().code, Errc::malformed) << text;
  std::string many = R"({"records":[0)";
  for (std::size_t i = 0; i < RecordSource::kMaxBatch; ++i)
    many += ",0";
  EXPECT_EQ(parse_records(many + "]}").error().code, Errc::malformed);
}

TEST(KmsgProtocol, a_witness_is_a_short_word) {
  EXPECT_EQ(parse_witness(encode_witness("/dev/kmsg")).value(), "/dev/kmsg");
  for (const std::string& witness : {std::string(), std::string("a b"), std::string("a\nb"),
                                     std::string("\xc3\xa9"), std::string(65, 'x')})
    EXPECT_FALSE(parse_witness(encode_witness(witness))) << witness;
  EXPECT_FALSE(parse_witness("null"));
  EXPECT_FALSE(parse_witness(R"({"witness":7})"));
}

TEST(KmsgProtocol, patience_has_a_limit) {
  EXPECT_EQ(parse_patience(encode_patience(10s)).value(), 10s);
  EXPECT_FALSE(parse_patience(R"({"patienceMs":-1})"));
  EXPECT_FALSE(parse_patience(R"({"patienceMs":3600001})"));
  EXPECT_FALSE(parse_patience("{}"));
}

using ::testing::HasSubstr;

MonoTime soon() {
  return mono_now() + 30s;
}

Fd listen_on(const std::string& path, int type) {
  Fd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::listen(socket.get(), 16), 0);
  return socket;
}

// `autopilot helper kmsg` with a log in place of the machine's, which the test writes.
class FedHelper {
 public:
  explicit FedHelper(const std::string& log = "") : log_(log.empty() ? folder_.path() + "/log" : log) {
    feed_ = listen_on(folder_.path() + "/log", SOCK_SEQPACKET);
    start();
  }

  void start() {
    auto child = Child::start({.program = paths::fake("fake_helper"),
                               .arguments = {"kmsg", socket(), log_},
                               .environment = own_environment()},
                              {.output = -1, .errors = STDERR_FILENO, .extra = -1});
    ASSERT_TRUE(child) << child.error().what;
    child_ = std::make_unique<Child>(std::move(*child));
  }
  void signal(int number) const { child_->send_signal(number); }
  void kill() {
    child_->send_signal(SIGKILL);
    ASSERT_TRUE(child_->wait_until(soon()));
  }
  [[nodiscard]] std::optional<ChildStatus> end() {
    child_->send_signal(SIGTERM);
    return wait();
  }
  [[nodiscard]] std::optional<ChildStatus> wait() { return child_->wait_until(soon()); }
  [[nodiscard]] std::string socket() const { return folder_.path() + "/kmsg.sock"; }
  [[nodiscard]] Result<std::unique_ptr<HelperSource>> open() const {
    const MonoTime deadline = soon();
    while (true) {
      auto source = HelperSource::open(socket());
      if (source || source.error().code != Errc::unavailable || mono_now() > deadline) return source;
      std::this_thread::sleep_for(1ms);
    }
  }
  // The log that the helper opened last.
  [[nodiscard]] Fd log() const { return Fd(::accept4(feed_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

 private:
  TestFolder folder_;
  std::string log_;
  Fd feed_;
  std::unique_ptr<Child> child_;
};

void write_to(const Fd& log, const std::string& record) {
  EXPECT_EQ(::send(log.get(), record.data(), record.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(record.size()));
}

std::string line(std::uint64_t sequence, const std::string& text = "text") {
  return "3," + std::to_string(sequence) + ",5,-;" + text;
}

TEST(HelperSource, gives_the_records_that_the_helper_reads) {
  const FedHelper helper;
  const auto source = helper.open();
  ASSERT_TRUE(source) << source.error().what;
  EXPECT_EQ((*source)->witness(), "/dev/kmsg");
  const Fd log = helper.log();
  EXPECT_TRUE((*source)->next(Duration::zero())->empty());
  write_to(log, "4,10,5,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.");
  write_to(log, "12,13,5,-;NVRM: Xid (PCI:0000:3b:00): 79, forged");
  std::vector<SourcedRecord> all;
  for (const MonoTime deadline = soon(); all.size() < 2 && mono_now() < deadline;) {
    auto batch = (*source)->next(1h);
    ASSERT_TRUE(batch) << batch.error().what;
    std::move(batch->begin(), batch->end(), std::back_inserter(all));
  }
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].record.from_kernel());
  EXPECT_EQ(all[0].record.sequence, 10U);
  EXPECT_EQ(all[0].lost_before, 10U);
  EXPECT_EQ(all[0].record.text, "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.");
  EXPECT_FALSE(all[1].record.from_kernel());
  EXPECT_EQ(all[1].record.facility, 1);
  EXPECT_EQ(all[1].lost_before, 2U);
}

TEST(HelperSource, waits_no_longer_than_it_is_told) {
  const FedHelper helper;
  const auto source = helper.open();
  ASSERT_TRUE(source) << source.error().what;
  EXPECT_TRUE((*source)->next(10ms)->empty());
}

TEST(HelperSource, is_interrupted_while_it_waits) {
  const FedHelper helper;
  const auto source = helper.open();
  ASSERT_TRUE(source) << source.error().what;
  std::atomic<bool> has_returned{false};
  std::jthread reader([&] {
    const auto batch = (*source)->next(1h);
    EXPECT_TRUE(batch && batch->empty());
    has_returned = true;
  });
  EXPECT_FALSE(has_returned);
  (*source)->interrupt();
  reader.join();
  const auto batch = (*source)->next(1h);
  EXPECT_TRUE(batch && batch->empty());
}

TEST(HelperSource, says_what_the_helper_may_not) {
  const FedHelper helper("closed");
  const auto source = helper.open();
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, Errc::denied);
  EXPECT_EQ(source.error().what, "needs CAP_SYSLOG");
}

TEST(HelperSource, says_that_nobody_listens) {
  const TestFolder folder;
  EXPECT_EQ(HelperSource::open(folder.path() + "/none").error().code, Errc::unavailable);
  EXPECT_EQ(HelperSource::open(std::string(200, 'x')).error().code, Errc::malformed);
}

TEST(HelperSource, notices_a_helper_that_hangs) {
  const FedHelper helper;
  ASSERT_TRUE(helper.open());
  helper.signal(SIGSTOP);
  const auto source = HelperSource::open(helper.socket(), {.answer = 20ms, .patience = 20ms});
  EXPECT_EQ(source.error().code, Errc::timed_out);
  helper.signal(SIGCONT);
}

TEST(HelperSource, only_so_many_agents_are_served) {
  const FedHelper helper;
  std::vector<std::unique_ptr<HelperSource>> sources;
  for (std::size_t i = 0; i < HelperListening::kMaxAgents; ++i) {
    auto source = helper.open();
    ASSERT_TRUE(source) << source.error().what;
    sources.push_back(std::move(*source));
  }
  const auto refused = helper.open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::exhausted);
  sources.pop_back();
  const MonoTime deadline = soon();
  while (!helper.open() && mono_now() < deadline)
    std::this_thread::sleep_for(1ms);
  EXPECT_LT(mono_now(), deadline);
}

TEST(HelperSource, a_helper_that_is_ended_removes_its_socket_and_leaves_what_is_none) {
  FedHelper helper;
  ASSERT_TRUE(helper.open());
  EXPECT_EQ(to_string(helper.end().value_or(ChildStatus{.was_signalled = true})), "exit code 0");
  EXPECT_FALSE(std::filesystem::exists(helper.socket()));
  std::ofstream(helper.socket()) << "mine";
  helper.start();
  EXPECT_EQ(to_string(helper.wait().value_or(ChildStatus{.was_signalled = true})), "exit code 69");
  EXPECT_TRUE(std::filesystem::exists(helper.socket()));
}

// One that is killed is no witness any more; the next one goes on where it was, and tells nothing twice.
TEST(HelperSource, a_helper_that_comes_back_goes_on) {
  FedHelper helper;
  KernelLogTail tail(
      [&]() -> Result<std::unique_ptr<RecordSource>> {
        return std::unique_ptr<RecordSource>(TRY(HelperSource::open(helper.socket())));
      },
      {.first_retry = 1ms, .longest_retry = 1ms});
  const auto wait_for = [&](auto done) {
    auto records = tail.read(0, soon());
    for (const MonoTime deadline = soon(); !done(records) && mono_now() < deadline;
         records = tail.read(0, soon()))
      std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(done(records));
    return records;
  };
  {
    const Fd log = helper.log();
    for (std::uint64_t sequence = 0; sequence < 3; ++sequence)
      write_to(log, line(sequence));
    wait_for([](const auto& records) { return records && records->records.size() == 3; });
    helper.kill();
    const auto error = wait_for([](const auto& records) { return !records; }).error();
    EXPECT_EQ(error.code, Errc::unavailable);
    EXPECT_THAT(error.what, HasSubstr(helper.socket()));
  }
  helper.start();
  const Fd log = helper.log();
  for (std::uint64_t sequence = 1; sequence < 8; sequence += 2)
    write_to(log, line(sequence));
  const auto all = wait_for([](const auto& records) { return records && records->next == 8; });
  EXPECT_EQ(all->records.size(), 6U);  // 0, 1, 2, and then 3, 5, 7
  EXPECT_EQ(tail.counts().read, 6U);
}

class AnswerOfALyingHelper : public ::testing::TestWithParam<std::string> {};

TEST_P(AnswerOfALyingHelper, ends_the_source) {
  const TestFolder folder;
  const std::string path = folder.path() + "/kmsg.sock";
  const Fd listening = listen_on(path, SOCK_STREAM);
  std::jthread server([&] {
    const Fd agent(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::array<char, 4096> question{};
    const auto answer = [&](const std::string& bytes) {
      if (::recv(agent.get(), question.data(), question.size(), 0) > 0)
        static_cast<void>(::send(agent.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    };
    answer(encode_frame(R"({"version":1,"id":1,"result":{"witness":"/dev/kmsg"}})").value());
    answer(GetParam());
    static_cast<void>(::recv(agent.get(), question.data(), question.size(), 0));
  });
  auto source = HelperSource::open(path);
  ASSERT_TRUE(source) << source.error().what;
  const auto batch = (*source)->next(Duration::zero());
  EXPECT_FALSE(batch);
  EXPECT_EQ(batch.error().code, Errc::malformed);
  source->reset();
}

INSTANTIATE_TEST_SUITE_P(
    , AnswerOfALyingHelper,
    ::testing::Values(std::string(64, '\x7f'), encode_frame("hello").value(),
                      encode_frame(R"({"version":1,"id":9,"result":{"records":[]}})").value(),
                      encode_frame(R"({"version":2,"id":2,"result":{"records":[]}})").value(),
                      encode_frame(R"({"version":1,"id":0,"result":{"records":[]}})").value(),
                      encode_frame(R"({"version":1,"id":2,"result":{"records":[{"sequence":1}]}})").value(),
                      encode_frame(R"({"version":1,"id":2,"result":"nothing"})").value()));

}  // namespace
}  // namespace autopilot::host
