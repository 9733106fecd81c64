// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// What became of the questions to one name server.
enum class NameServerOutcome : std::uint8_t {
  answered,     // to the question; `code` is the response code
  helpless,     // not in time; but to a question that it can answer itself
  silent,       // nothing came
  closed,       // connection refused: no program listens on the port
  malformed,    // only packets that are not an answer to the question
  unreachable,  // the kernel or a router has no route to it
  denied,       // this process may not send to it
};

[[nodiscard]] std::string_view to_string(NameServerOutcome outcome);
[[nodiscard]] std::optional<NameServerOutcome> parse_name_server_outcome(std::string_view word);

// Response codes of an answer (RFC 1035, 4.1.1): "NOERROR", "SERVFAIL", ...; the number where it has no name.
inline constexpr int kServerFailure = 2;
[[nodiscard]] std::string dns_code_name(int code);

struct NameServerAnswer {
  std::string address;  // as /etc/resolv.conf spells it
  NameServerOutcome outcome = NameServerOutcome::silent;
  int code = 0;       // of the answer, where there was one
  Duration after{0};  // from that question to its answer
};

struct NameServersSeen {
  bool is_configured = true;  // false: /etc/resolv.conf names none, and this machine itself was asked
  std::vector<NameServerAnswer> answers;
};

// The name servers that the C library of this machine asks.
class NameServers {
 public:
  NameServers() = default;
  NameServers(const NameServers&) = delete;
  NameServers& operator=(const NameServers&) = delete;
  virtual ~NameServers() = default;
  // Asks each of them whether it answers, all at once, and returns when all have or at the deadline. Servers
  // that do not answer are outcomes; an error means that no server was asked: the list cannot be read,
  // no socket can be opened, or (unavailable) a machine tree has no entry. Thread-safe.
  [[nodiscard]] virtual Result<NameServersSeen> ask(MonoTime deadline) const = 0;

  // unsupported: for machines that are made without.
  [[nodiscard]] static const NameServers& none();
};

struct NameServerList {
  bool is_configured = true;
  std::vector<std::string> addresses;
};

// What the C library makes of /etc/resolv.conf: the first three addresses, each once; without the file or an
// address in it the name server of this machine (resolv.conf(5)).
[[nodiscard]] Result<NameServerList> read_name_servers(const Files& files);

// The running machine: sends each server one question of 17 bytes, and two more where it is slow. No right is
// needed.
class SystemNameServers final : public NameServers {
 public:
  explicit SystemNameServers(const Files& files) : files_(files) {}
  [[nodiscard]] Result<NameServersSeen> ask(MonoTime deadline) const override;

 private:
  const Files& files_;
};

inline constexpr std::uint16_t kDnsPort = 53;

// An IPv4 or IPv6 address as the C library takes one, the latter with an interface behind a "%" where it
// needs one. What the text is does not depend on whether this machine has that interface.
[[nodiscard]] bool is_internet_address(const std::string& text);

// Asks all of them over UDP, from this thread, until each has answered or the deadline (of mono_now()) has
// passed. Each gets one question. After half of the time servers without an answer get two more, which ask
// for nothing that a server has to find out elsewhere: they distinguish a live server from a dead server.
// Two, because no single one is answered by all that only forward (docs/adr/0013). An answer to the first
// question counts until the end.
// Only datagrams from the address and port that was asked, with the number of a question, are answers; the
// numbers and the own ports are random. Addresses must be such. What this machine has run out of (exhausted:
// ports, descriptors) is the error of all, and so is an error before anything was sent that is not
// about the server; every other error is what became of that server.
[[nodiscard]] Result<std::vector<NameServerAnswer>> ask_name_servers(std::span<const std::string> addresses,
                                                                     std::uint16_t port, MonoTime deadline);

}  // namespace autopilot::host
