// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "probes/gpu/driver/session.hpp"

namespace autopilot::probes::gpu {

// One GPU in an all-reduce, with its memory: the sent data, the received data, and a word by which the ranks
// agree on values.
class Lane {
 public:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kWindowBytes = 4096;  // read by find_wrong() at a time

  // Allocates two buffers of `most_bytes`, or smaller ones if the GPU has less memory; in whole pages.
  // Errc::exhausted: almost no memory is free.
  [[nodiscard]] static Result<Lane> open(const Driver& driver, const GpuFacts& gpu, std::size_t most_bytes);

  [[nodiscard]] Session& session() const { return *session_; }
  [[nodiscard]] std::size_t bytes() const { return send_.bytes(); }
  [[nodiscard]] cuda::DevicePointer send() const { return send_.pointer(); }
  [[nodiscard]] cuda::DevicePointer receive() const { return receive_.pointer(); }
  [[nodiscard]] cuda::DevicePointer own_word() const { return words_.pointer(); }
  [[nodiscard]] cuda::DevicePointer agreed_word() const { return words_.pointer() + sizeof(std::uint64_t); }

  // Fills the sent data with one number.
  Status fill(float value);
  // Corrupts the received data, so that only a new reception passes.
  Status spoil();
  // Compares the beginning, the middle and the end of the `bytes` received bytes, at least kWindowBytes, with
  // `sum`. nullopt: all equal.
  [[nodiscard]] Result<std::optional<std::string>> find_wrong(std::size_t bytes, float sum);

  // Discards the previously agreed value.
  Status write_own_word(std::uint64_t value);
  [[nodiscard]] Result<std::uint64_t> read_agreed_word();

 private:
  Lane(std::unique_ptr<Session> session, Buffer send, Buffer receive, Buffer words)
      : session_(std::move(session)),
        send_(std::move(send)),
        receive_(std::move(receive)),
        words_(std::move(words)) {}

  std::unique_ptr<Session> session_;
  Buffer send_;
  Buffer receive_;
  Buffer words_;
};

}  // namespace autopilot::probes::gpu
