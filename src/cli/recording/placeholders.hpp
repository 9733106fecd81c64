// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace autopilot::cli {

// What a value identifies.
enum class SecretKind : std::uint8_t {
  host,              // name of a host or of its domain
  user,              // name of a user
  pod,               // name of a pod, job or service of a cluster
  name_space,        // name of a namespace
  serial,            // serial number, worldwide name, name of an initiator
  uuid,              // UUIDs of the boot, the machine, GPUs, filesystems and pods
  container,         // id of a container or image: 32 or more hexadecimal digits
  hardware_address,  // MAC address, GUID of InfiniBand
  address,           // IPv4 or IPv6
  credential,        // password, token, key
};

inline constexpr std::size_t kSecretKinds = 10;

// Plural for a person: "serial numbers".
[[nodiscard]] std::string_view plural_of(SecretKind kind);

// Hexadecimal digits that are all zeros or all ones: an address or id that is not set.
[[nodiscard]] bool is_blank_digits(std::string_view digits);

// Gives each value a placeholder of the same form, the same one for the same value. Two values never have one
// placeholder. A placeholder remains as it is, so that a scrubbed text does not change again. Not
// thread-safe.
class Placeholders {
 public:
  // "node-1", "user-1", "pod-1", "namespace-1"; "domain-1.example" for a domain.
  std::string of_name(SecretKind kind, std::string_view name);
  std::string of_domain(std::string_view domain);
  // As many characters, digits for digits and letters for letters: "S6EUNA0R500123" is "XXXXXX0X000001".
  std::string of_word(SecretKind kind, std::string_view word);
  // Hexadecimal or decimal digits: zeros and a number.
  std::string of_digits(SecretKind kind, std::string_view digits);
  // 32 hexadecimal digits with or without dashes or underscores; the same UUID in every spelling.
  std::string of_uuid(std::string_view uuid);
  // Six, eight or twenty pairs of digits: "02:00:00:00:00:01".
  std::string of_hardware_address(std::string_view pairs);
  // In 192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24 and then 198.18.0.0/15. Two addresses are in one /24
  // if their placeholders are. Addresses that mean the same everywhere stay.
  std::string of_ipv4(const std::array<unsigned char, 4>& address);
  // In 2001:db8::/32, with equal /64 for equal /64; link-local addresses stay link-local.
  std::string of_ipv6(const std::array<unsigned char, 16>& address);
  // A number in the kernel: 64 bits that identify a GPU, adapter or disk.
  std::uint64_t of_number(SecretKind kind, std::uint64_t number);

 private:
  using Key = std::pair<SecretKind, std::string>;

  std::string net_of_ipv6(const std::array<unsigned char, 16>& address);
  // The placeholder of `key`: `itself` if it is a free placeholder, else the next free number as
  // `spell` writes it.
  template <class Spell>
  std::string assign(SecretKind kind, const std::string& key, const std::string& itself, bool is_placeholder,
                     const Spell& spell);

  std::map<Key, std::string> known_;
  std::set<std::string, std::less<>> used_;
  std::map<std::string, std::uint64_t, std::less<>> next_;  // by the form of the placeholder
};

}  // namespace autopilot::cli
