// SPDX-License-Identifier: Apache-2.0
#include "host/sockets/datagram_inbox.hpp"

#include <array>
#include <cerrno>
#include <mutex>
#include <sys/eventfd.h>
#include <thread>
#include <utility>

#include "host/files/fd.hpp"

namespace autopilot::host {
namespace {

constexpr int kBatch = 64;
constexpr Duration kPauseAfterBatch = std::chrono::milliseconds{10};

}  // namespace

struct DatagramInbox::State {
  State(DatagramSocket opened, Fd end, std::size_t bytes)
      : socket(std::move(opened)), stop(std::move(end)), limit(bytes) {}

  DatagramSocket socket;  // of the thread
  Fd stop;                // readable: end
  std::size_t limit;
  std::mutex mutex;
  std::vector<Datagram> queue;  // guarded
  std::size_t dropped = 0;      // guarded
  std::thread thread;

  // True: end.
  [[nodiscard]] bool wait(MonoTime deadline, bool for_datagrams) {
    std::array<pollfd, 2> descriptors{
        pollfd{.fd = stop.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = for_datagrams ? socket.fd() : -1, .events = POLLIN, .revents = 0}};
    (void)poll_until(descriptors, deadline);
    return descriptors[0].revents != 0;
  }

  void receive() {
    while (!wait(mono_now() + std::chrono::hours{1}, true)) {
      for (int i = 0; i < kBatch; ++i) {
        auto datagram = socket.receive(limit);
        if (!datagram || !*datagram) break;
        const std::lock_guard lock(mutex);
        if (queue.size() < kMaxQueued)
          queue.push_back(**std::move(datagram));
        else
          ++dropped;
      }
      if (wait(mono_now() + kPauseAfterBatch, false)) return;
    }
  }
};

DatagramInbox::DatagramInbox(std::unique_ptr<State> state) : state_(std::move(state)) {
  state_->thread = std::thread([held = state_.get()] { held->receive(); });
}

DatagramInbox::~DatagramInbox() {
  (void)::eventfd_write(state_->stop.get(), 1);
  state_->thread.join();
}

Result<std::unique_ptr<DatagramInbox>> DatagramInbox::open(std::string path, std::size_t limit) {
  Fd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) return fail_errno(errno, path);
  auto socket = DatagramSocket::open(std::move(path));
  if (!socket) return fail(std::move(socket).error());
  return std::unique_ptr<DatagramInbox>(
      new DatagramInbox(std::make_unique<State>(*std::move(socket), std::move(stop), limit)));
}

std::vector<Datagram> DatagramInbox::take() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->queue, {});
}

std::size_t DatagramInbox::dropped() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}

}  // namespace autopilot::host
