// SPDX-License-Identifier: Apache-2.0
#include "cli/job_recording.hpp"

#include <iostream>
#include <utility>
#include <variant>

#include "api/jobs_v1.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/interrupt.hpp"
#include "cli/output/print.hpp"
#include "cli/recording/scrub_recording.hpp"
#include "cli/settings.hpp"
#include "core/parse.hpp"
#include "host/clock/system_clock.hpp"
#include "host/files/own_folder.hpp"
#include "logging/build_info.hpp"
#include "net/http_client.hpp"

namespace autopilot::cli {

Result<JobRecording> JobRecording::create(const std::string& directory, const api::JobFormat& format,
                                          bool is_scrubbed) {
  (void)TRY(host::OwnFolder::create(directory));
  JobRecording recording(directory);
  if (is_scrubbed) recording.scrubber_.emplace();
  TRY_STATUS(recording.write(api::JobFile::jobs, api::to_line(format)));
  return recording;
}

Status JobRecording::write(api::JobFile file, std::string_view line) {
  auto found = files_.find(file);
  const std::string path = directory_ + "/" + std::string(api::file_name(file));
  if (found == files_.end())
    found = files_.emplace(file, std::ofstream(path, std::ios::binary | std::ios::app)).first;
  if (bytes_ + line.size() > kMostBytes)
    return fail(Errc::exhausted, directory_ + " has 4 GiB, the most that a recording can have");
  std::ofstream& out = found->second;
  out << line;
  if (!line.ends_with('\n')) out << '\n';
  // A recording that is killed keeps what was written.
  out.flush();
  if (!out) return fail(Errc::unavailable, path + ": cannot be written; is the disk full?");
  bytes_ += line.size();
  return {};
}

Status JobRecording::add(std::string_view line) {
  ended_.clear();
  for (const api::JobFile file :
       {api::JobFile::telemetry, api::JobFile::progress, api::JobFile::events, api::JobFile::jobs}) {
    const auto parsed = api::parse_job_line(line, file);
    if (!parsed || !std::holds_alternative<jobs::Record>(*parsed)) continue;
    const auto& record = std::get<jobs::Record>(*parsed);
    if (const auto* end = std::get_if<jobs::JobEndRecord>(&record)) ended_ = end->job;
    ++records_;
    return write(api::file_of(record), scrubber_ ? scrubber_->apply(line) : std::string(line));
  }
  return fail(Errc::malformed,
              "the agent sent a line that is not a record of a job: " + to_printable(line, 200));
}

namespace {

// The key of the job; the name itself if the agent does not evaluate jobs.
Result<std::string> key_of(const AgentClient& agent, const std::string& name) {
  const auto body = agent.get("/v1/jobs", {{"job", name}});
  if (!body && body.error().code == Errc::unsupported) return name;
  if (!body) return fail(body.error());
  return TRY(api::parse_job(*body)).state.job;
}

class Follower {
 public:
  Follower(JobRecording& recording, std::string job, std::optional<MonoTime> end)
      : recording_(recording), job_(std::move(job)), end_(end) {}

  // False: the recording is complete.
  bool take(const net::ServerEvent& event) {
    if (event.event == "dropped") {
      has_gaps_ = true;
      return true;
    }
    if (event.event != "record") return true;
    if (auto added = recording_.add(event.data); !added) {
      problem_ = std::move(added.error());
      return problem_->code == Errc::malformed;
    }
    const bool is_over = end_ && clock_.now().mono >= *end_;
    return !is_over && recording_.ended() != job_;
  }
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }
  [[nodiscard]] bool has_gaps() const { return has_gaps_; }

 private:
  host::SystemClock clock_;
  JobRecording& recording_;
  std::string job_;
  std::optional<MonoTime> end_;
  std::optional<Error> problem_;
  bool has_gaps_ = false;
};

}  // namespace

int record_job(const JobRecordingOptions& options) {
  const auto target = agent_target(options.socket);
  if (!target) return report(target.error());
  const AgentClient agent(*target);
  const auto job = key_of(agent, options.job);
  if (!job) return report(job.error());
  const Instant now = host::SystemClock{}.now();
  auto recording =
      JobRecording::create(options.directory,
                           {.time = now.wall,
                            .format = "autopilot-job-telemetry",
                            .version = api::kJobFormatVersion,
                            .source = "autopilot record " + std::string(logging::build_info().version)},
                           options.scrub);
  if (!recording) return report(recording.error());
  const Interrupt interrupt;
  Follower follower(*recording, *job,
                    options.length ? std::optional(now.mono + *options.length) : std::nullopt);
  net::HttpRequest request;
  request.method = "GET";
  request.path = "/v1/jobs/records";
  request.query["job"] = *job;
  const auto ended = net::follow(
      *target, request, {}, [&](const net::ServerEvent& event) { return follower.take(event); },
      interrupt.flag());
  if (follower.has_gaps())
    tell("the agent dropped records, because they were not read fast enough: the recording has gaps");
  std::cout << printable(options.directory) << ": " << recording->records() << " records, "
            << recording->bytes() << " bytes; run the engine on them with: autopilot jobs replay "
            << printable(options.directory) << "\n";
  if (const auto counts = recording->scrubbed()) std::cout << scrub_summary(*counts) << "\n";
  if (follower.problem()) return report(*follower.problem());
  return ended ? kExitHealthy : report(ended.error());
}

}  // namespace autopilot::cli
