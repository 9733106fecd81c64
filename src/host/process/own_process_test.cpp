// SPDX-License-Identifier: Apache-2.0
#include "host/process/own_process.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <link.h>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "core/parse.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {
namespace {

std::int64_t resident_pages() {
  const auto text = Files().read("/proc/self/statm").value();
  return parse_number<std::int64_t>(split_words(text).at(1)).value_or(0);
}

TEST(Allocator, gives_back_what_lies_unused_between_blocks_in_use) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
#endif
  keep_allocator_small();
  std::vector<std::unique_ptr<std::string>> blocks;
  for (int i = 0; i < 4000; ++i)
    blocks.push_back(std::make_unique<std::string>(16 * 1024, 'x'));
  const auto last = std::move(blocks.back());  // on top of all others
  const std::int64_t full = resident_pages();
  blocks.clear();
  return_unused_memory();
  EXPECT_LT(resident_pages(), full / 2);
  EXPECT_EQ(last->size(), 16U * 1024U);
}

constexpr std::size_t kPage = 4096;

// Reads a byte of every page of the program's code. Between its constants are bytes that a sanitizer guards.
int touch_program(dl_phdr_info* program, std::size_t, void* sum) {
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const auto& part = program->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader tells numbers
    const auto* bytes = reinterpret_cast<const volatile std::uint8_t*>(program->dlpi_addr + part.p_vaddr);
    for (std::size_t at = 0; at < part.p_memsz; at += kPage)
      *static_cast<unsigned*>(sum) += bytes[at];
  }
  return 1;
}

unsigned touch_everything() {
  unsigned sum = 0;
  ::dl_iterate_phdr(touch_program, &sum);
  return sum;
}

// Pages of files in memory, of which the program is by far the most.
std::int64_t resident_pages_of_files() {
  const auto text = Files().read("/proc/self/statm").value();
  return parse_number<std::int64_t>(split_words(text).at(2)).value_or(0);
}

TEST(OwnCode, what_is_not_needed_is_no_longer_mapped_and_the_program_goes_on) {
  const unsigned sum = touch_everything();
  const std::int64_t all = resident_pages_of_files();
  unmap_own_code();
  EXPECT_LT(resident_pages_of_files(), all * 3 / 4);
  EXPECT_EQ(touch_everything(), sum);
}

constexpr uid_t kOwner = 65533;

// A folder of another user.
class OwnerOfAFile : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a folder to another user";
    std::string name = "/tmp/autopilot-owner-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ASSERT_EQ(::chown(folder_.c_str(), kOwner, kOwner), 0);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  // Writes `created` as a process that became the owner of `path`, or did not: "no", or the error.
  void write_as_owner_of(const std::string& path, const std::string& created, const std::string& answer) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto became = become_owner_of(path);
      const std::string found = became ? (*became ? "yes" : "no") : became.error().what;
      std::ofstream(created) << "x";
      // No way back.
      ::_exit(found == answer && (answer != "yes" || ::setuid(0) != 0) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "the child exits with 0 if the answer is " << answer;
  }
  static std::int64_t owner_of(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 ? std::int64_t{status.st_uid} : -1;
  }

  std::string folder_;
};

TEST_F(OwnerOfAFile, can_open_what_is_created_beside_it) {
  const std::string file = folder_ + "/history.db";
  write_as_owner_of(file, file, "yes");  // of the folder: the file is missing
  EXPECT_EQ(owner_of(file), kOwner);
  write_as_owner_of(file, file + "-wal", "yes");
  EXPECT_EQ(owner_of(file + "-wal"), kOwner);
  write_as_owner_of(folder_ + "/a/b/history.db", folder_ + "/lock", "yes");
  EXPECT_EQ(owner_of(folder_ + "/lock"), kOwner);
}

TEST_F(OwnerOfAFile, is_root_where_root_made_the_file) {
  const std::string file = folder_ + "/root.db";
  std::ofstream(file) << "x";
  write_as_owner_of(file, folder_ + "/beside", "no");
  EXPECT_EQ(owner_of(folder_ + "/beside"), 0);
}

TEST_F(OwnerOfAFile, is_not_root_for_a_link_of_another_user) {
  const std::string link = folder_ + "/link.db";
  std::filesystem::create_symlink("/etc/hostname", link);
  ASSERT_EQ(::lchown(link.c_str(), kOwner, kOwner), 0);
  write_as_owner_of(link, folder_ + "/beside", "yes");
  EXPECT_EQ(owner_of(folder_ + "/beside"), kOwner);
}

TEST_F(OwnerOfAFile, is_unknown_below_a_file) {
  std::ofstream(folder_ + "/file") << "x";
  write_as_owner_of(folder_ + "/file/history.db", folder_ + "/beside",
                    folder_ + "/file/history.db: Not a directory");
}

}  // namespace
}  // namespace autopilot::host
