// SPDX-License-Identifier: Apache-2.0
// Writes into a journal until it is killed and prints the id of every event that was acknowledged.
//   journal_hammer PATH direct|writer SEED
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <unistd.h>

#include "store/journal.hpp"
#include "store/journal_writer.hpp"

namespace {

using autopilot::Instant;
using autopilot::MonoTime;
using autopilot::WallTime;
using autopilot::store::Batch;
using autopilot::store::Journal;
using autopilot::store::JournalWriter;

class RealClock final : public autopilot::Clock {
 public:
  [[nodiscard]] Instant now() const override {
    return {std::chrono::system_clock::now(), std::chrono::steady_clock::now()};
  }
};

// One write per line: a pipe takes it whole or not at all.
void say(const std::string& line) {
  const std::string text = line + '\n';
  if (::write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
}

// Events first..first+count-1, and beside them rows that must appear with them or not at all.
Batch make_batch(std::uint64_t first, std::uint64_t count, WallTime now) {
  Batch batch;
  const std::uint64_t last = first + count - 1;
  for (std::uint64_t id = first; id <= last; ++id) {
    auto& event = batch.events.emplace_back();
    event.id = id;
    event.time = now;
    event.message = "event " + std::to_string(id) + std::string(id % 900, '.');
  }
  batch.values = {{"last", std::to_string(last)}};
  auto& stored = batch.findings.emplace().emplace_back();
  stored.check = "hammer";
  stored.state = std::to_string(last);
  auto& incident = batch.incidents.emplace_back();
  incident.id = "b-" + std::to_string(last % 7);
  incident.opened = now;
  // Old enough to be deleted at once: kills hit retention, too.
  for (int i = 0; i < 20; ++i) {
    auto& sample = batch.last_samples.emplace_back();
    sample.check = "hammer";
    sample.boot_id = "boot";
    sample.observation.name = "r" + std::to_string(i);
    sample.observation.time.wall = WallTime{} + std::chrono::hours{last};
  }
  return batch;
}

void hammer_journal(Journal& journal, std::uint64_t next, std::mt19937& random) {
  const autopilot::store::Retention retention;
  for (;;) {
    const std::uint64_t count = 1 + random() % 8;
    const auto now = RealClock().now().wall;
    const auto ids = journal.commit(make_batch(next, count, now));
    if (!ids) return say("error " + ids.error().what);
    say(std::to_string(ids->back()));
    next += count;
    if (random() % 8 == 0 && !journal.retain(retention, now)) return say("error retain");
  }
}

void hammer_writer(std::unique_ptr<Journal> journal, std::uint64_t next, std::mt19937& random) {
  const RealClock clock;
  autopilot::store::WriterLimits limits;
  limits.retention_period = std::chrono::milliseconds{5};
  JournalWriter writer(autopilot::store::make_journal_sink(std::move(journal)), clock, {}, limits);
  for (;;) {
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t count = 1 + random() % 8;
      writer.submit(make_batch(next, count, clock.now().wall), [](const auto& ids) {
        say(ids ? std::to_string(ids->back()) : "error " + ids.error().what);
      });
      next += count;
    }
    if (!writer.flush(std::chrono::seconds{20})) return say("error flush");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  std::mt19937 random(static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)));
  auto opened = Journal::open(argv[1], RealClock().now().wall);
  if (!opened) {
    say("error " + opened.error().what);
    return 1;
  }
  if (!opened->moved_aside.empty()) say("error moved aside: " + opened->reason);
  const auto last = opened->journal->last_event_id();
  if (!last) {
    say("error " + last.error().what);
    return 1;
  }
  say(std::to_string(*last));
  if (std::string(argv[2]) == "writer") {
    hammer_writer(std::move(opened->journal), *last + 1, random);
  } else {
    hammer_journal(*opened->journal, *last + 1, random);
  }
  return 1;
}
