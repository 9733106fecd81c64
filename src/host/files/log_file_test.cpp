// SPDX-License-Identifier: Apache-2.0
#include "host/files/log_file.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host::log_file_test {
namespace {

void append(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

std::string read_all(LogFile& file) {
  return file.read_new(1 << 20, 4 << 20).value_or(LogFile::Piece{"error", false, 0}).bytes;
}

TEST(LogFile, what_is_appended_is_read_once) {
  const TestFolder folder;
  folder.write("/log", "old\n");
  auto file = LogFile::open(folder / "log");
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->start_before_end(1024));
  EXPECT_EQ(read_all(*file), "old\n");
  EXPECT_EQ(read_all(*file), "");
  append(folder / "log", "new\n");
  EXPECT_EQ(read_all(*file), "new\n");
}

TEST(LogFile, a_long_file_is_read_from_before_its_end) {
  const TestFolder folder;
  folder.write("/log", std::string(100, 'a') + "end");
  auto file = LogFile::open(folder / "log");
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->start_before_end(5));
  EXPECT_EQ(read_all(*file), "aaend");
  EXPECT_EQ(file->read_end(3).value_or(""), "end");
}

TEST(LogFile, a_rotated_file_is_read_to_its_end_and_the_next_one_from_its_beginning) {
  const TestFolder folder;
  folder.write("/log", "1\n");
  auto file = LogFile::open(folder / "log");
  ASSERT_TRUE(file);
  EXPECT_EQ(read_all(*file), "1\n");
  append(folder / "log", "2\n");
  std::filesystem::rename(folder / "log", folder / "log.20260101");
  folder.write("/log", "3\n");
  EXPECT_EQ(read_all(*file), "2\n");
  const auto piece = file->read_new(1024, 4096);
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->bytes, "3\n");
  EXPECT_TRUE(piece->is_new_file);
}

TEST(LogFile, a_cut_file_is_read_from_its_beginning) {
  const TestFolder folder;
  folder.write("/log", "long line\n");
  auto file = LogFile::open(folder / "log");
  ASSERT_TRUE(file);
  EXPECT_EQ(read_all(*file), "long line\n");
  folder.write("/log", "cut\n");
  const auto piece = file->read_new(1024, 4096);
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->bytes, "cut\n");
  EXPECT_TRUE(piece->is_new_file);
}

TEST(LogFile, a_file_that_grows_too_fast_is_followed_at_its_end) {
  const TestFolder folder;
  folder.write("/log", "");
  auto file = LogFile::open(folder / "log");
  ASSERT_TRUE(file);
  append(folder / "log", std::string(5000, 'x') + "end");
  const auto piece = file->read_new(1000, 4000);
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->bytes.size(), 1000U);
  EXPECT_TRUE(piece->bytes.ends_with("end"));
  EXPECT_EQ(piece->skipped, 4003U);
}

TEST(LogFile, a_pipe_is_refused_and_never_waited_for) {
  const TestFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto file = LogFile::open(folder / "pipe");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::unsupported);
  EXPECT_EQ(LogFile::open(folder / "none").error().code, Errc::not_found);
}

TEST(LogFile, a_deleted_file_can_be_read_to_its_end) {
  const TestFolder folder;
  folder.write("/log", "last words");
  auto file = LogFile::open(folder / "log");
  ASSERT_TRUE(file);
  std::filesystem::remove(folder / "log");
  EXPECT_EQ(read_all(*file), "last words");
  EXPECT_EQ(read_all(*file), "");
  EXPECT_EQ(file->read_end(5).value_or(""), "words");
}

}  // namespace
}  // namespace autopilot::host::log_file_test
