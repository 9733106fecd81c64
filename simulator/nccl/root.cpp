// SPDX-License-Identifier: Apache-2.0
#include "nccl/root.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "nccl/message.hpp"

namespace autopilot::simulator::nccl {
namespace {

namespace abi = probes::gpu::nccl;

constexpr std::int32_t kMostRanks = 4096;
// Limit of ranks and unidentified clients; more are refused.
constexpr std::size_t kMostGuests = 4352;

struct Guest {
  Connection connection;
  std::optional<Hello> hello;  // set when the client has proved to be a rank
  std::string read;            // received bytes that are not processed yet
  bool is_gone = false;
};

// The message at the front of the received bytes, if it is complete.
template <class T>
std::optional<T> head_of(const std::string& read) {
  T head{};
  if (read.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, read.data(), sizeof head);
  return head;
}

Hello hello_of(const Guest& guest) {
  return guest.hello.value_or(Hello{});
}

bool is_complete(const Guest& guest) {
  const auto head = head_of<Collective>(guest.read);
  return head && guest.read.size() >= sizeof *head + head->bytes;
}

class Root {
 public:
  Root(Connection listener, const Place& place) : listener_(std::move(listener)), secret_(place.secret) {}

  void run() {
    while (!is_over_) {
      wait();
      std::erase_if(guests_, [](const Guest& guest) { return guest.is_gone && !guest.hello; });
      if (is_welcomed_)
        serve();
      else
        welcome();
    }
  }

 private:
  void wait() {
    std::vector<pollfd> polled;
    for (const Guest& guest : guests_)
      polled.push_back({.fd = guest.connection.fd(), .events = POLLIN, .revents = 0});
    if (!is_welcomed_) polled.push_back({.fd = listener_.fd(), .events = POLLIN, .revents = 0});
    if (::poll(polled.data(), polled.size(), -1) <= 0) return;
    for (std::size_t i = 0; i < guests_.size(); ++i)
      if (polled[i].revents != 0) read(guests_[i]);
    if (!is_welcomed_ && polled.back().revents != 0) accept();
  }

  void accept() {
    Connection connection = accept_from(listener_);
    if (connection.fd() >= 0 && guests_.size() < kMostGuests)
      guests_.push_back({.connection = std::move(connection), .hello = {}, .read = {}});
  }

  void read(Guest& guest) {
    char bytes[4096];
    const ssize_t got = ::recv(guest.connection.fd(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got <= 0 || guest.read.size() > sizeof(Collective) + kMostWindowBytes) {
      guest.is_gone = true;
      return;
    }
    guest.read.append(bytes, static_cast<std::size_t>(got));
    if (!guest.hello) greet(guest);
  }

  void greet(Guest& guest) {
    const auto hello = head_of<Hello>(guest.read);
    if (!hello) return;
    if (hello->secret != secret_ || hello->ranks < 1 || hello->ranks > kMostRanks) {
      guest.is_gone = true;
      return;
    }
    guest.hello = hello;
    guest.read.erase(0, sizeof *hello);
  }

  // The first rank that does not match the first one, or the first one.
  [[nodiscard]] Hello misfit() const {
    const Hello first = hello_of(guests_.front());
    for (const Guest& guest : guests_) {
      const Hello hello = hello_of(guest);
      if (hello.version != first.version || hello.ranks != first.ranks) return hello;
    }
    return first;
  }

  // Before all ranks have joined, one can leave and join again.
  void welcome() {
    std::erase_if(guests_, [](const Guest& guest) { return guest.is_gone; });
    const auto is_rank = [](const Guest& guest) { return guest.hello.has_value(); };
    const auto first = std::find_if(guests_.begin(), guests_.end(), is_rank);
    if (first == guests_.end()) return;
    if (std::count_if(guests_.begin(), guests_.end(), is_rank) < hello_of(*first).ranks) return;
    std::erase_if(guests_, [&](const Guest& guest) { return !is_rank(guest); });
    answer_all();
  }

  void answer_all() {
    std::sort(guests_.begin(), guests_.end(),
              [](const Guest& a, const Guest& b) { return hello_of(a).rank < hello_of(b).rank; });
    const Hello first = hello_of(guests_.front());
    const Hello wrong = misfit();
    const bool is_fit = wrong.rank == first.rank;
    Welcome welcome{.bits_per_second = first.bits_per_second,
                    .code = is_fit ? abi::kSuccess : abi::kInvalidUsage,
                    .rank = wrong.rank,
                    .version = wrong.version,
                    .unused = 0};
    for (const Guest& guest : guests_)
      welcome.bits_per_second = std::min(welcome.bits_per_second, hello_of(guest).bits_per_second);
    is_over_ = !is_fit;
    for (const Guest& guest : guests_)
      is_over_ = !guest.connection.send(&welcome, sizeof welcome) || is_over_;
    is_welcomed_ = true;
    listener_ = Connection();
  }

  void serve() {
    is_over_ = std::any_of(guests_.begin(), guests_.end(), [](const Guest& guest) { return guest.is_gone; });
    if (!is_over_ && std::all_of(guests_.begin(), guests_.end(), is_complete)) reduce_all();
  }

  // All ranks sent the same request; otherwise the communicator ends.
  void reduce_all() {
    std::string result = std::move(guests_.front().read);
    const Collective asked = *head_of<Collective>(result);
    guests_.front().read.clear();
    const auto sum = std::as_writable_bytes(std::span(result)).subspan(sizeof asked);
    for (Guest& guest : std::span(guests_).subspan(1)) {
      if (guest.read.size() != result.size() ||
          std::memcmp(guest.read.data(), result.data(), sizeof asked) != 0) {
        is_over_ = true;
        return;
      }
      reduce(sum, std::as_bytes(std::span(guest.read)).subspan(sizeof asked), asked.type, asked.operation);
      guest.read.clear();
    }
    for (const Guest& guest : guests_)
      is_over_ = !guest.connection.send(result.data(), result.size()) || is_over_;
  }

  Connection listener_;
  std::uint64_t secret_;
  std::vector<Guest> guests_;
  bool is_welcomed_ = false;
  bool is_over_ = false;
};

}  // namespace

void start_root(Connection listener, const Place& place) {
  std::thread([root = Root(std::move(listener), place)]() mutable { root.run(); }).detach();
}

}  // namespace autopilot::simulator::nccl
