// SPDX-License-Identifier: Apache-2.0
#include "machine/build.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

#include "core/yaml_text.hpp"

namespace autopilot::simulator {
namespace {

// FNV-1a with a final mix, so that similar texts differ in every digit.
std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ seed;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash ^= hash >> 33U;
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33U);
}

}  // namespace

std::string hex_of(std::string_view text, std::size_t digits) {
  std::string out;
  for (std::uint64_t seed = 0; out.size() < digits; ++seed) {
    std::array<char, 17> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%016llx",
                  static_cast<unsigned long long>(hash_of(text, seed)));
    out += buffer.data();
  }
  return out.substr(0, digits);
}

std::string uuid_of(std::string_view text) {
  const std::string hex = hex_of(text, 32);
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-4" + hex.substr(13, 3) + "-a" + hex.substr(17, 3) +
         "-" + hex.substr(20, 12);
}

void build_identity(const Description& description, Machine& machine) {
  YamlNode& root = machine.machine;
  root = yaml_map();
  yaml_member(root, "schema") = yaml_word("autopilot.machine/v1");
  yaml_member(root, "node") = yaml_word(description.node);
  yaml_member(root, "boot_id") = yaml_word(uuid_of(description.id + " boot"));
  yaml_member(root, "time") = yaml_word("2026-01-15T08:00:00Z");
  yaml_member(root, "uptime") = yaml_word("36h");
  yaml_member(root, "simulated") = yaml_flag(true);
  yaml_member(root, "description") = yaml_word(description.title);
  YamlNode& sync = yaml_member(root, "time_sync");
  yaml_member(sync, "synchronised") = yaml_flag(true);
  yaml_member(sync, "clock_error") = yaml_flag(false);
  yaml_member(sync, "offset_ns") = yaml_integer(-18432);
  yaml_member(sync, "max_error_us") = yaml_integer(21500);
  yaml_member(sync, "estimated_error_us") = yaml_integer(120);
}

Machine build_machine(const Description& description) {
  Machine machine;
  build_identity(description, machine);
  build_host_files(description, machine);
  build_pci(description, machine);
  build_gpus(description, machine);
  build_amd_gpus(description, machine);
  build_infiniband(description, machine);
  build_ethernet(description, machine);
  build_modules(description, machine);
  build_nvme(description, machine);
  build_raid(description, machine);
  build_mounts(description, machine);
  build_boot_log(description, machine);
  return machine;
}

}  // namespace autopilot::simulator
