// SPDX-License-Identifier: Apache-2.0
#include "host/boot/crash_records.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kBackend = "/sys/module/pstore/parameters/backend";
constexpr std::string_view kStore = "/sys/fs/pstore";
constexpr std::string_view kArchive = "/var/lib/systemd/pstore";
constexpr std::size_t kMaxWords = 200;
// Suffix of a record that the kernel could not unpack.
constexpr std::string_view kPacked = ".enc.z";

// The id of a record contains its time: ERST stores the seconds in the upper half, EFI appends five digits of
// part and number to them, and systemd names a folder by the seconds.
std::optional<WallTime> time_in(std::string_view name) {
  if (name.ends_with(kPacked)) name.remove_suffix(kPacked.size());
  const std::size_t begin = name.find_last_not_of("0123456789") + 1;
  const auto number = parse_number<std::uint64_t>(name.substr(begin));
  if (!number) return std::nullopt;
  constexpr std::uint64_t kEarliest = 946'684'800;  // the year 2000
  constexpr std::uint64_t kLatest = 4'102'444'800;  // the year 2100
  for (const std::uint64_t seconds : {*number >> 32U, *number / 100'000, *number})
    if (seconds >= kEarliest && seconds < kLatest)
      return WallTime{std::chrono::seconds{static_cast<std::int64_t>(seconds)}};
  return std::nullopt;
}

// Removes the prefix "<4>[   12.345678] ".
std::string_view without_stamp(std::string_view line) {
  if (line.starts_with('<')) line.remove_prefix(std::min(line.find('>'), line.size() - 1) + 1);
  if (line.starts_with('[')) line.remove_prefix(std::min(line.find(']'), line.size() - 1) + 1);
  return trim(line);
}

std::string reason_in(std::string_view text) {
  constexpr std::array<std::string_view, 4> kBeginnings{
      "Kernel panic - not syncing: ", "BUG: ", "Oops: ", "general protection fault"};
  const auto lines = split(text, '\n');
  for (const std::string_view beginning : kBeginnings)
    for (const std::string_view line : lines)
      if (const auto words = without_stamp(line); words.starts_with(beginning))
        return std::string(words.substr(0, kMaxWords));
  return {};
}

// One file of a record. Each part has its own time, and writing to slow storage takes seconds.
struct Part {
  CrashRecord record;
  std::string mark;  // "Panic#1": the reason and its number since boot
};
constexpr Duration kLongestWriting = std::chrono::minutes{1};

class Collector {
 public:
  explicit Collector(const Files& files) : files_(files) {}

  Status add_stored() {
    const auto names = files_.list(kStore);
    if (!names && names.error().code == Errc::not_found) return {};
    if (!names) return fail(names.error());
    for (const std::string& name : *names) {
      if (!name.starts_with("dmesg-")) continue;
      std::string path{kStore};
      path.append("/").append(name);
      add_file(path, name);
    }
    return {};
  }

  // Reads <seconds or id>/dmesg.txt, or a folder of such folders for several panics.
  void add_archived() {
    const auto folders = files_.list(kArchive);
    if (!folders || folders->empty()) return;
    has_archive_ = true;
    for (const std::string& folder : *folders) {
      const std::string path = std::string(kArchive) + "/" + folder + "/";
      std::vector<std::string> candidates{path + "dmesg.txt"};
      for (const std::string& inner : files_.list(path).value_or(std::vector<std::string>{}))
        candidates.push_back(path + inner + "/dmesg.txt");
      for (const std::string& candidate : candidates)
        if (files_.exists(candidate)) add_file(candidate, folder);
    }
  }

  [[nodiscard]] bool has_archive() const { return has_archive_; }

  CrashRecords collected() && {
    CrashRecords crashes;
    crashes.unreadable = unreadable_;
    crashes.packed = packed_;
    for (Part& part : parts_)
      crashes.records.push_back(std::move(part.record));
    std::ranges::stable_sort(crashes.records, {}, &CrashRecord::time);
    if (crashes.records.size() <= CrashRecords::kMost) return crashes;
    crashes.left_out = crashes.records.size() - CrashRecords::kMost;
    crashes.records.erase(crashes.records.begin(),
                          crashes.records.begin() + static_cast<std::ptrdiff_t>(crashes.left_out));
    return crashes;
  }

 private:
  void add_file(const std::string& path, std::string_view name) {
    Part part;
    part.record.path = path;
    part.record.time = time_in(name);
    if (name.ends_with(kPacked)) {
      ++packed_;
    } else if (const auto text = files_.read(path)) {
      part.mark = text->substr(0, text->find(' '));
      part.record.words = reason_in(*text);
      part.record.is_panic = part.mark.starts_with("Panic#") || part.record.words.starts_with("Kernel panic");
    } else {
      ++unreadable_;
    }
    add(std::move(part));
  }

  void add(Part part) {
    const auto same =
        std::ranges::find_if(parts_, [&](const Part& each) { return is_of_one_record(each, part); });
    if (same == parts_.end()) return parts_.push_back(std::move(part));
    same->record.is_panic = same->record.is_panic || part.record.is_panic;
    if (!same->record.words.empty() && !part.record.words.starts_with("Kernel panic")) return;
    if (part.record.words.empty()) return;
    same->record.words = std::move(part.record.words);
    same->record.path = std::move(part.record.path);
  }

  static bool is_of_one_record(const Part& a, const Part& b) {
    if (!a.record.time || !b.record.time) return false;
    if (*a.record.time == *b.record.time) return true;
    const Duration apart = *a.record.time - *b.record.time;
    return a.mark.find('#') != std::string::npos && a.mark == b.mark && apart <= kLongestWriting &&
           -apart <= kLongestWriting;
  }

  const Files& files_;
  std::vector<Part> parts_;
  std::size_t unreadable_ = 0;
  std::size_t packed_ = 0;
  bool has_archive_ = false;
};

}  // namespace

Result<CrashRecords> read_crash_records(const Files& files) {
  Collector collector(files);
  collector.add_archived();
  const std::string backend = files.read_word(kBackend).value_or("");
  const bool has_store = !backend.empty() && backend != "(null)";
  if (!has_store && !collector.has_archive())
    return fail(Errc::unsupported, "this machine has no storage for crash records (pstore has no backend)");
  if (has_store) TRY_STATUS(collector.add_stored());
  return std::move(collector).collected();
}

}  // namespace autopilot::host
