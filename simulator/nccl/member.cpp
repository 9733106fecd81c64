// SPDX-License-Identifier: Apache-2.0
#include "nccl/member.hpp"

namespace autopilot::simulator::nccl {
namespace {

Collective head_of(const AllReduceCall& call, std::size_t bytes) {
  return {.count = call.count, .type = call.type, .operation = call.operation, .bytes = bytes};
}

}  // namespace

std::optional<MemberError> say_hello(abi::CommunicatorTag& member, const abi::UniqueId& id, int version) {
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

}  // namespace autopilot::simulator::nccl
