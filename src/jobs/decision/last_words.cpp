// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/last_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/parse.hpp"
#include "core/text.hpp"

namespace autopilot::jobs {
namespace {

constexpr std::size_t kLogBytes = 64 * 1024;

struct WordsRule {
  std::string_view key;
  FailureKind kind;
  CauseStrength strength;
  bool names_gpu;
  std::array<std::string_view, 2> parts;  // all in one line, in lower case
  std::string_view sentence;
};

constexpr auto kOfCause = CauseStrength::specific;
constexpr auto kOfUnstated = CauseStrength::vague;
constexpr auto kOfConsequence = CauseStrength::consequence;
constexpr auto kByHardware = FailureKind::hardware;
constexpr auto kByProgram = FailureKind::application;
constexpr auto kByInfrastructure = FailureKind::infrastructure;
constexpr auto kByUnclear = FailureKind::unclear;

constexpr std::string_view kTextTrace = "traceback";
constexpr std::string_view kTextEcc = "The GPU reported an uncorrectable memory error";
constexpr std::string_view kTextLost = "The GPU is lost to the driver";
constexpr std::string_view kTextFabric = "NVLink or its switch reported an error";
constexpr std::string_view kTextPort = "The network adapter reported an error of its port";
constexpr std::string_view kTextGpuMemory = "CUDA ran out of GPU memory";
constexpr std::string_view kTextHostMemory = "The kernel killed a process for memory";
constexpr std::string_view kTextNan = "A gradient or the loss is not a number";
constexpr std::string_view kTextMismatch = "The ranks started different collectives";
constexpr std::string_view kTextAccess = "A kernel of the program accessed memory that is not its own";
constexpr std::string_view kTextIo = "Storage returned an error";
constexpr std::string_view kTextFull = "The storage is full";
constexpr std::string_view kTextPeer = "Another rank closed the connection";
constexpr std::string_view kTextWaited = "A collective waited for another rank until its timeout";
constexpr std::string_view kTextKilled = "The process was killed, by an unknown sender";
constexpr std::string_view kTextStopped = "The process was stopped from outside";

// The first rule that a line contains is the line's. Causes before consequences: a line of the watchdog that
// quotes a cause is about the cause.
constexpr auto kWords = std::to_array<WordsRule>({
    {"ecc_uncorrectable", kByHardware, kOfCause, true, {"uncorrectable ecc error"}, kTextEcc},
    {"ecc_uncorrectable", kByHardware, kOfCause, true, {"cuda_error_ecc_uncorrectable"}, kTextEcc},
    {"gpu_lost", kByHardware, kOfCause, true, {"fallen off the bus"}, kTextLost},
    {"gpu_lost", kByHardware, kOfCause, true, {"gpu is lost"}, kTextLost},
    {"gpu_lost", kByHardware, kOfCause, true, {"unable to determine the device handle"}, kTextLost},
    {"gpu_fabric", kByHardware, kOfCause, true, {"uncorrectable nvlink error"}, kTextFabric},
    {"gpu_fabric", kByHardware, kOfCause, false, {"peer gpu memory over nvlink"}, kTextFabric},
    {"nic_error", kByHardware, kOfCause, false, {"net/ib", "port error"}, kTextPort},
    {"nic_error", kByHardware, kOfCause, false, {"net/ib", "local catastrophic error"}, kTextPort},
    {"host_out_of_memory", kByProgram, kOfCause, false, {"out of memory: killed process"}, kTextHostMemory},
    {"host_out_of_memory", kByProgram, kOfCause, false, {"oom-kill"}, kTextHostMemory},
    {"host_out_of_memory",
     kByProgram,
     kOfCause,
     false,
     {"dataloader worker", "signal: killed"},
     kTextHostMemory},
    {"shared_memory",
     kByProgram,
     kOfCause,
     false,
     {"insufficient shared memory"},
     "The shared memory of the pod is too small"},
    {"shared_memory",
     kByProgram,
     kOfCause,
     false,
     {"out of shared memory", "bus error"},
     "The shared memory of the pod is too small"},
    {"cuda_out_of_memory", kByProgram, kOfCause, false, {"cuda", "out of memory"}, kTextGpuMemory},
    {"cuda_out_of_memory", kByProgram, kOfCause, false, {"cuda", "outofmemory"}, kTextGpuMemory},
    {"cuda_out_of_memory", kByProgram, kOfCause, false, {"cuda", "error_out_of_memory"}, kTextGpuMemory},
    {"cuda_out_of_memory",
     kByProgram,
     kOfCause,
     false,
     {"resource_exhausted", "out of memory"},
     kTextGpuMemory},
    {"cuda_out_of_memory", kByProgram, kOfCause, false, {"hip", "out of memory"}, kTextGpuMemory},
    {"not_a_number", kByProgram, kOfCause, false, {"found nan in"}, kTextNan},
    {"not_a_number", kByProgram, kOfCause, false, {"loss is nan"}, kTextNan},
    {"not_a_number", kByProgram, kOfCause, false, {"nan loss"}, kTextNan},
    {"not_a_number", kByProgram, kOfCause, false, {"unexpected result nan"}, kTextNan},
    {"collective_mismatch",
     kByProgram,
     kOfCause,
     false,
     {"detected mismatch between collectives"},
     kTextMismatch},
    {"collective_mismatch", kByProgram, kOfCause, false, {"mismatched collective"}, kTextMismatch},
    {"illegal_access", kByProgram, kOfCause, false, {"illegal memory access"}, kTextAccess},
    {"illegal_access",
     kByProgram,
     kOfCause,
     false,
     {"device-side assert triggered"},
     "An assertion in a kernel of the program failed"},
    {"launch_failure",
     kByUnclear,
     kOfUnstated,
     true,
     {"unspecified launch failure"},
     "A kernel failed on the GPU"},
    {"launch_failure",
     kByUnclear,
     kOfUnstated,
     true,
     {"cuda error: unknown error"},
     "A kernel failed on the GPU"},
    {"gpu_busy",
     kByInfrastructure,
     kOfCause,
     false,
     {"devices are busy or unavailable"},
     "The GPU was not available"},
    {"gpu_busy", kByInfrastructure, kOfCause, false, {"no cuda-capable device"}, "The GPU was not available"},
    {"gpu_busy",
     kByInfrastructure,
     kOfCause,
     false,
     {"driver/library version mismatch"},
     "The driver and its library have different versions"},
    {"storage_full", kByInfrastructure, kOfCause, false, {"no space left on device"}, kTextFull},
    {"storage_full", kByInfrastructure, kOfCause, false, {"disk quota exceeded"}, kTextFull},
    {"storage_error", kByInfrastructure, kOfCause, false, {"input/output error"}, kTextIo},
    {"storage_error", kByInfrastructure, kOfCause, false, {"stale file handle"}, kTextIo},
    {"storage_error", kByInfrastructure, kOfCause, false, {"stale nfs file handle"}, kTextIo},
    {"storage_error", kByInfrastructure, kOfCause, false, {"remote i/o error"}, kTextIo},
    {"storage_error", kByInfrastructure, kOfCause, false, {"read-only file system"}, kTextIo},
    {"storage_error", kByInfrastructure, kOfCause, false, {"transport endpoint is not connected"}, kTextIo},
    {"name_resolution",
     kByInfrastructure,
     kOfCause,
     false,
     {"temporary failure in name resolution"},
     "A host name could not be resolved"},
    {"collective_timeout",
     kByUnclear,
     kOfConsequence,
     false,
     {"watchdog caught collective operation timeout"},
     kTextWaited},
    {"collective_timeout", kByUnclear, kOfConsequence, false, {"detected by watchdog"}, kTextWaited},
    {"collective_timeout",
     kByUnclear,
     kOfConsequence,
     false,
     {"nccl operations have failed or timed out"},
     kTextWaited},
    {"collective_timeout", kByUnclear, kOfConsequence, false, {"timed out in blocking wait"}, kTextWaited},
    {"collective_timeout",
     kByUnclear,
     kOfConsequence,
     false,
     {"taking the entire process down"},
     kTextWaited},
    {"collective_timeout", kByUnclear, kOfConsequence, false, {"timeout at nccl work"}, kTextWaited},
    {"collective_timeout", kByUnclear, kOfConsequence, false, {"watchdog thread terminated"}, kTextWaited},
    {"collective_timeout", kByUnclear, kOfConsequence, false, {"barrier timed out"}, kTextWaited},
    {"peer_ended", kByUnclear, kOfConsequence, false, {"task", "heartbeat timeout"}, kTextPeer},
    {"peer_ended", kByUnclear, kOfConsequence, false, {"ncclremoteerror"}, kTextPeer},
    {"peer_ended", kByUnclear, kOfConsequence, false, {"remote process exited"}, kTextPeer},
    {"peer_ended", kByUnclear, kOfConsequence, false, {"connection reset by peer"}, kTextPeer},
    {"peer_ended", kByUnclear, kOfConsequence, false, {"connection closed by"}, kTextPeer},
    {"peer_ended", kByUnclear, kOfConsequence, false, {"connection was likely closed"}, kTextPeer},
    {"peer_ended", kByUnclear, kOfConsequence, false, {"broken pipe"}, kTextPeer},
    {"peer_ended", kByUnclear, kOfConsequence, false, {"net/ib", "got completion"}, kTextPeer},
    {"peer_ended", kByUnclear, kOfConsequence, false, {"nccl communicator was aborted"}, kTextPeer},
    {"peer_ended", kByUnclear, kOfConsequence, false, {"distbackenderror"}, kTextPeer},
    {"peer_ended", kByUnclear, kOfConsequence, false, {"distnetworkerror"}, kTextPeer},
    {"peer_ended", kByUnclear, kOfConsequence, false, {"rendezvousclosederror"}, kTextPeer},
    {"launcher_summary",
     kByUnclear,
     kOfConsequence,
     false,
     {"childfailederror"},
     "The launcher ended the other ranks"},
    {"stopped", kByUnclear, kOfConsequence, false, {"closing", "signal sigterm"}, kTextStopped},
    {"stopped", kByUnclear, kOfConsequence, false, {"death signal, shutting down"}, kTextStopped},
    {"stopped", kByUnclear, kOfConsequence, false, {"signalexception"}, kTextStopped},
    {"stopped", kByUnclear, kOfConsequence, false, {"keyboardinterrupt"}, kTextStopped},
    {"assertion", kByProgram, kOfCause, false, {"assertionerror"}, "An assertion of the program failed"},
    {"assertion", kByProgram, kOfCause, false, {"assertion", "failed"}, "An assertion of the program failed"},
    {"killed", kByUnclear, kOfUnstated, false, {"(exitcode: -9)"}, kTextKilled},
    {"killed", kByUnclear, kOfUnstated, false, {"signal 9 (sigkill)"}, kTextKilled},
    {"crash", kByProgram, kOfUnstated, false, {"segmentation fault"}, "The program crashed"},
    {"traceback",
     kByProgram,
     kOfUnstated,
     false,
     {"traceback (most recent call last)"},
     "The program ended with an exception"},
});

std::string lower_case_line(std::string_view text) {
  std::string lower(text);
  for (char& sign : lower)
    if (sign >= 'A' && sign <= 'Z') sign = static_cast<char>(sign - 'A' + 'a');
  return lower;
}

const WordsRule* words_rule_of(std::string_view lower_line) {
  for (const WordsRule& rule : kWords) {
    const auto contains = [&](std::string_view part) {
      return lower_line.find(part) != std::string_view::npos;
    };
    if (std::all_of(rule.parts.begin(), rule.parts.end(), contains)) return &rule;
  }
  return nullptr;
}

// "[rank3]: Traceback", also behind a time.
std::optional<int> rank_of_prefix(std::string_view line) {
  const std::size_t at = line.find("[rank");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + 5);
  const std::size_t end = rest.find(']');
  if (end == std::string_view::npos) return std::nullopt;
  return parse_number<int>(rest.substr(0, end));
}

// The last line of a Python exception: "ValueError: text", behind the prefix of a rank.
bool is_exception_line(std::string_view line) {
  const std::size_t colon = line.find("Error: ");
  if (colon == std::string_view::npos) return false;
  const std::string_view before = line.substr(0, colon);
  const std::size_t space = before.find_last_of(" ]:");
  const std::string_view name = space == std::string_view::npos ? before : before.substr(space + 1);
  return std::all_of(name.begin(), name.end(), [](char sign) {
    return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || sign == '.' || sign == '_';
  });
}

LastWords words_of(const WordsRule& rule, std::string_view line) {
  return {rule.key,      rule.kind,      rule.strength,       rule.names_gpu,
          rule.sentence, one_line(line), rank_of_prefix(line)};
}

}  // namespace

