// SPDX-License-Identifier: Apache-2.0
#include "host/files/files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <thread>
#include <unistd.h>

#include "tests/support/host/fuse_server.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FilesOfTree : public ::testing::Test {
 protected:
  TestFolder folder_;
  Files files_{folder_.path()};
};

TEST_F(FilesOfTree, reads_a_file_below_the_root) {
  folder_.write("/sys/class/a/value", "12\n");
  EXPECT_EQ(files_.read("/sys/class/a/value").value(), "12\n");
  EXPECT_EQ(files_.read_word("/sys/class/a/value").value(), "12");
  EXPECT_EQ(files_.read_integer("/sys/class/a/value").value(), 12);
  EXPECT_TRUE(files_.is_tree());
}

TEST_F(FilesOfTree, says_what_kind_of_problem_it_met) {
  folder_.write("/value", "12x");
  std::filesystem::create_directory(folder_.path() + "/folder");
  EXPECT_EQ(files_.read("/missing").error().code, Errc::not_found);
  EXPECT_THAT(files_.read("/missing").error().what, HasSubstr("/missing"));
  EXPECT_EQ(files_.read("/value/below").error().code, Errc::not_found);
  EXPECT_EQ(files_.read("/folder").error().code, Errc::malformed);
  EXPECT_EQ(files_.read_integer("/value").error().code, Errc::malformed);
  EXPECT_THAT(files_.read_integer("/value").error().what, HasSubstr("/value"));
  EXPECT_EQ(files_.read("relative").error().code, Errc::internal);
  EXPECT_EQ(files_.read(std::string_view("/a\0b", 4)).error().code, Errc::internal);
  EXPECT_EQ(files_.list("/value").error().code, Errc::not_found);
}

TEST_F(FilesOfTree, integers_have_no_default_and_no_rest) {
  const auto parsed = [&](std::string_view text) {
    folder_.write("/value", text);
    return files_.read_integer("/value");
  };
  EXPECT_EQ(parsed("0x1F\n").value(), 31);
  EXPECT_EQ(parsed("-7").value(), -7);
  EXPECT_EQ(parsed("9223372036854775807").value(), 9223372036854775807);
  for (const std::string_view bad :
       {"", "\n", "0x", "0x-1", "9223372036854775808", "1 2", "1.5", "+1", "one"})
    EXPECT_EQ(parsed(bad).error().code, Errc::malformed) << bad;
}

TEST_F(FilesOfTree, a_word_is_text) {
  folder_.write("/value", std::string_view("a\0b", 3));
  EXPECT_EQ(files_.read_word("/value").error().code, Errc::malformed);
  folder_.write("/value", "two\nlines\n");
  EXPECT_EQ(files_.read_word("/value").error().code, Errc::malformed);
  folder_.write("/value", "  two words \n");
  EXPECT_EQ(files_.read_word("/value").value(), "two words");
  folder_.write("/value", "");
  EXPECT_EQ(files_.read_word("/value").value(), "");
}

TEST_F(FilesOfTree, a_link_never_leads_out) {
  folder_.write("/etc/hostname", "inside");
  folder_.link("/absolute", "/etc/hostname");
  folder_.link("/climbing", "../../../../../../etc/hostname");
  folder_.link("/out", "/etc/passwd");
  EXPECT_EQ(files_.read("/absolute").value(), "inside");
  EXPECT_EQ(files_.read("/climbing").value(), "inside");
  EXPECT_EQ(files_.read("/../../etc/hostname").value(), "inside");
  EXPECT_EQ(files_.read("/out").error().code, Errc::not_found);
  EXPECT_FALSE(files_.exists("/out"));
  EXPECT_TRUE(files_.exists("/absolute"));
}

TEST_F(FilesOfTree, a_way_over_dots_is_found_while_others_rename_their_files) {
  folder_.write("/devices/slot/vendor", "0x10de\n");
  folder_.link("/bus/slot", "../devices/slot");
  const TestFolder others;
  others.write("/a", "");
  const std::jthread renames([&others](const std::stop_token& stop) {
    const std::string a = others.path() + "/a";
    const std::string b = others.path() + "/b";
    while (!stop.stop_requested()) {
      std::filesystem::rename(a, b);
      std::filesystem::rename(b, a);
    }
  });
  for (int i = 0; i < 50'000; ++i) {
    const auto word = files_.read_word("/bus/slot/vendor");
    ASSERT_TRUE(word) << word.error().what << " after " << i;
  }
}

