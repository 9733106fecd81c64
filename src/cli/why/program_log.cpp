// SPDX-License-Identifier: Apache-2.0
#include "cli/why/program_log.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

using why::Evidence;
using why::Kind;

// A line shows the limit if it contains both texts, in small letters.
struct LimitSign {
  std::string_view text;
  std::string_view also;
  std::string_view reason;
};

// Texts of the C library, bash, Python, PyTorch, rdma-core and NCCL.
constexpr std::array<LimitSign, 14> kSigns{
    {{"too many open files", "", "open_files_limit"},
     {"emfile", "", "open_files_limit"},
     {"ibv_reg_mr", "cannot allocate memory", "locked_memory_limit"},
     {"rlimit_memlock", "", "locked_memory_limit"},
     {"ulimit -l", "", "locked_memory_limit"},
     {"mlock", "cannot allocate memory", "locked_memory_limit"},
     {"fork: ", "resource temporarily unavailable", "pids_limit"},
     {"can't start new thread", "", "pids_limit"},
     {"pthread_create", "resource temporarily unavailable", "pids_limit"},
     {"ulimit -s", "", "stack_limit"},
     {"stack overflow", "", "stack_limit"},
     {"insufficient shared memory (shm)", "", "shared_memory_full"},
     {"/dev/shm", "no space left on device", "shared_memory_full"},
     {"killed by signal: bus error", "", "shared_memory_full"}}};

struct LimitText {
  std::string_view reason;
  std::string_view sentence;
};

constexpr std::array<LimitText, 5> kSentences{
    {{"open_files_limit", "The program reached its limit of open files (ulimit -n)."},
     {"locked_memory_limit", "The program may not lock as much memory as it needs (ulimit -l)."},
     {"pids_limit", "The program could not start a process or thread: a limit of processes was reached."},
     {"stack_limit", "The program needs more stack than its limit allows (ulimit -s)."},
     {"shared_memory_full", "Shared memory (/dev/shm) was full."}}};

std::optional<std::string_view> reason_in(std::string_view line) {
  constexpr std::size_t kLongestLine = 4096;
  const std::string small = to_lower(line.substr(0, kLongestLine));
  const auto sign = std::ranges::find_if(kSigns, [&small](const LimitSign& one) {
    return small.find(one.text) != std::string::npos && small.find(one.also) != std::string::npos;
  });
  return sign == kSigns.end() ? std::nullopt : std::optional(sign->reason);
}

Evidence of_limit(std::string_view reason, std::string_view line, const why::Target& target) {
  constexpr std::size_t kShownLine = 300;
  Evidence evidence;
  evidence.kind = Kind::shortage;
  evidence.source = "log of the program";
  evidence.finding.reason = reason;
  evidence.finding.health = Health::degraded;
  const auto text = std::ranges::find(kSentences, reason, &LimitText::reason);
  evidence.finding.message = text == kSentences.end() ? std::string() : std::string(text->sentence);
  evidence.finding.evidence = {{"line", to_printable(trim(line), kShownLine)}};
  GpuUser user;
  if (!target.pids.empty()) user.pid = target.pids.front();
  if (!target.owners.empty()) user.owner = target.owners.front();
  user.process = target.process;
  evidence.users.push_back(std::move(user));
  return evidence;
}

}  // namespace

std::vector<Evidence> evidence_in_log(std::string_view log, const why::Target& target) {
  std::vector<Evidence> found;
  for (const std::string_view line : split(log, '\n')) {
    const auto reason = reason_in(line);
    if (!reason) continue;
    std::erase_if(found, [&](const Evidence& one) { return one.finding.reason == *reason; });
    found.push_back(of_limit(*reason, line, target));
  }
  return found;
}

Result<std::string> read_program_log(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return fail(Errc::not_found, path + ": cannot be read; is it a file that you may read?");
  const auto end = static_cast<std::int64_t>(file.tellg());
  if (end < 0) return fail(Errc::unavailable, path + ": is not a file");
  const auto most = static_cast<std::int64_t>(kMostProgramLog);
  file.seekg(std::max<std::int64_t>(0, end - most));
  std::string text(static_cast<std::size_t>(std::min(end, most)), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  if (file.bad()) return fail(Errc::unavailable, path + ": reading it failed");
  return text;
}

}  // namespace autopilot::cli
