// SPDX-License-Identifier: Apache-2.0
#include "collect/evidence/evidence_store.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "host/files/files.hpp"

namespace autopilot::collect {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr std::string_view kIndex = "/index.json";
// Keeps room on the disk for the index.
constexpr std::string_view kReserve = "/reserve";
constexpr std::size_t kReserveBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxIndex = std::size_t{1} << 20;
constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxProblem = 500;
constexpr std::size_t kMaxItems = 64;
constexpr mode_t kFolderMode = 0700;

bool is_file_name(std::string_view name) {
  const auto is_allowed = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kMaxName && name.front() != '.' &&
         std::ranges::all_of(name, is_allowed);
}

std::string text_in(const json::object& object, std::string_view name) {
  const json::value* const member = object.if_contains(name);
  return member != nullptr && member->is_string() ? std::string(member->get_string()) : std::string();
}

std::int64_t number_in(const json::object& object, std::string_view name) {
  const json::value* const member = object.if_contains(name);
  return member != nullptr && member->is_int64() ? std::max<std::int64_t>(member->get_int64(), 0) : 0;
}

json::object to_json(const EvidenceItem& item) {
  json::object made{{"item", item.name},
                    {"tookMs", std::chrono::duration_cast<std::chrono::milliseconds>(item.took).count()}};
  if (!item.file.empty()) {
    made["file"] = item.file;
    made["bytes"] = item.bytes;
  }
  if (!item.problem.empty()) made["problem"] = item.problem;
  return made;
}

EvidenceItem item_in(const json::object& object) {
  return {.name = text_in(object, "item"),
          .file = text_in(object, "file"),
          .bytes = static_cast<std::uint64_t>(number_in(object, "bytes")),
          .took = std::chrono::milliseconds(number_in(object, "tookMs")),
          .problem = text_in(object, "problem")};
}

void add_problem(EvidenceItem& item, const std::string& problem) {
  if (!item.problem.empty()) item.problem += "; ";
  item.problem += problem;
}

}  // namespace

std::string format_evidence_index(const EvidenceIndex& index) {
  json::array items;
  for (const EvidenceItem& item : index.items)
    items.push_back(to_json(item));
  return json::serialize(json::object{{"finding", index.finding},
                                      {"job", index.job},
                                      {"time", format_time(index.time)},
                                      {"items", std::move(items)}});
}

Result<EvidenceIndex> parse_evidence_index(std::string_view text) {
  json::error_code error;
  const json::value value = json::parse({text.data(), text.size()}, error);
  const json::object* const object = error ? nullptr : value.if_object();
  const json::value* const items = object == nullptr ? nullptr : object->if_contains("items");
  const auto time = object == nullptr ? std::nullopt : parse_time(text_in(*object, "time"));
  if (items == nullptr || !items->is_array() || !time)
    return fail(Errc::malformed, "not an index of evidence");
  EvidenceIndex index{
      .finding = text_in(*object, "finding"), .job = text_in(*object, "job"), .time = *time, .items = {}};
  for (const json::value& item : items->get_array())
    if (const json::object* const one = item.if_object()) index.items.push_back(item_in(*one));
  return index;
}

void EvidenceFolder::add(EvidenceItem item, std::string_view text) {
  if (index_.items.size() >= kMaxItems) return;
  item.problem = to_utf8(std::string_view(item.problem).substr(0, kMaxProblem));
  if (item.file.empty() || text.empty()) {
    item.file.clear();
    index_.items.push_back(std::move(item));
    return;
  }
  const std::string_view kept = text.substr(0, room_);
  if (kept.size() < text.size())
    add_problem(item, "cut after " + std::to_string(kept.size()) + " of " + std::to_string(text.size()) +
                          " bytes: the limit of one incident");
  const auto written = folder_.write("/" + item.file, kept);
  std::error_code error;
  const auto size = fs::file_size(path_ + "/" + item.file, error);
  item.bytes = error ? 0 : size;
  room_ -= std::min<std::size_t>(room_, item.bytes);
  if (!written)
    add_problem(item, "only " + std::to_string(item.bytes) + " bytes were written: " + written.error().what);
  if (item.bytes == 0) item.file.clear();
  index_.items.push_back(std::move(item));
}