TEST_F(FilesOfTree, a_loop_of_links_is_an_error) {
  folder_.link("/one", "two");
  folder_.link("/two", "one");
  EXPECT_FALSE(files_.read("/one").has_value());
  EXPECT_FALSE(files_.resolve("/one").has_value());
  EXPECT_FALSE(files_.exists("/one"));
}

TEST_F(FilesOfTree, a_fifo_among_attributes_is_refused_at_once) {
  folder_.write("/sys/value", "7\n");
  ASSERT_EQ(::mkfifo((folder_.path() + "/sys/fifo").c_str(), 0600), 0);
  EXPECT_EQ(files_.read("/sys/fifo").error().code, Errc::malformed);
  EXPECT_EQ(files_.read("/sys/../sys").error().code, Errc::malformed);
  EXPECT_EQ(files_.read_integer("/sys/value").value(), 7);
}

TEST_F(FilesOfTree, a_fifo_is_refused_at_once) {
  ASSERT_EQ(::mkfifo((folder_.path() + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(files_.read("/fifo").error().code, Errc::malformed);
}

TEST_F(FilesOfTree, a_device_is_not_opened) {
  if (::mknod((folder_.path() + "/device").c_str(), S_IFCHR | 0600, makedev(1, 5)) != 0)
    GTEST_SKIP() << "this user cannot make device files";
  EXPECT_EQ(files_.read("/device").error().code, Errc::malformed);
}

TEST_F(FilesOfTree, reads_binary_and_big_files_within_the_limit) {
  std::string binary(10 << 20, '\0');
  for (std::size_t i = 0; i < binary.size(); ++i)
    binary[i] = static_cast<char>(i * 31);
  folder_.write("/big", binary);
  EXPECT_EQ(files_.read("/big").error().code, Errc::exhausted);
  EXPECT_EQ(files_.read("/big", std::size_t{16} << 20).value(), binary);
  EXPECT_EQ(files_.read("/big", binary.size()).value(), binary);
  EXPECT_EQ(files_.read("/big", binary.size() - 1).error().code, Errc::exhausted);
}

// A file as amdgpu's ras/gpu_vram_bad_pages: every read gives the whole rows that have room in a page. A
// reader with less room than that gets an error here.
class FileOfRows {
 public:
  static constexpr std::size_t kRowsOfPage = 146;

  FileOfRows(std::string place, std::size_t rows)
      : rows_(rows), server_(std::move(place), "fuse.test", "100444") {
    server_.start([this](const fuse_in_header& request) { handle(request); });
  }
  FileOfRows(const FileOfRows&) = delete;
  FileOfRows& operator=(const FileOfRows&) = delete;
  ~FileOfRows() { server_.stop(); }

  [[nodiscard]] const std::string& why_not() const { return server_.why_not(); }
  static std::string text(std::size_t rows) {
    std::string text;
    for (std::size_t i = 0; i < rows; ++i)
      text += "0x0001a2b0 : 0x00001000 : R\n";
    return text;
  }

 private:
  void handle(const fuse_in_header& request) {
    switch (request.opcode) {
      case FUSE_GETATTR: {
        fuse_attr_out attributes{};
        attributes.attr.ino = FUSE_ROOT_ID;
        attributes.attr.mode = S_IFREG | 0444;
        attributes.attr.nlink = 1;
        return server_.reply(request.unique, attributes);
      }
      case FUSE_OPEN: {
        left_ = rows_;
        fuse_open_out opened{};
        opened.open_flags = FOPEN_DIRECT_IO;
        return server_.reply(request.unique, opened);
      }
      case FUSE_READ: {
        const std::size_t rows = std::min(left_, kRowsOfPage);
        left_ -= rows;
        return server_.reply_text(request.unique, text(rows));
      }
      case FUSE_FLUSH:
      case FUSE_RELEASE:
        return server_.reply_text(request.unique, "");
      default:
        return server_.refuse(request.unique, ENOSYS);
    }
  }

  const std::size_t rows_;
  std::size_t left_ = 0;  // of the server's thread
  FuseServer server_;
};

TEST_F(FilesOfTree, every_read_has_room_for_a_page_of_whole_rows) {
  folder_.write("/rows", "");
  constexpr std::size_t kRows = 20 * FileOfRows::kRowsOfPage + 3;
  const FileOfRows file(folder_.path() + "/rows", kRows);
  if (!file.why_not().empty()) GTEST_SKIP() << "no FUSE file here: " << file.why_not();
  const std::string text = FileOfRows::text(kRows);
  const auto read = files_.read("/rows");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(*read, text);
  EXPECT_EQ(files_.read("/rows", text.size()).value_or(""), text);
  for (const std::size_t limit : {std::size_t{1}, std::size_t{4096}, text.size() - 1}) {
    const auto cut = files_.read("/rows", limit);
    ASSERT_FALSE(cut) << limit;
    EXPECT_EQ(cut.error().code, Errc::exhausted) << limit << ": " << cut.error().what;
  }
}

TEST_F(FilesOfTree, lists_more_names_than_one_call_of_the_kernel_gives) {
  std::vector<std::string> names;
  for (int i = 1000; i < 2000; ++i) {
    names.push_back("a_name_of_usual_length_" + std::to_string(i));
    folder_.write("/many/" + names.back(), "");
  }
  EXPECT_EQ(files_.list("/many").value(), names);
}

TEST_F(FilesOfTree, lists_names_in_order) {
  folder_.write("/folder/b", "");
  folder_.write("/folder/a", "");
  folder_.link("/folder/c", "/nowhere");
  EXPECT_THAT(files_.list("/folder").value(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(files_.list("/missing").error().code, Errc::not_found);
}

TEST_F(FilesOfTree, resolves_links_to_the_machines_own_path) {
  folder_.write("/sys/devices/pci0000:00/0000:00:01.0/vendor", "0x10de");
  folder_.link("/sys/bus/pci/devices/0000:00:01.0", "../../../devices/pci0000:00/0000:00:01.0");
  EXPECT_EQ(files_.resolve("/sys/bus/pci/devices/0000:00:01.0").value(),
            "/sys/devices/pci0000:00/0000:00:01.0");
  EXPECT_EQ(files_.resolve("/").value(), "/");
}

TEST(FilesBeginning, is_cut_where_the_whole_file_is_refused) {
  const TestFolder folder;
  folder.write("/long", std::string(10'000, 'a'));
  folder.write("/short", "b");
  const Files files(folder.path());
  EXPECT_EQ(files.read("/long", 5000).error().code, Errc::exhausted);
  EXPECT_EQ(files.read_beginning("/long", 5000), std::string(5000, 'a'));
  EXPECT_EQ(files.read_beginning("/short", 5000), "b");
  EXPECT_EQ(files.read_beginning("/missing", 5000).error().code, Errc::not_found);
  const Files gated(folder.path(), [](std::string_view) { return fail(Errc::denied, "closed"); });
  EXPECT_EQ(gated.read_beginning("/short", 5000).error().code, Errc::denied);
}

TEST(FilesOfThisMachine, reads_the_kernels_files) {
  const Files files;
  EXPECT_FALSE(files.is_tree());
  EXPECT_EQ(files.read_word("/proc/sys/kernel/ostype").value(), "Linux");
  EXPECT_THAT(files.list("/proc/self").value(), ::testing::Contains("status"));
  EXPECT_EQ(files.resolve("/proc/self").value(), "/proc/" + std::to_string(::getpid()));
  EXPECT_EQ(files.read("/dev/zero").error().code, Errc::malformed);
}

TEST(FilesRoot, stays_the_folder_that_was_there_at_first) {
  const TestFolder folder;
  folder.write("/tree/etc/hostname", "old\n");
  const Files files(folder / "tree");
  std::filesystem::rename(folder / "tree", folder / "moved");
  folder.write("/tree/etc/hostname", "new\n");
  EXPECT_EQ(files.read("/etc/hostname"), "old\n");
  EXPECT_EQ(files.resolve("/etc"), "/etc");
}

TEST(FilesRoot, may_come_later) {
  const TestFolder folder;
  const Files files(folder / "tree");
  EXPECT_EQ(files.read("/etc/hostname").error().code, Errc::not_found);
  folder.write("/tree/etc/hostname", "new\n");
  EXPECT_EQ(files.read("/etc/hostname"), "new\n");
  EXPECT_EQ(files.resolve("/etc"), "/etc");
}

}  // namespace
}  // namespace autopilot::host
