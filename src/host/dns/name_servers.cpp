// SPDX-License-Identifier: Apache-2.0
#include "host/dns/name_servers.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <net/if.h>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/random.h>
#include <sys/socket.h>
#include <utility>

#include "core/parse.hpp"
#include "core/word_table.hpp"
#include "host/dns/dns_message.hpp"
#include "host/ethernet/routes.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {
namespace {

// MAXNS of the C library.
constexpr std::size_t kMaxServers = 3;
constexpr std::string_view kThisMachine = "127.0.0.1";

constexpr WordTable<NameServerOutcome, 7> kOutcomes{{
    {NameServerOutcome::answered, "answered"},
    {NameServerOutcome::helpless, "helpless"},
    {NameServerOutcome::silent, "silent"},
    {NameServerOutcome::closed, "closed"},
    {NameServerOutcome::malformed, "malformed"},
    {NameServerOutcome::unreachable, "unreachable"},
    {NameServerOutcome::denied, "denied"},
}};

constexpr std::array<std::string_view, 6> kCodes{"NOERROR",  "FORMERR", "SERVFAIL",
                                                 "NXDOMAIN", "NOTIMP",  "REFUSED"};

class NoNameServers final : public NameServers {
 public:
  [[nodiscard]] Result<NameServersSeen> ask(MonoTime /*deadline*/) const override {
    return fail(Errc::unsupported, "no name servers");
  }
};

}  // namespace

std::string_view to_string(NameServerOutcome outcome) {
  return word_of(kOutcomes, outcome);
}

std::optional<NameServerOutcome> parse_name_server_outcome(std::string_view word) {
  return value_of(kOutcomes, word);
}

std::string dns_code_name(int code) {
  if (code >= 0 && std::cmp_less(code, kCodes.size()))
    return std::string(kCodes.at(static_cast<std::size_t>(code)));
  return std::to_string(code);
}

const NameServers& NameServers::none() {
  static const NoNameServers nobody;
  return nobody;
}

Result<NameServerList> read_name_servers(const Files& files) {
  const auto resolvers = read_resolvers(files);
  if (!resolvers && resolvers.error().code != Errc::not_found) return fail(resolvers.error());
  NameServerList list;
  std::size_t taken = 0;
  for (const std::string& address : resolvers ? *resolvers : std::vector<std::string>{}) {
    if (taken == kMaxServers) break;
    if (!is_internet_address(address)) continue;
    ++taken;
    if (std::ranges::find(list.addresses, address) == list.addresses.end()) list.addresses.push_back(address);
  }
  if (list.addresses.empty()) return NameServerList{false, {std::string(kThisMachine)}};
  return list;
}

Result<NameServersSeen> SystemNameServers::ask(MonoTime deadline) const {
  const NameServerList list = TRY(read_name_servers(files_));
  auto answers = TRY(ask_name_servers(list.addresses, kDnsPort, deadline));
  return NameServersSeen{list.is_configured, std::move(answers)};
}

namespace {

struct Address {
  bool is_ipv6 = false;
  in_addr ipv4{};
  in6_addr ipv6{};
  std::string interface;  // "eth0" or a number; empty where none is named
};

std::optional<Address> parse_address(const std::string& text) {
  Address address;
  if (::inet_aton(text.c_str(), &address.ipv4) != 0) return address;
  const std::size_t end = text.find('%');
  address.is_ipv6 = true;
  if (::inet_pton(AF_INET6, text.substr(0, end).c_str(), &address.ipv6) != 1) return std::nullopt;
  if (end != std::string::npos) address.interface = text.substr(end + 1);
  return address;
}

// The number of the interface, 0 for any; nothing where that interface does not exist. As in the C
// library, only an address that is good on one network alone can name it.
std::optional<std::uint32_t> interface_of(const Address& address) {
  const auto number = parse_number<std::uint32_t>(address.interface);
  if (number) return *number;
  if (address.interface.empty() || !IN6_IS_ADDR_LINKLOCAL(&address.ipv6)) return 0;
  const std::uint32_t found = ::if_nametoindex(address.interface.c_str());
  if (found == 0) return std::nullopt;
  return found;
}

struct Destination {
  sockaddr_storage to{};
  socklen_t size = 0;
};

template <class SocketAddress>
Destination make_destination(const SocketAddress& address) {
  Destination destination{.to = {}, .size = sizeof address};
  std::memcpy(&destination.to, &address, sizeof address);
  return destination;
}

std::optional<Destination> destination_of(const Address& address, std::uint16_t port) {
  if (!address.is_ipv6) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr = address.ipv4;
    return make_destination(to);
  }
  const auto interface = interface_of(address);
  if (!interface) return std::nullopt;
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(port);
  to.sin6_addr = address.ipv6;
  to.sin6_scope_id = *interface;
  return make_destination(to);
}

// The state of the server that an error of a socket shows; nothing where the error is about this machine.
// Once something was sent, the error is the answer of a router or of the server to that.
std::optional<NameServerOutcome> outcome_of(int error, bool was_sent) {
  switch (error) {
    case ECONNREFUSED:
      return NameServerOutcome::closed;
    case EAGAIN:
    case EINTR:
    case ENOMEM:
    case ENOBUFS:
      return std::nullopt;
    case EPERM:
    case EACCES:
      return was_sent ? NameServerOutcome::unreachable : NameServerOutcome::denied;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case ENODEV:
    case EINVAL:
      return NameServerOutcome::unreachable;
    default:
      return was_sent ? std::optional(NameServerOutcome::unreachable) : std::nullopt;
  }
}

