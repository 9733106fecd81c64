// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/journal_boots.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "core/parse.hpp"
#include "host/kernel_log/kmsg_source.hpp"

namespace autopilot::host {
namespace {

// Message ids of systemd (systemd/sd-messages.h).
constexpr std::string_view kJournalStopped = "d93fb3c9c24d451a97cea615ce59c00b";
constexpr std::string_view kShutdown = "98268866d1d54a499c4e98921d93bc40";
constexpr std::string_view kCoreDump = "fc2e22bc6ee647b6b90729ab34a250b1";
constexpr std::string_view kUnitOutOfMemory = "fe6faa94e7774663a0da52717891d8ef";
constexpr std::string_view kUnitFailed = "d9b373ed55a64feb8242e02dbe79a49c";
constexpr std::size_t kMaxJournalWord = 256;
constexpr std::uint64_t kMaxMicroseconds = std::uint64_t{1} << 53U;

using Entry = boost::json::object;

std::string word_in(const Entry& entry, std::string_view name) {
  const auto* value = entry.if_contains(name);
  const auto* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : clean_log_text({text->data(), text->size()}, kMaxJournalWord);
}

std::optional<WallTime> time_of(const Entry& entry) {
  const auto microseconds = parse_number<std::uint64_t>(word_in(entry, "__REALTIME_TIMESTAMP"));
  if (!microseconds || *microseconds >= kMaxMicroseconds) return std::nullopt;
  return WallTime(std::chrono::microseconds(*microseconds));
}

std::optional<Entry> parse_journal_line(std::string_view line) {
  if (line.size() > TextLogReader::kMaxLine || !line.starts_with('{')) return std::nullopt;
  boost::system::error_code error;
  auto value = boost::json::parse(boost::json::string_view(line.data(), line.size()), error);
  if (error || !value.is_object()) return std::nullopt;
  return std::move(value.as_object());
}

std::int64_t pid_in(const Entry& entry, std::string_view name) {
  return std::max<std::int64_t>(0, parse_number<std::int64_t>(word_in(entry, name)).value_or(0));
}

// systemd-coredump writes its entry as the user of the program that crashed. Any user can run a program of
// its name, but only root can start its unit.
bool is_of_dumper(const Entry& entry) {
  const std::string unit = word_in(entry, "_SYSTEMD_UNIT");
  return unit.starts_with("systemd-coredump@") && unit.ends_with(".service");
}

// Only systemd's own processes may state an end.
std::optional<ProgramEnd> end_in(const Entry& entry, std::string_view message_id, WallTime time) {
  const bool is_of_systemd =
      word_in(entry, "_UID") == "0" || (message_id == kCoreDump && is_of_dumper(entry));
  if (!is_of_systemd) return std::nullopt;
  ProgramEnd end;
  end.time = time;
  end.unit = word_in(entry, "UNIT");
  if (message_id == kCoreDump) {
    end.kind = ProgramEnd::Kind::core_dump;
    end.pid = pid_in(entry, "COREDUMP_PID");
    end.process = word_in(entry, "COREDUMP_COMM");
    end.unit = word_in(entry, "COREDUMP_UNIT");
    end.cgroup = word_in(entry, "COREDUMP_CGROUP");
    end.word = word_in(entry, "COREDUMP_SIGNAL_NAME");
    const auto* message = entry.if_contains("MESSAGE");
    if (const auto* text = message == nullptr ? nullptr : message->if_string())
      end.place = crash_place({text->data(), text->size()});
  } else if (message_id == kUnitOutOfMemory) {
    end.kind = ProgramEnd::Kind::unit_memory;
  } else if (message_id == kUnitFailed) {
    end.kind = ProgramEnd::Kind::unit_failed;
    end.word = word_in(entry, "UNIT_RESULT");
  } else {
    return std::nullopt;
  }
  return end;
}

template <class T>
void push_newest(std::deque<T>& kept, T one, std::size_t most) {
  kept.push_back(std::move(one));
  if (kept.size() > most) kept.pop_front();
}

}  // namespace

std::vector<std::string> journal_matches() {
  std::vector<std::string> matches{"_TRANSPORT=kernel"};
  for (const auto id : {kJournalStopped, kShutdown, kCoreDump, kUnitOutOfMemory, kUnitFailed})
    matches.push_back("MESSAGE_ID=" + std::string(id));
  return matches;
}

struct JournalReader::Boot {
  JournaledBoot boot;
  TextLogReader reader;

  void take(std::vector<KernelRecord> records) {
    for (KernelRecord& record : records)
      if (record.from_kernel()) push_newest(boot.records, std::move(record), JournaledBoot::kMaxRecords);
  }
};

JournalReader::JournalReader() = default;
JournalReader::~JournalReader() = default;

JournalReader::Boot* JournalReader::boot_of(const std::string& id, WallTime time) {
  const auto known = std::ranges::find_if(boots_, [&id](const auto& one) { return one->boot.id == id; });
  if (known != boots_.end()) return known->get();
  if (boots_.size() >= kMaxBoots) {
    const auto oldest = std::ranges::min_element(boots_, {}, [](const auto& one) { return one->boot.first; });
    if (time < (*oldest)->boot.first) return nullptr;
    boots_.erase(oldest);
  }
  boots_.push_back(std::make_unique<Boot>());
  boots_.back()->boot.id = id;
  return boots_.back().get();
}

void JournalReader::add_line(std::string_view line) {
  const auto entry = parse_journal_line(line);
  if (!entry) return;
  const auto time = time_of(*entry);
  const std::string id = word_in(*entry, "_BOOT_ID");
  Boot* one = time && !id.empty() ? boot_of(id, *time) : nullptr;
  if (one == nullptr) return;
  JournaledBoot& boot = one->boot;
  boot.first = boot.first == WallTime{} ? *time : std::min(boot.first, *time);
  boot.last = std::max(boot.last, *time);
  const bool is_of_kernel = word_in(*entry, "_TRANSPORT") == "kernel";
  const bool is_of_root = word_in(*entry, "_UID") == "0";
  boot.has_system_entries = boot.has_system_entries || is_of_kernel || is_of_root;
  const std::string message_id = word_in(*entry, "MESSAGE_ID");
  if (is_of_root && (message_id == kJournalStopped || message_id == kShutdown)) boot.was_stopped = true;
  if (auto end = end_in(*entry, message_id, *time))
    push_newest(boot.ends, *std::move(end), JournaledBoot::kMaxEnds);
  if (is_of_kernel) one->take(one->reader.add_line(line));
}

std::vector<JournaledBoot> JournalReader::finish() {
  std::vector<JournaledBoot> boots;
  for (auto& one : boots_) {
    one->take(one->reader.finish());
    boots.push_back(std::move(one->boot));
  }
  boots_.clear();
  std::ranges::stable_sort(boots, {}, &JournaledBoot::first);
  return boots;
}

}  // namespace autopilot::host
