// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {

// A datagram, and the process that sent it according to the kernel.
struct Datagram {
  std::string bytes;
  bool is_cut = false;   // it was longer than the limit
  std::int64_t pid = 0;  // in the PID namespace of this process; 0: the sender is not in it
};

// A Unix datagram socket that any process of the machine may send to. Not thread-safe.
class DatagramSocket {
 public:
  // Binds `path` with mode 0666; a socket that an earlier process left there is replaced. conflict: something
  // else is there.
  [[nodiscard]] static Result<DatagramSocket> open(std::string path);
  DatagramSocket(DatagramSocket&&) noexcept = default;
  DatagramSocket& operator=(DatagramSocket&&) = delete;
  ~DatagramSocket();

  // The next datagram, at most `limit` bytes of it. Never waits; nullopt: there is none.
  [[nodiscard]] Result<std::optional<Datagram>> receive(std::size_t limit);
  // Readable when one has arrived.
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  DatagramSocket(std::string path, Fd socket) : path_(std::move(path)), socket_(std::move(socket)) {}

  std::string path_;
  Fd socket_;
};

// Replaces a file in one step, with mode 0644, for readers of other users. Makes no folder.
[[nodiscard]] Status replace_public_file(const std::string& path, std::string_view text);
// A folder with mode 0755 and those above it, where they are missing.
[[nodiscard]] Status make_public_folder(const std::string& path);

}  // namespace autopilot::host
