// SPDX-License-Identifier: Apache-2.0
#include "host/process/allocator.hpp"

#include <gtest/gtest.h>
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

}  // namespace
}  // namespace autopilot::host
