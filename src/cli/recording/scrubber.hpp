// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace autopilot::cli {

// Replaces the values in a text that identify a machine or its owner. The same value gets the same
// placeholder everywhere, so that relations remain visible. Addresses (MAC, IPv4, IPv6) are found in any
// text; names, serials and UUIDs must be learned first. A value inside a longer word is not replaced, except
// eight or more hexadecimal digits after 0x.
class Scrubber {
 public:
  enum class Kind : unsigned char { host, serial, uuid, guid, container };

  // Ignores "localhost", and values other than host names of fewer than 4 characters ("0", "N/A").
  void learn(Kind kind, std::string_view value);
  // Learns every spelling of a number in the kernel: decimal, hexadecimal, and hexadecimal with sixteen
  // digits. All spellings have one placeholder. Ignores 0.
  void learn_number(Kind kind, std::uint64_t number);
  // Learns the UID of a pod, as in paths of control groups ("pod<uid>", and with _ for - in a slice).
  void learn_pod(const std::string& uid);
  // Learns an address from the kernel's routing tables: eight digits of IPv4 in host byte order, or
  // thirty-two of IPv6.
  void learn_address_in_hex(std::string_view digits);
  [[nodiscard]] std::string apply(std::string_view text);

 private:
  std::string stand_in(std::string_view token);
  [[nodiscard]] std::string replace_known(std::string_view text) const;

  // Longest first: a name that contains another one is replaced before it.
  struct LongestFirst {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    }
  };
  std::map<std::string, std::string, LongestFirst> known_;
  std::map<std::string, std::string, std::less<>> addresses_;
  int hosts_ = 0;
  int serials_ = 0;
  int uuids_ = 0;
  int guids_ = 0;
  int containers_ = 0;
  int pods_ = 0;
  int macs_ = 0;
  int ipv4_ = 0;
  int ipv6_ = 0;
};

}  // namespace autopilot::cli
