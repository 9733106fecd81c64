// SPDX-License-Identifier: Apache-2.0
#include "nccl/library.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

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

}  // namespace autopilot::simulator::nccl
