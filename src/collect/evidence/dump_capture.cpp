// SPDX-License-Identifier: Apache-2.0
#include "collect/evidence/dump_capture.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <unistd.h>
#include <utility>

#include "collect/evidence/timed_item.hpp"
#include "collect/flight_recorder/dump.hpp"
#include "collect/flight_recorder/dump_summary.hpp"
#include "core/parse.hpp"
#include "host/files/fd.hpp"
#include "host/process/process_handle.hpp"

namespace autopilot::collect {
namespace {

constexpr Duration kPoll = std::chrono::milliseconds(100);
// To read a dump that is there.
constexpr Duration kReadPatience = std::chrono::seconds(2);
// Bytes of the folder that copies leave to the summary.
constexpr std::size_t kSummaryRoom = std::size_t{1} << 20;
constexpr std::size_t kMaxShownPath = 500;

std::string rank_name(const RankProcess& process) {
  return "rank " + std::to_string(process.rank);
}

// One byte; the flight recorder reads the pipe and writes its dump. The path of the pipe.
Result<std::string> write_trigger(const RankEnvironment& environment, const RankProcess& process) {
  if (environment.trigger_prefix.empty())
    return fail(Errc::unsupported,
                "the job sets no TORCH_FR_DEBUG_INFO_PIPE_FILE or TORCH_NCCL_DEBUG_INFO_PIPE_FILE");
  const auto handle = TRY(host::ProcessHandle::open(process.pid, process.started_ticks));
  std::string path = environment.trigger_prefix + std::to_string(process.rank) + ".pipe";
  const host::Fd pipe = TRY(handle.open_pipe(path));
  if (::write(pipe.get(), "1", 1) != 1) return fail_errno(errno, path);
  return path;
}

}  // namespace

struct DumpCapture::Dump {
  DumpFile file;
  std::string bytes;
  bool is_new = false;  // written after the request
};

DumpCapture::Rank DumpCapture::ask_rank(const EnvironmentOf& environment_of, const RankProcess& process) {
  const RankEnvironment environment = environment_of(process);
  Rank rank{
      .process = process, .prefixes = dump_prefixes_of(environment), .before = {}, .pipe = {}, .problem = {}};
  if (!rank.prefixes.empty())
    if (const auto dump = open_dump(process, rank.prefixes)) rank.before = dump->stamp;
  if (auto pipe = write_trigger(environment, process))
    rank.pipe = *std::move(pipe);
  else
    rank.problem = pipe.error().what;
  return rank;
}

void DumpCapture::ask(Duration patience) {
  TimedItem item(folder_, "flight_recorder");
  const MonoTime deadline = host::mono_now() + patience;
  CapturedText captured;
  for (const RankProcess& process : processes_) {
    if (ranks_.size() == kMaxRanks) {
      captured.note("only the first " + std::to_string(kMaxRanks) + " ranks were asked");
      break;
    }
    auto asked =
        runner_.run_for<Rank>([environment_of = environment_of_,
                               process]() -> Result<Rank> { return ask_rank(environment_of, process); },
                              deadline);
    Rank& rank = ranks_.emplace_back();
    rank.process = process;
    if (asked)
      rank = *std::move(asked);
    else
      rank.problem = asked.error().what;
    captured.add_line(
        rank_name(process) + ": " +
            (rank.pipe.empty() ? rank.problem
                               : "asked for a dump through " + to_printable(rank.pipe, kMaxShownPath)),
        rank.pipe.empty());
  }
  item.end("flight_recorder.txt", captured);
}

// A dump that does not change for kSettled. Without a request, or at the deadline: the dump as it is.
Result<DumpCapture::Dump> DumpCapture::wait_for_dump(const Rank& rank, MonoTime deadline) {
  std::optional<DumpStamp> last;
  MonoTime settled{};
  while (true) {
    (void)TRY(host::ProcessHandle::open(rank.process.pid, rank.process.started_ticks));
    const bool is_last = rank.pipe.empty() || host::mono_now() >= deadline;
    auto file = open_dump(rank.process, rank.prefixes);
    if (!file && (is_last || file.error().code != Errc::not_found)) return fail(std::move(file).error());
    if (file && last != file->stamp) {
      last = file->stamp;
      settled = host::mono_now() + kSettled;
    }
    const bool is_new = file && file->stamp != rank.before;
    if (is_last || (is_new && host::mono_now() >= settled)) {
      std::string bytes = TRY(read_dump(*file, DumpLimits::kMaxBytes));
      return Dump{*std::move(file), std::move(bytes), is_new};
    }
    (void)host::poll_until(std::span<pollfd>(), std::min(deadline, host::mono_now() + kPoll));
  }
}

// The names that PyTorch's own analysis of dumps reads: a prefix and the rank.
std::string DumpCapture::copy_dump(int rank, const Dump& dump) {
  if (!dump.file.is_of_user) return "the file belongs to another user than the process";
  if (dump.bytes.size() > kMaxCopied) return "longer than " + std::to_string(kMaxCopied) + " bytes";
  if (copied_ + dump.bytes.size() > kMaxCopiedTotal || dump.bytes.size() + kSummaryRoom > folder_.room())
    return "the dumps of other ranks fill the evidence";
  copied_ += dump.bytes.size();
  const std::string suffix = dump.file.path.ends_with(".json") ? ".json" : "";
  TimedItem item(folder_, "flight_recorder_dump");
  item.end("flight_recorder_rank_" + std::to_string(rank) + suffix, Result<std::string>(dump.bytes));
  return {};
}

void DumpCapture::copy(Duration patience) {
  TimedItem item(folder_, "flight_recorder_summary");
  const MonoTime deadline = host::mono_now() + patience;
  CapturedText captured;
  std::vector<RankDump> parsed;
  for (const Rank& rank : ranks_) {
    const std::string name = rank_name(rank.process) + ": ";
    if (rank.prefixes.empty()) {
      captured.add_line(
          name +
              "no flight recorder is known: its environment sets no TORCH_FR_BUFFER_SIZE and no "
              "TORCH_FR_DUMP_TEMP_FILE, or cannot be read",
          true);
      continue;
    }
    const auto dump = runner_.run_for<Dump>([rank, deadline] { return wait_for_dump(rank, deadline); },
                                            std::max(deadline, host::mono_now()) + kReadPatience);
    if (!dump) {
      captured.add_line(name + "no dump: " + dump.error().what, true);
      continue;
    }
    auto content = parse_flight_dump(dump->bytes);
    const std::string problem = content ? copy_dump(rank.process.rank, *dump) : content.error().what;
    const bool is_late = !rank.pipe.empty() && !dump->is_new;
    captured.add_line(name + to_printable(dump->file.path, kMaxShownPath) + ", " +
                          std::to_string(dump->bytes.size()) + " bytes" +
                          (is_late ? ", written before the request: no new dump in time" : "") +
                          (problem.empty() ? "" : "; not copied: " + problem),
                      is_late || !problem.empty());
    if (content) parsed.push_back({rank.process.rank, std::move(content->groups)});
  }
  if (const std::string summary = summarise_dumps(parsed); !summary.empty()) captured.text += "\n" + summary;
  item.end("flight_recorder_summary.txt", captured);
}

}  // namespace autopilot::collect
