// SPDX-License-Identifier: Apache-2.0
#include "nccl/group.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace autopilot::simulator::nccl {
namespace {

using Clock = std::chrono::steady_clock;

// Flips the sign of the last number.
void make_wrong(const AllReduceCall& call) {
  auto* at = static_cast<char*>(call.receive) + (call.count - 1) * sizeof(float);
  float value = 0;
  std::memcpy(&value, at, sizeof value);
  value = -value;
  std::memcpy(at, &value, sizeof value);
}

// Gives a member the wrong word of the table instead of the word that all ranks agreed on.
void tell_word(abi::CommunicatorTag& member, const AllReduceCall& call,
               const std::optional<WrongWord>& wrong) {
  if (call.type != abi::kUint64) return;
  const bool is_now = wrong && wrong->rank == member.rank && wrong->call == member.words;
  ++member.words;
  if (is_now) std::memcpy(call.receive, &wrong->value, sizeof wrong->value);
}

void lose_peers(const Reduction& reduction) {
  reduction.member->async_error = abi::kRemoteError;
  static_cast<void>(
      Library::instance().fail_with({abi::kRemoteError, "connection closed by remote peer of rank " +
                                                            std::to_string(reduction.member->rank)}));
}

}  // namespace

Group& Group::here() {
  thread_local Group group;
  return group;
}

abi::Return Group::end() {
  if (depth_ == 0) return abi::kInvalidUsage;
  return --depth_ == 0 ? run() : abi::kSuccess;
}

abi::Return Group::spoil(abi::Return code) {
  if (depth_ > 0) spoiled_ = code;
  return code;
}

abi::Return Group::add(const Join& join) {
  joins_.push_back(join);
  return depth_ == 0 ? run() : abi::kSuccess;
}

abi::Return Group::add(const Reduction& reduction) {
  reductions_.push_back(reduction);
  return depth_ == 0 ? run() : abi::kSuccess;
}

abi::Return Group::run() {
  const abi::Return spoiled = std::exchange(spoiled_, abi::kSuccess);
  const abi::Return code = spoiled == abi::kSuccess ? run_joins() : spoiled;
  joins_.clear();
  if (code == abi::kSuccess) run_reductions();
  reductions_.clear();
  return code;
}

abi::Return Group::run_joins() {
  Library& library = Library::instance();
  const int version = library.table().version;
  for (const Join& join : joins_)
    if (auto error = say_hello(*join.made, join.id, version)) return library.fail_with(*std::move(error));
  for (const Join& join : joins_)
    if (auto error = wait_for_welcome(*join.made, version)) return library.fail_with(*std::move(error));
  for (const Join& join : joins_)
    *join.to = join.made;
  return abi::kSuccess;
}

// A rank that loses its peers gets the error as from a real library: not from the call, but from
// ncclCommGetAsyncError.
void Group::run_reductions() {
  const auto begin = Clock::now();
  double seconds = 0;
  const auto wrong_rank = Library::instance().table().wrong_rank;
  for (const Reduction& reduction : reductions_)
    if (!send_windows(*reduction.member, reduction.call)) lose_peers(reduction);
  for (const Reduction& reduction : reductions_) {
    if (reduction.member->async_error != abi::kSuccess) continue;
    if (!receive_windows(*reduction.member, reduction.call)) lose_peers(reduction);
    if (wrong_rank == reduction.member->rank && reduction.call.type == abi::kFloat32)
      make_wrong(reduction.call);
    tell_word(*reduction.member, reduction.call, Library::instance().table().wrong_word);
    seconds = std::max(seconds, seconds_of(*reduction.member, reduction.call));
  }
  std::this_thread::sleep_until(
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
}

}  // namespace autopilot::simulator::nccl
