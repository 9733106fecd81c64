// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/lane.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

namespace autopilot::probes::gpu {
namespace {

// of a GPU's memory; NCCL allocates buffers of its own in addition
constexpr double kMemoryShare = 0.5;
constexpr unsigned kNoNumber = 0xffffffff;
// Above every value that ranks agree on.
constexpr std::uint64_t kNoWord = ~std::uint64_t{0};

std::size_t whole_pages(std::size_t bytes) {
  return bytes / Lane::kPage * Lane::kPage;
}

std::string number_text(float number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", static_cast<double>(number));
  return text.data();
}

}  // namespace

Result<Lane> Lane::open(const Driver& driver, const GpuFacts& gpu, std::size_t most_bytes) {
  auto session = TRY(Session::open(driver, gpu, kMemoryShare, Session::In::primary_context));
  const std::size_t bytes = whole_pages(std::min(most_bytes, (session->budget_bytes() - kPage) / 2));
  auto send = TRY(session->allocate(bytes));
  auto receive = TRY(session->allocate(bytes));
  auto words = TRY(session->allocate(kPage));
  return Lane(std::move(session), std::move(send), std::move(receive), std::move(words));
}

Status Lane::fill(float value) {
  const Driver& driver = session_->driver();
  TRY_STATUS(session_->make_current());
  TRY_STATUS(driver.run(driver.calls().memory_set_words, send(), std::bit_cast<unsigned>(value),
                        bytes() / sizeof value, session_->stream()));
  return spoil();
}

Status Lane::spoil() {
  const Driver& driver = session_->driver();
  TRY_STATUS(session_->make_current());
  return driver.run(driver.calls().memory_set_words, receive(), kNoNumber, bytes() / sizeof kNoNumber,
                    session_->stream());
}

Result<std::optional<std::string>> Lane::find_wrong(std::size_t bytes, float sum) {
  if (bytes < kWindowBytes || bytes > receive_.bytes())
    return fail(Errc::internal, std::to_string(bytes) + " bytes exceed the buffer");
  TRY_STATUS(session_->make_current());
  std::array<float, kWindowBytes / sizeof(float)> window{};
  for (const std::size_t offset : {std::size_t{0}, whole_pages(bytes / 2), bytes - kWindowBytes}) {
    TRY_STATUS(session_->read(window.data(), receive_, offset, kWindowBytes));
    const auto* wrong =
        std::find_if(window.begin(), window.end(), [sum](float number) { return number != sum; });
    if (wrong == window.end()) continue;
    const auto index = static_cast<std::size_t>(wrong - window.begin());
    return "gpu " + std::to_string(session_->facts().index) + " (" + session_->facts().pci_address +
           "): byte " + std::to_string(offset + index * sizeof(float)) + " of the sum is " +
           number_text(*wrong) + ", not " + number_text(sum);
  }
  return std::nullopt;
}

Status Lane::write_own_word(std::uint64_t value) {
  TRY_STATUS(session_->make_current());
  const std::array<std::uint64_t, 2> words{value, kNoWord};
  TRY_STATUS(session_->copy_to_gpu(words_, words.data(), sizeof words));
  return session_->wait();  // some drivers still read a local variable of this function
}

Result<std::uint64_t> Lane::read_agreed_word() {
  TRY_STATUS(session_->make_current());
  std::uint64_t value = 0;
  TRY_STATUS(session_->read(&value, words_, sizeof value, sizeof value));
  return value;
}

}  // namespace autopilot::probes::gpu
