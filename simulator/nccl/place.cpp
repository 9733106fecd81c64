// SPDX-License-Identifier: Apache-2.0
#include "nccl/place.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstring>

namespace autopilot::simulator::nccl {
namespace {

// Layout within an id; the rest of the id is zero.
struct Written {
  char mark[8];
  std::uint64_t secret;
  std::uint32_t address;
  std::uint16_t port;
  std::uint16_t unused;
};
static_assert(sizeof(Written) == 24);
constexpr char kMark[9] = "simulate";

}  // namespace

probes::gpu::nccl::UniqueId to_id(const Place& place) {
  Written written{
      .mark = {}, .secret = place.secret, .address = place.address, .port = place.port, .unused = 0};
  std::memcpy(written.mark, kMark, sizeof written.mark);
  probes::gpu::nccl::UniqueId id{};
  std::memcpy(id.bytes, &written, sizeof written);
  return id;
}

std::optional<Place> parse_id(const probes::gpu::nccl::UniqueId& id) {
  Written written{};
  std::memcpy(&written, id.bytes, sizeof written);
  if (std::memcmp(written.mark, kMark, sizeof written.mark) != 0) return std::nullopt;
  return Place{.address = written.address, .port = written.port, .secret = written.secret};
}

std::string to_text(const Place& place) {
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &place.address, text.data(), text.size());
  return std::string(text.data()) + "<" + std::to_string(place.port) + ">";
}

}  // namespace autopilot::simulator::nccl
