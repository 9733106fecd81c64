// SPDX-License-Identifier: Apache-2.0
#include "nccl/library.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "core/yaml.hpp"
#include "host/files/tree_file.hpp"

namespace autopilot::simulator::nccl {
namespace {

constexpr double kGiga = 1e9;
constexpr int kLeastVersion = 2000;
constexpr int kMostVersion = 999'999;

WrongWord read_wrong_word(const YamlNode& node, YamlProblems& problems) {
  YamlMap map(node, "wrong_word", problems);
  return {.rank = static_cast<int>(map.required_integer("rank")),
          .call = map.required_integer("call"),
          .value = static_cast<std::uint64_t>(map.required_integer("value"))};
}

}  // namespace

Result<NcclTable> parse_nccl_table(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode root = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  NcclTable table;
  {
    YamlMap map(root, "nccl", problems);
    table.version = static_cast<int>(map.integer("version").value_or(table.version));
    if (table.version < kLeastVersion || table.version > kMostVersion)
      map.problem(map.line_of("version"), "`version`: expected a version such as 22105, which is 2.21.5");
    const auto rate = map.number("bus_gigabits_per_second");
    if (rate && !(*rate > 0))
      map.problem(map.line_of("bus_gigabits_per_second"),
                  "`bus_gigabits_per_second`: expected a number above 0");
    if (rate) table.bus_bits_per_second = *rate * kGiga;
    if (const auto rank = map.integer("wrong_rank")) table.wrong_rank = static_cast<int>(*rank);
    if (const YamlNode* word = map.map("wrong_word")) table.wrong_word = read_wrong_word(*word, problems);
    if (const YamlNode* calls = map.map("calls"))
      table.calls = cuda::read_call_faults(*calls, "ncclResult_t", problems);
  }
  TRY_STATUS(problems.status());
  return table;
}

namespace {

constexpr const char* kTable = "AUTOPILOT_SIM_NCCL";

NcclTable read_table() {
  const char* path = std::getenv(kTable);
  if (path == nullptr) return {};
  const auto text = host::read_tree_file(path, kMaxYamlBytes);
  auto table = text ? parse_nccl_table(*text, path) : fail(text.error());
  if (table) return *std::move(table);
  std::fprintf(stderr, "libnccl-sim: %s\n", table.error().what.c_str());
  return {};
}

// Prints a line to standard output, as NCCL does if it prints its version.
void talk() {
  if (std::getenv("NCCL_DEBUG") == nullptr) return;
  std::printf("a line of the simulated library on standard output\n");
  std::fflush(stdout);
}

}  // namespace

Library& Library::instance() {
  static Library library;
  return library;
}

Library::Library() : table_(read_table()) {
  talk();
}

abi::Return Library::enter(const char* function) {
  const auto fault = table_.calls.find(std::string_view(function));
  if (fault == table_.calls.end()) return abi::kSuccess;
  {
    const std::scoped_lock lock(mutex_);
    if (calls_[function]++ < fault->second.after) return abi::kSuccess;
  }
  const abi::Return code = cuda::act(fault->second);
  return fail_with({code, std::string(function) + " fails, as configured in its table"});
}

abi::Return Library::fail_with(MemberError error) {
  const std::scoped_lock lock(mutex_);
  last_error_ = std::move(error.text);
  return error.code;
}

const char* Library::last_error() {
  const std::scoped_lock lock(mutex_);
  return last_error_.c_str();
}

abi::Communicator Library::make(int ranks, int rank) {
  auto made = std::make_unique<abi::CommunicatorTag>();
  made->ranks = ranks;
  made->rank = rank;
  made->bits_per_second = table_.bus_bits_per_second;
  abi::Communicator handle = made.get();
  const std::scoped_lock lock(mutex_);
  communicators_.emplace(handle, std::move(made));
  return handle;
}

abi::Return Library::free(abi::Communicator communicator) {
  const std::scoped_lock lock(mutex_);
  return communicators_.erase(communicator) == 1 ? abi::kSuccess : abi::kInvalidArgument;
}

bool Library::is_known(abi::Communicator communicator) {
  const std::scoped_lock lock(mutex_);
  return communicators_.contains(communicator);
}

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
void replace_word(abi::CommunicatorTag& member, const AllReduceCall& call,
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
    if (auto error = send_hello(*join.made, join.id, version)) return library.fail_with(*std::move(error));
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
    replace_word(*reduction.member, reduction.call, Library::instance().table().wrong_word);
    seconds = std::max(seconds, seconds_of(*reduction.member, reduction.call));
  }
  std::this_thread::sleep_until(
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
}

}  // namespace autopilot::simulator::nccl