std::string_view to_string(FailureKind kind) {
  switch (kind) {
    case FailureKind::hardware:
      return "hardware";
    case FailureKind::application:
      return "application";
    case FailureKind::infrastructure:
      return "infrastructure";
    case FailureKind::unclear:
      return "unclear";
  }
  return {};
}

std::string one_line(std::string_view text, std::size_t bytes) {
  std::string line(cut_utf8(text, bytes));
  for (char& sign : line)
    if (static_cast<unsigned char>(sign) < 0x20 || sign == 0x7f) sign = ' ';
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_last_not_of(' ') - begin + 1);
}

std::optional<LastWords> read_last_words(std::string_view text) {
  if (text.size() > kLogBytes) text.remove_prefix(text.size() - kLogBytes);
  std::optional<LastWords> best;
  std::optional<LastWords> consequence;  // the first
  bool knows_exception = false;          // that ended the first trace
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const WordsRule* rule = words_rule_of(lower_case_line(line));
    if (best && best->key == kTextTrace && !knows_exception && is_exception_line(line)) {
      knows_exception = true;
      // The exception itself is more use than where its trace begins.
      if (rule == nullptr) best->line = one_line(line);
      if (rule != nullptr) best = words_of(*rule, line);
    }
    if (rule == nullptr) continue;
    if (!best || rule->strength < best->strength) best = words_of(*rule, line);
    if (!consequence && rule->strength == CauseStrength::consequence) consequence = words_of(*rule, line);
  }
  // A trace without its end proves no error of its own if the rank lost a connection.
  if (best && best->key == kTextTrace && !knows_exception && consequence) return consequence;
  return best;
}

}  // namespace autopilot::jobs
