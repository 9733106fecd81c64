// SPDX-License-Identifier: Apache-2.0
#include "host/process/own_process.hpp"

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <link.h>
#include <memory>
#include <string>
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

}  // namespace
}  // namespace autopilot::host