Result<EvidenceIndex> EvidenceFolder::finish() {
  std::error_code ignored;
  fs::remove(path_ + std::string(kReserve), ignored);
  TRY_STATUS(folder_.write(kIndex, format_evidence_index(index_)));
  return index_;
}

Result<EvidenceStore> EvidenceStore::open(const std::string& folder, const EvidenceLimits& limits) {
  if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST) return fail_errno(errno, folder);
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(folder, error)))
    return fail(Errc::conflict,
                folder + ": is not a folder; remove it, so that the agent can keep evidence there");
  return EvidenceStore(folder, limits);
}

Result<EvidenceFolder> EvidenceStore::begin(const std::string& finding, const std::string& job,
                                            WallTime time) {
  if (!is_file_name(finding))
    return fail(Errc::malformed, "'" + to_printable(finding, kMaxName) + "' is not an id of a finding");
  const std::lock_guard lock(mutex_);
  const std::string path = folder_ + "/" + finding;
  std::error_code error;
  if (fs::exists(fs::symlink_status(path, error)))
    return fail(Errc::conflict, path + ": this finding has evidence already");
  make_room();
  auto made = TRY(host::OwnFolder::create(path));
  // Without room for the index, nothing is written at all.
  if (auto reserved = made.write(kReserve, std::string(kReserveBytes, '\0')); !reserved) {
    fs::remove_all(path, error);
    return fail(std::move(reserved).error());
  }
  return EvidenceFolder(std::move(made), path, {.finding = finding, .job = job, .time = time, .items = {}},
                        limits_.incident_bytes);
}

// By the time of the last change, which is that of the index.
void EvidenceStore::make_room() const {
  std::vector<std::pair<fs::file_time_type, fs::path>> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error))
    folders.emplace_back(fs::last_write_time(entry.path(), error), entry.path());
  std::sort(folders.begin(), folders.end());
  const std::size_t kept = limits_.incidents == 0 ? 0 : limits_.incidents - 1;
  for (std::size_t i = 0; i + kept < folders.size(); ++i)
    fs::remove_all(folders[i].second, error);
}

std::vector<EvidenceIndex> EvidenceStore::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<EvidenceIndex> found;
  const auto names = host::Files().list(folder_);
  if (!names) return found;
  for (const std::string& name : *names) {
    const auto text = host::Files().read(folder_ + "/" + name + std::string(kIndex), kMaxIndex);
    auto index = text ? parse_evidence_index(*text) : fail(text.error());
    if (index && index->finding == name) found.push_back(*std::move(index));
  }
  std::ranges::stable_sort(found, std::greater<>(), &EvidenceIndex::time);
  return found;
}

Result<EvidenceIndex> EvidenceStore::find(const std::string& finding) const {
  if (!is_file_name(finding))
    return fail(Errc::not_found, "no evidence of finding '" + to_printable(finding, kMaxName) + "'");
  const std::lock_guard lock(mutex_);
  const auto text = host::Files().read(folder_ + "/" + finding + std::string(kIndex), kMaxIndex);
  if (!text && text.error().code == Errc::not_found)
    return fail(Errc::not_found, "no evidence of finding " + finding);
  if (!text) return fail(text.error());
  return parse_evidence_index(*text);
}

Result<std::string> EvidenceStore::read(const std::string& finding, const std::string& file) const {
  const EvidenceIndex index = TRY(find(finding));
  if (!is_file_name(file) || std::ranges::find(index.items, file, &EvidenceItem::file) == index.items.end())
    return fail(Errc::not_found,
                "the evidence of finding " + finding + " has no file '" + to_printable(file, kMaxName) + "'");
  const std::lock_guard lock(mutex_);
  return host::Files().read(folder_ + "/" + finding + "/" + file, limits_.incident_bytes + 1);
}

}  // namespace autopilot::collect
