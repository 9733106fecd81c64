// SPDX-License-Identifier: Apache-2.0
#include "host/process_helper/process_helper.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <limits>
#include <sys/stat.h>
#include <utility>

#include "core/parse.hpp"
#include "host/process/process_handle.hpp"

namespace autopilot::host {
namespace {

namespace json = boost::json;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMaxFile = 4096;  // bytes of stat and of io

Error malformed(const std::string& what) {
  return {.code = Errc::malformed, .what = "ras helper: " + what};
}

Result<json::object> parse_object(std::string_view text) {
  json::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  if (error || !value.is_object()) return fail(malformed("not a JSON object"));
  return std::move(value.get_object());
}

Result<std::int64_t> number_in(const json::object& object, std::string_view name, std::int64_t lowest = 0,
                               std::int64_t highest = kMost) {
  const json::value* const member = object.if_contains(name);
  if (member == nullptr || !member->is_int64() || member->get_int64() < lowest ||
      member->get_int64() > highest)
    return fail(malformed("missing or invalid member " + std::string(name)));
  return member->get_int64();
}

Result<std::uint64_t> count_in(const json::object& object, std::string_view name) {
  return static_cast<std::uint64_t>(TRY(number_in(object, name)));
}

std::int64_t count_of(std::uint64_t number) {
  return static_cast<std::int64_t>(std::min(number, static_cast<std::uint64_t>(kMost)));
}

}  // namespace

std::string encode_process_start(const ProcessStart& start) {
  return json::serialize(json::object{{"pid", start.pid}, {"startedTicks", count_of(start.started_ticks)}});
}

Result<ProcessStart> parse_process_start(std::string_view params) {
  const json::object object = TRY(parse_object(params));
  ProcessStart start;
  start.pid = TRY(number_in(object, "pid", 1, std::numeric_limits<std::int32_t>::max()));
  start.started_ticks = TRY(count_in(object, "startedTicks"));
  return start;
}

std::string encode_facts(const ClosedFacts& facts) {
  json::object environment;
  for (const auto& [name, value] : facts.environment)
    environment.emplace(name, value);
  return json::serialize(json::object{{"environment", std::move(environment)},
                                      {"isCut", facts.is_cut ? 1 : 0},
                                      {"networkNamespace", count_of(facts.network_namespace)}});
}

Result<ClosedFacts> parse_facts(std::string_view answer) {
  const json::object object = TRY(parse_object(answer));
  ClosedFacts facts;
  facts.is_cut = TRY(number_in(object, "isCut", 0, 1)) != 0;
  facts.network_namespace = TRY(count_in(object, "networkNamespace"));
  const json::value* const environment = object.if_contains("environment");
  if (environment == nullptr || !environment->is_object())
    return fail(malformed("missing or invalid member environment"));
  for (const auto& [name, value] : environment->get_object()) {
    const bool is_listed = std::ranges::binary_search(environment_names(), std::string_view(name));
    const std::string_view text = value.is_string() ? std::string_view(value.get_string()) : "";
    if (!is_listed || text.empty() || text.size() > Launch::kLongestValue || !is_printable(text))
      return fail(malformed("a variable is not listed, or its value is invalid"));
    facts.environment.emplace(name, text);
  }
  return facts;
}

std::string encode_io(const TaskIo& io) {
  return json::serialize(json::object{{"callReadBytes", count_of(io.call_read_bytes)},
                                      {"callWrittenBytes", count_of(io.call_written_bytes)},
                                      {"storageReadBytes", count_of(io.storage_read_bytes)},
                                      {"storageWrittenBytes", count_of(io.storage_written_bytes)}});
}

Result<TaskIo> parse_io(std::string_view answer) {
  const json::object object = TRY(parse_object(answer));
  TaskIo io;
  io.call_read_bytes = TRY(count_in(object, "callReadBytes"));
  io.call_written_bytes = TRY(count_in(object, "callWrittenBytes"));
  io.storage_read_bytes = TRY(count_in(object, "storageReadBytes"));
  io.storage_written_bytes = TRY(count_in(object, "storageWrittenBytes"));
  return io;
}

// ---- the helper

namespace {

// Where a process waits for memory from a dead file server, a reader of its memory would wait as well.
Status check_runs(const ProcessHandle& process) {
  const std::string text = TRY(process.read("stat", kMaxFile));
  const TaskState task = TRY(parse_task_state(text));
  if (task.state != 'D') return {};
  return fail(Errc::unavailable,
              "process " + std::to_string(task.pid) + " is blocked in the kernel; it is not read");
}

Result<std::uint64_t> network_namespace_number(const ProcessHandle& process) {
  const Fd name_space = TRY(process.network_namespace());
  struct stat status {};
  if (::fstat(name_space.get(), &status) != 0) return fail_errno(errno, "a network namespace");
  return status.st_ino;
}

Result<std::string> answer_facts(std::string_view params) {
  const ProcessStart start = TRY(parse_process_start(params));
  const auto process = TRY(ProcessHandle::open(start.pid, start.started_ticks));
  TRY_STATUS(check_runs(process));
  std::string text = TRY(process.initial_environment(Launch::kEnvironmentBytes));
  Launch launch;
  parse_environment(text, launch);
  const bool is_cut = text.size() == Launch::kEnvironmentBytes;
  // It may hold secrets.
  ::explicit_bzero(text.data(), text.size());
  const std::uint64_t network_namespace = TRY(network_namespace_number(process));
  return encode_facts({.environment = std::move(launch.environment),
                       .is_cut = is_cut,
                       .network_namespace = network_namespace});
}

Result<std::string> answer_io(std::string_view params) {
  const ProcessStart start = TRY(parse_process_start(params));
  const auto process = TRY(ProcessHandle::open(start.pid, start.started_ticks));
  const std::string text = TRY(process.read("io", kMaxFile));
  return encode_io(TRY(parse_task_io(text)));
}

}  // namespace

HelperMethods process_methods() {
  return {{std::string(kReadFacts), [](std::string_view params, MonoTime) { return answer_facts(params); }},
          {std::string(kReadIo), [](std::string_view params, MonoTime) { return answer_io(params); }}};
}

// ---- the agent

Result<ClosedFacts> HelperProcesses::facts(std::int64_t pid, std::uint64_t started_ticks) const {
  return parse_facts(TRY(ask(kReadFacts, {pid, started_ticks})));
}

Result<TaskIo> HelperProcesses::io(std::int64_t pid, std::uint64_t started_ticks) const {
  return parse_io(TRY(ask(kReadIo, {pid, started_ticks})));
}

Result<std::string> HelperProcesses::ask(std::string_view method, const ProcessStart& start) const {
  const MonoTime deadline = mono_now() + kPatience;
  const std::unique_lock lock(mutex_, std::chrono::steady_clock::time_point(deadline.time_since_epoch()));
  if (!lock.owns_lock()) return fail(Errc::timed_out, "ras helper: busy with other requests");
  if (mono_now() < not_before_) return fail(problem_);
  return exchange(method, encode_process_start(start), deadline);
}

Error HelperProcesses::pause_after(Error problem) const {
  not_before_ = mono_now() + kPause;
  problem_ = std::move(problem);
  return problem_;
}

Result<std::string> HelperProcesses::exchange(std::string_view method, const std::string& params,
                                              MonoTime deadline) const {
  const bool is_kept = stream_ != nullptr;
  if (!is_kept) {
    auto socket = connect_to_helper(socket_);
    if (!socket) return fail(pause_after(std::move(socket).error()));
    stream_ = std::make_unique<HelperStream>("ras helper at " + socket_, *std::move(socket));
  }
  auto answer = stream_->exchange(method, params, deadline);
  if (answer) return *std::move(answer);
  HelperError error = std::move(answer).error();
  if (error.failure == HelperFailure::refused) return fail(std::move(error).error);
  stream_.reset();
  // The helper may have been restarted since the last request.
  if (is_kept && error.failure == HelperFailure::crashed) return exchange(method, params, deadline);
  return fail(pause_after(error_of_subject(std::move(error))));
}

}  // namespace autopilot::host
