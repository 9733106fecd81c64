// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "probes/gpu/driver/session.hpp"

namespace autopilot::probes::gpu {

// One GPU in an all-reduce, with its memory: what it sends, what it receives, and a word in which the ranks
// agree with each other.
class Lane {
 public:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kWindowBytes = 4096;  // that find_wrong() reads at a time

  // Takes two buffers of `most_bytes`, or smaller ones where the GPU has less to give; whole pages.
  // Errc::exhausted: it has next to none.
  [[nodiscard]] static Result<Lane> open(const Driver& driver, const GpuFacts& gpu, std::size_t most_bytes);

  [[nodiscard]] Session& session() const { return *session_; }
  [[nodiscard]] std::size_t bytes() const { return send_.bytes(); }
  [[nodiscard]] cuda::DevicePointer send() const { return send_.pointer(); }
  [[nodiscard]] cuda::DevicePointer receive() const { return receive_.pointer(); }
  [[nodiscard]] cuda::DevicePointer own_word() const { return words_.pointer(); }
  [[nodiscard]] cuda::DevicePointer agreed_word() const { return words_.pointer() + sizeof(std::uint64_t); }

  // What it sends is one number throughout.
  Status fill(float value);
  // So that what is received was really received.
  Status spoil();
  // Looks at the beginning, the middle and the end of the `bytes` that were received, which are no fewer than
  // kWindowBytes, and at nothing else. Nothing: it is `sum` there.
  [[nodiscard]] Result<std::optional<std::string>> find_wrong(std::size_t bytes, float sum);

  // What was agreed on before is gone then.
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
