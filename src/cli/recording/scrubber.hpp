// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace autopilot::cli {

// Takes out of texts what tells whose machine it is. The same value gets the same stand-in everywhere, so
// that what belonged together still does. Addresses (MAC, IPv4, IPv6) are found in any text; names, serials
// and UUIDs must be told first. A value inside a longer word is another word and stays; one of eight or more
// hexadecimal digits is found behind 0x as well.
class Scrubber {
 public:
  enum class Kind : unsigned char { host, serial, uuid, guid, container };

  // Ignores "localhost", and serials and the like of fewer than 4 characters ("0", "N/A").
  void learn(Kind kind, std::string_view value);
  // A number in all the ways in which the kernel writes it: decimal and hexadecimal, as short as it can and
  // with sixteen digits. They have one stand-in. Ignores 0.
  void learn_number(Kind kind, std::uint64_t number);
  // The UID of a pod, as it stands in paths of control groups ("pod<uid>", and with _ for - in a slice).
  void learn_pod(const std::string& uid);
  // An address as the kernel's tables of routes write it: eight digits of IPv4 in the order of this machine,
  // or thirty-two of IPv6.
  void learn_address_in_hex(std::string_view digits);
  [[nodiscard]] std::string apply(std::string_view text);

 private:
  std::string stand_in(std::string_view token);
  [[nodiscard]] std::string replace_known(std::string_view text) const;

  // Longest first, so that a name inside another is not replaced before it.
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
