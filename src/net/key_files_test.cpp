// SPDX-License-Identifier: Apache-2.0
#include "net/key_files.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "net/tls.hpp"
#include "tests/support/net/test_programs.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::net {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::run_until;

class KeyFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_program("openssl")) GTEST_SKIP() << "openssl is not installed";
    certificates_.make_authority("ca");
    certificates_.make_node("node-1", "ca");
    certificates_.make_node("renewed", "ca");
    files_.certificate = certificates_.path("node-1.crt");
    files_.key = certificates_.path("node-1.key");
    files_.authorities = certificates_.path("ca.crt");
  }
  void watch() {
    const auto used = read_keys(files_, read());
    ASSERT_TRUE(used) << used.error().what;
    watched_.emplace(
        loop_, files_, read(), [](const std::function<void()>& task) { task(); }, *used,
        KeyFiles::Listener{
            [this](const KeyTexts& keys) -> Status {
              (void)TRY(TlsContext::make(TlsServerIdentity{keys.certificate, keys.key, keys.authorities}));
              ++used_;
              return {};
            },
            [this](const Error& why) { refused_.push_back(why.what); }},
        1ms);
  }
  [[nodiscard]] ReadFile read() {
    return [this](const std::string& path) -> Result<std::string> {
      ++reads_;
      std::ifstream file(path);
      if (!file) return fail(Errc::not_found, path + ": there is no such file");
      return std::string(std::istreambuf_iterator<char>(file), {});
    };
  }
  void replace(const std::string& name, const std::string& by) const {
    std::filesystem::rename(certificates_.path(by), certificates_.path(name));
  }
  // Until the files, as they are now, were looked at several times.
  void look_again() {
    const unsigned enough = reads_ + 20;
    EXPECT_TRUE(run_until(loop_, [&] { return reads_ >= enough; }));
  }

  testing::TestCertificates certificates_;
  net::EventLoop loop_;
  KeyPaths files_;
  unsigned reads_ = 0;
  int used_ = 0;
  std::vector<std::string> refused_;
  std::optional<KeyFiles> watched_;
};

TEST_F(KeyFilesTest, what_stays_as_it_is_is_no_news) {
  watch();
  look_again();
  EXPECT_EQ(used_, 0);
  EXPECT_THAT(refused_, IsEmpty());
  EXPECT_EQ(watched_->renewals().failed, 0U);
}

TEST_F(KeyFilesTest, renewed_files_are_used) {
  watch();
  replace("node-1.crt", "renewed.crt");
  replace("node-1.key", "renewed.key");
  EXPECT_TRUE(run_until(loop_, [&] { return used_ == 1; }));
  look_again();
  EXPECT_EQ(used_, 1);
}

TEST_F(KeyFilesTest, a_pair_that_does_not_fit_is_refused_once_and_counted_until_it_does) {
  watch();
  replace("node-1.crt", "renewed.crt");
  EXPECT_TRUE(run_until(loop_, [&] { return refused_.size() == 1; }));
  look_again();
  EXPECT_THAT(refused_, ElementsAre(HasSubstr("key of the server")));
  EXPECT_EQ(used_, 0);
  EXPECT_GT(watched_->renewals().failed, 1U);
  EXPECT_TRUE(watched_->renewals().is_failing);
  replace("node-1.key", "renewed.key");
  EXPECT_TRUE(run_until(loop_, [&] { return used_ == 1; }));
  EXPECT_FALSE(watched_->renewals().is_failing);
}

TEST_F(KeyFilesTest, a_file_that_is_gone_is_refused_once_and_again_when_it_goes_again) {
  watch();
  for (const std::size_t times : {1U, 2U}) {
    std::filesystem::rename(certificates_.path("ca.crt"), certificates_.path("away"));
    EXPECT_TRUE(run_until(loop_, [&] { return refused_.size() == times; }));
    look_again();
    EXPECT_EQ(refused_.size(), times);
    EXPECT_THAT(refused_.back(), HasSubstr("ca.crt"));
    replace("ca.crt", "away");
    look_again();
    EXPECT_FALSE(watched_->renewals().is_failing);
  }
  EXPECT_EQ(used_, 0);
}

}  // namespace
}  // namespace autopilot::net
