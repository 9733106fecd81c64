// SPDX-License-Identifier: Apache-2.0
#include "nccl/exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

namespace autopilot::simulator::nccl {
namespace {

template <class T>
void reduce_as(std::span<std::byte> sum, std::span<const std::byte> more, abi::Operation operation) {
  for (std::size_t offset = 0; offset + sizeof(T) <= sum.size(); offset += sizeof(T)) {
    T a{};
    T b{};
    std::memcpy(&a, sum.data() + offset, sizeof a);
    std::memcpy(&b, more.data() + offset, sizeof b);
    if (operation == abi::kMax)
      a = std::max(a, b);
    else if (operation == abi::kMin)
      a = std::min(a, b);
    else
      a += b;
    std::memcpy(sum.data() + offset, &a, sizeof a);
  }
}

}  // namespace

std::vector<Window> windows_of(std::size_t bytes) {
  if (bytes <= 3 * kWindowBytes) return {{.offset = 0, .bytes = bytes}};
  const std::size_t middle = bytes / 2 / kWindowBytes * kWindowBytes;
  return {{.offset = 0, .bytes = kWindowBytes},
          {.offset = middle, .bytes = kWindowBytes},
          {.offset = bytes - kWindowBytes, .bytes = kWindowBytes}};
}

std::size_t size_of(abi::DataType type) {
  if (type == abi::kFloat32) return sizeof(float);
  return type == abi::kUint64 ? sizeof(std::uint64_t) : 0;
}

void reduce(std::span<std::byte> sum, std::span<const std::byte> more, abi::DataType type,
            abi::Operation operation) {
  if (type == abi::kFloat32)
    reduce_as<float>(sum, more, operation);
  else
    reduce_as<std::uint64_t>(sum, more, operation);
}

namespace {

Collective head_of(const AllReduceCall& call, std::size_t bytes) {
  return {.count = call.count, .type = call.type, .operation = call.operation, .bytes = bytes};
}

}  // namespace

std::optional<MemberError> send_hello(abi::CommunicatorTag& member, const abi::UniqueId& id, int version) {
  const auto place = parse_id(id);
  if (!place) return MemberError{abi::kInvalidArgument, "the id is from another library"};
  auto connection = connect_to(*place);
  if (!connection) return MemberError{abi::kSystemError, connection.error().what};
  member.root = *std::move(connection);
  const Hello hello{.secret = place->secret,
                    .bits_per_second = member.bits_per_second,
                    .version = version,
                    .ranks = member.ranks,
                    .rank = member.rank,
                    .unused = 0};
  if (!member.root.send(&hello, sizeof hello))
    return MemberError{abi::kRemoteError, "connection closed by remote peer " + to_text(*place)};
  return std::nullopt;
}

std::optional<MemberError> wait_for_welcome(abi::CommunicatorTag& member, int version) {
  Welcome welcome{};
  if (!member.root.receive(&welcome, sizeof welcome))
    return MemberError{abi::kRemoteError, "connection closed by remote peer while ranks were waited for"};
  member.bits_per_second = welcome.bits_per_second;
  if (welcome.code == abi::kSuccess) return std::nullopt;
  return MemberError{welcome.code, "Mismatched NCCL version or number of ranks: rank " +
                                       std::to_string(welcome.rank) + " version " +
                                       std::to_string(welcome.version) + " rank " +
                                       std::to_string(member.rank) + " version " + std::to_string(version)};
}

bool send_windows(const abi::CommunicatorTag& member, const AllReduceCall& call) {
  const auto* from = static_cast<const char*>(call.send);
  std::string message(sizeof(Collective), '\0');
  for (const Window& window : windows_of(call.count * size_of(call.type)))
    message.append(from + window.offset, window.bytes);
  const Collective head = head_of(call, message.size() - sizeof(Collective));
  message.replace(0, sizeof head, reinterpret_cast<const char*>(&head), sizeof head);
  return member.root.send(message.data(), message.size());
}

bool receive_windows(const abi::CommunicatorTag& member, const AllReduceCall& call) {
  Collective head{};
  if (!member.root.receive(&head, sizeof head)) return false;
  auto* to = static_cast<char*>(call.receive);
  for (const Window& window : windows_of(call.count * size_of(call.type)))
    if (!member.root.receive(to + window.offset, window.bytes)) return false;
  return true;
}

double seconds_of(const abi::CommunicatorTag& member, const AllReduceCall& call) {
  const double bits = static_cast<double>(call.count * size_of(call.type)) * 8;
  return bits * 2 * (member.ranks - 1) / member.ranks / member.bits_per_second;
}

namespace {

constexpr std::int32_t kMostRanks = 4096;
// Limit of ranks and unidentified clients; more are refused.
constexpr std::size_t kMostClients = 4352;

struct Client {
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

Hello hello_of(const Client& client) {
  return client.hello.value_or(Hello{});
}

bool is_complete(const Client& client) {
  const auto head = head_of<Collective>(client.read);
  return head && client.read.size() >= sizeof *head + head->bytes;
}

class Root {
 public:
  Root(Connection listener, const Place& place) : listener_(std::move(listener)), secret_(place.secret) {}

