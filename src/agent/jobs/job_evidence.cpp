// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/job_evidence.hpp"

#include <deque>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>
#include <variant>

#include "api/job_records.hpp"
#include "logging/log.hpp"

namespace autopilot::agent {
namespace {

constexpr const char* kEvidenceFolder = "/evidence";

api::CapturedEvidence to_api(const collect::EvidenceIndex& index) {
  api::CapturedEvidence captured{.id = index.finding, .job = index.job, .time = index.time, .items = {}};
  for (const collect::EvidenceItem& item : index.items)
    captured.items.push_back({.name = item.name,
                              .file = item.file,
                              .bytes = item.bytes,
                              .took_s = to_seconds(item.took),
                              .problem = item.problem});
  return captured;
}

}  // namespace

struct JobEvidence::Disk {
  explicit Disk(std::string in) : folder(std::move(in)) {}

  const std::string folder;
  std::mutex mutex;
  std::shared_ptr<collect::EvidenceStore> store;  // null: not open
  std::string problem;                            // why it is not; empty: it is, or was not tried

  std::shared_ptr<collect::EvidenceStore> held() {
    const std::lock_guard lock(mutex);
    return store;
  }

  // On the worker.
  Result<std::shared_ptr<collect::EvidenceStore>> opened() {
    if (auto known = held()) return known;
    std::error_code ignored;  // what follows fails
    std::filesystem::create_directory(folder, ignored);
    auto made = collect::EvidenceStore::open(folder + kEvidenceFolder);
    const std::lock_guard lock(mutex);
    if (!made) {
      if (std::exchange(problem, made.error().what) != made.error().what)
        logging::log_warning("evidence about jobs cannot be kept", {{"cause", problem}});
      return fail(made.error());
    }
    problem.clear();
    store = std::make_shared<collect::EvidenceStore>(*std::move(made));
    return store;
  }
};

struct JobEvidence::Windows {
  std::mutex mutex;
  std::deque<jobs::WindowRecord> newest;  // the oldest first

  Result<std::string> lines() {
    const std::lock_guard lock(mutex);
    if (newest.empty()) return fail(Errc::not_found, "no telemetry window ended yet");
    std::string text;
    for (const jobs::WindowRecord& window : newest)
      text += api::to_line(jobs::Record(window));
    return text;
  }
};

JobEvidence::JobEvidence(const std::string& folder, collect::EvidenceSources sources)
    : sources_(std::move(sources)),
      windows_(std::make_shared<Windows>()),
      disk_(std::make_shared<Disk>(folder)) {
  sources_.telemetry = [windows = windows_](MonoTime) { return windows->lines(); };
}

void JobEvidence::note(const std::vector<jobs::Record>& records) {
  for (const jobs::Record& record : records) {
    const auto* const window = std::get_if<jobs::WindowRecord>(&record);
    if (window == nullptr) continue;
    const std::lock_guard lock(windows_->mutex);
    windows_->newest.push_back(*window);
    if (windows_->newest.size() > kMostWindows) windows_->newest.pop_front();
  }
}

void JobEvidence::look(const std::vector<api::SuspectedJob>& suspected, const collect::SeenJobs& seen,
                       Instant now) {
  log_finished();
  if (suspected.empty()) return;
  if (!capture_) {
    auto store = disk_->held();
    if (!store) return open(now);
    capture_ = std::make_unique<collect::EvidenceCapture>(std::move(store), sources_);
  }
  watch_.look(suspected, seen, now.wall,
              [this](collect::EvidenceRequest request) { return capture_->start(std::move(request)); });
}

void JobEvidence::open(Instant now) {
  if (tried_ && now.mono - *tried_ < kRetry) return;
  tried_ = now.mono;
  (void)worker_.submit([disk = disk_] { (void)disk->opened(); });
}

// A finding that has evidence already is one of before a restart.
void JobEvidence::log_finished() {
  if (!capture_) return;
  for (const collect::EvidenceCapture::Outcome& outcome : capture_->take_finished()) {
    if (outcome.index)
      logging::log_info(
          "evidence about a job was captured",
          {{"job", outcome.index->job}, {"folder", disk_->folder + kEvidenceFolder + "/" + outcome.finding}});
    else if (outcome.index.error().code != Errc::conflict)
      logging::log_warning("evidence about a job was not captured",
                           {{"finding", outcome.finding}, {"cause", outcome.index.error().what}});
  }
}

template <class Done>
void JobEvidence::submit(std::function<void()> task, const Done& done) {
  if (worker_.submit(std::move(task)) == 0)
    done(fail(Errc::exhausted,
              "too many questions about evidence wait, because the disk with `state_dir` does not answer"));
}

void JobEvidence::list(std::function<void(Result<api::EvidenceList> list)> done) {
  submit(
      [disk = disk_, done] {
        const auto store = disk->opened();
        if (!store) return done(fail(store.error()));
        api::EvidenceList list{.folder = disk->folder + kEvidenceFolder, .evidence = {}};
        for (const collect::EvidenceIndex& index : (*store)->list())
          list.evidence.push_back(to_api(index));
        done(std::move(list));
      },
      done);
}

void JobEvidence::read(std::string id, std::string file, std::size_t offset,
                       std::function<void(Result<std::string> text)> done) {
  submit(
      [disk = disk_, id = std::move(id), file = std::move(file), offset, done] {
        const auto store = disk->opened();
        if (!store) return done(fail(store.error()));
        const auto text = (*store)->read(id, file);
        if (!text) return done(fail(text.error()));
        if (offset > text->size())
          return done(
              fail(Errc::malformed, "offset: the text has " + std::to_string(text->size()) + " bytes"));
        done(text->substr(offset, api::kMostEvidenceBytes));
      },
      done);
}

}  // namespace autopilot::agent