// One server and the questions that were sent to it.
class Asked {
 public:
  explicit Asked(std::string address) { answer_.address = std::move(address); }

  Status open(std::uint16_t port) {
    const auto address = parse_address(answer_.address);
    if (!address) return fail(Errc::malformed, answer_.address + ": not an address");
    const auto destination = destination_of(*address, port);
    if (!destination) {
      settle(NameServerOutcome::unreachable);
      return {};
    }
    socket_ = Fd(::socket(destination->to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // A socket that is connected takes datagrams of its server only.
    if (!socket_ ||
        ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&destination->to), destination->size) != 0)
      return take_error("connect");
    return {};
  }

  Status ask(DnsQuestion what) {
    if (is_settled_) return {};
    Question question{.what = what};
    if (::getrandom(&question.id, sizeof question.id, 0) != sizeof question.id)
      return fail_errno(errno, "getrandom");
    const std::string packet = make_dns_question(what, question.id);
    question.sent = mono_now();
    if (::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0) return take_error("send");
    questions_.push_back(question);
    return {};
  }

  // One datagram: further datagrams are read by the next call.
  Status listen() {
    std::array<char, kMaxDnsAnswer> buffer{};
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_TRUNC);
    const MonoTime now = mono_now();
    if (got < 0) return errno == EAGAIN || errno == EINTR ? Status{} : take_error("recv");
    if (std::cmp_greater(got, buffer.size()))
      note_malformed();
    else
      take(std::string_view(buffer.data(), static_cast<std::size_t>(got)), now);
    return {};
  }

  [[nodiscard]] pollfd descriptor() const {
    return {.fd = is_settled_ ? -1 : socket_.get(), .events = POLLIN, .revents = 0};
  }
  [[nodiscard]] bool is_settled() const { return is_settled_; }
  [[nodiscard]] const NameServerAnswer& answer() const { return answer_; }

 private:
  struct Question {
    std::uint16_t id = 0;
    DnsQuestion what = DnsQuestion::root;
    MonoTime sent{};
  };

  Status take_error(std::string_view call) {
    const int error = errno;
    const auto outcome = outcome_of(error, !questions_.empty());
    if (outcome) {
      settle(*outcome);
      return {};
    }
    const std::string what = answer_.address + ": " + std::string(call);
    if (error == EAGAIN) return fail(Errc::exhausted, what + ": this machine has no free port or buffer");
    return fail_errno(error, what);
  }

  void take(std::string_view packet, MonoTime now) {
    const auto head = parse_dns_head(packet);
    if (!head) return note_malformed();
    const auto question = std::ranges::find(questions_, head->id, &Question::id);
    if (question == questions_.end()) return;  // not asked now
    // Any answer to another question shows that the server lives.
    if (question->what == DnsQuestion::root && !parse_dns_answer(packet)) return note_malformed();
    answer_.code = head->code;
    answer_.after = now - question->sent;
    if (question->what == DnsQuestion::root)
      settle(NameServerOutcome::answered);
    else
      answer_.outcome = NameServerOutcome::helpless;
  }

  void note_malformed() {
    if (answer_.outcome == NameServerOutcome::silent) answer_.outcome = NameServerOutcome::malformed;
  }

  void settle(NameServerOutcome outcome) {
    answer_.outcome = outcome;
    is_settled_ = true;
  }

  Fd socket_;
  std::vector<Question> questions_{};
  NameServerAnswer answer_{};
  bool is_settled_ = false;  // nothing that comes would change the outcome
};

// Until all are settled or the deadline has passed.
Status listen_to(std::vector<Asked>& servers, MonoTime deadline) {
  while (!std::ranges::all_of(servers, &Asked::is_settled) && mono_now() < deadline) {
    std::vector<pollfd> descriptors;
    for (const Asked& server : servers)
      descriptors.push_back(server.descriptor());
    if (!poll_until(descriptors, deadline)) return {};
    for (std::size_t i = 0; i < servers.size(); ++i)
      if (descriptors[i].revents != 0) TRY_STATUS(servers[i].listen());
  }
  return {};
}

}  // namespace

bool is_internet_address(const std::string& text) {
  return parse_address(text).has_value();
}

Result<std::vector<NameServerAnswer>> ask_name_servers(std::span<const std::string> addresses,
                                                       std::uint16_t port, MonoTime deadline) {
  const MonoTime begin = mono_now();
  std::vector<Asked> servers;
  for (const std::string& address : addresses) {
    Asked& server = servers.emplace_back(address);
    TRY_STATUS(server.open(port));
    TRY_STATUS(server.ask(DnsQuestion::root));
  }
  TRY_STATUS(listen_to(servers, begin + (deadline - begin) / 2));
  for (Asked& server : servers) {
    TRY_STATUS(server.ask(DnsQuestion::version));
    TRY_STATUS(server.ask(DnsQuestion::status));
  }
  TRY_STATUS(listen_to(servers, deadline));
  std::vector<NameServerAnswer> answers;
  for (const Asked& server : servers)
    answers.push_back(server.answer());
  return answers;
}

}  // namespace autopilot::host