  void run() {
    while (!is_over_) {
      wait();
      std::erase_if(clients_, [](const Client& client) { return client.is_gone && !client.hello; });
      if (is_welcomed_)
        serve();
      else
        welcome();
    }
  }

 private:
  void wait() {
    std::vector<pollfd> polled;
    for (const Client& client : clients_)
      polled.push_back({.fd = client.connection.fd(), .events = POLLIN, .revents = 0});
    if (!is_welcomed_) polled.push_back({.fd = listener_.fd(), .events = POLLIN, .revents = 0});
    if (::poll(polled.data(), polled.size(), -1) <= 0) return;
    for (std::size_t i = 0; i < clients_.size(); ++i)
      if (polled[i].revents != 0) read(clients_[i]);
    if (!is_welcomed_ && polled.back().revents != 0) accept();
  }

  void accept() {
    Connection connection = accept_from(listener_);
    if (connection.fd() >= 0 && clients_.size() < kMostClients)
      clients_.push_back({.connection = std::move(connection), .hello = {}, .read = {}});
  }

  void read(Client& client) {
    char bytes[4096];
    const ssize_t got = ::recv(client.connection.fd(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got <= 0 || client.read.size() > sizeof(Collective) + kMostWindowBytes) {
      client.is_gone = true;
      return;
    }
    client.read.append(bytes, static_cast<std::size_t>(got));
    if (!client.hello) greet(client);
  }

  void greet(Client& client) {
    const auto hello = head_of<Hello>(client.read);
    if (!hello) return;
    if (hello->secret != secret_ || hello->ranks < 1 || hello->ranks > kMostRanks) {
      client.is_gone = true;
      return;
    }
    client.hello = hello;
    client.read.erase(0, sizeof *hello);
  }

  // The first rank that does not match the first one, or the first one.
  [[nodiscard]] Hello first_mismatch() const {
    const Hello first = hello_of(clients_.front());
    for (const Client& client : clients_) {
      const Hello hello = hello_of(client);
      if (hello.version != first.version || hello.ranks != first.ranks) return hello;
    }
    return first;
  }

  // Before all ranks have joined, one can leave and join again.
  void welcome() {
    std::erase_if(clients_, [](const Client& client) { return client.is_gone; });
    const auto is_rank = [](const Client& client) { return client.hello.has_value(); };
    const auto first = std::find_if(clients_.begin(), clients_.end(), is_rank);
    if (first == clients_.end()) return;
    if (std::count_if(clients_.begin(), clients_.end(), is_rank) < hello_of(*first).ranks) return;
    std::erase_if(clients_, [&](const Client& client) { return !is_rank(client); });
    answer_all();
  }

  void answer_all() {
    std::sort(clients_.begin(), clients_.end(),
              [](const Client& a, const Client& b) { return hello_of(a).rank < hello_of(b).rank; });
    const Hello first = hello_of(clients_.front());
    const Hello wrong = first_mismatch();
    const bool is_fit = wrong.rank == first.rank;
    Welcome welcome{.bits_per_second = first.bits_per_second,
                    .code = is_fit ? abi::kSuccess : abi::kInvalidUsage,
                    .rank = wrong.rank,
                    .version = wrong.version,
                    .unused = 0};
    for (const Client& client : clients_)
      welcome.bits_per_second = std::min(welcome.bits_per_second, hello_of(client).bits_per_second);
    is_over_ = !is_fit;
    for (const Client& client : clients_)
      is_over_ = !client.connection.send(&welcome, sizeof welcome) || is_over_;
    is_welcomed_ = true;
    listener_ = Connection();
  }

  void serve() {
    is_over_ =
        std::any_of(clients_.begin(), clients_.end(), [](const Client& client) { return client.is_gone; });
    if (!is_over_ && std::all_of(clients_.begin(), clients_.end(), is_complete)) reduce_all();
  }

  // All ranks sent the same request; otherwise the communicator ends.
  void reduce_all() {
    std::string result = std::move(clients_.front().read);
    const Collective requested = *head_of<Collective>(result);
    clients_.front().read.clear();
    const auto sum = std::as_writable_bytes(std::span(result)).subspan(sizeof requested);
    for (Client& client : std::span(clients_).subspan(1)) {
      if (client.read.size() != result.size() ||
          std::memcmp(client.read.data(), result.data(), sizeof requested) != 0) {
        is_over_ = true;
        return;
      }
      reduce(sum, std::as_bytes(std::span(client.read)).subspan(sizeof requested), requested.type,
             requested.operation);
      client.read.clear();
    }
    for (const Client& client : clients_)
      is_over_ = !client.connection.send(result.data(), result.size()) || is_over_;
  }

  Connection listener_;
  std::uint64_t secret_;
  std::vector<Client> clients_;
  bool is_welcomed_ = false;
  bool is_over_ = false;
};

}  // namespace

void start_root(Connection listener, const Place& place) {
  std::thread([root = Root(std::move(listener), place)]() mutable { root.run(); }).detach();
}

}  // namespace autopilot::simulator::nccl
