// SPDX-License-Identifier: Apache-2.0
#include "cli/comparison/side_files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/comparison/prometheus_range.hpp"
#include "cli/comparison/recording_series.hpp"
#include "workloads/compare/readers.hpp"

namespace autopilot::cli {
namespace {

namespace cmp = workloads::compare;
namespace fs = std::filesystem;

struct SideFile {
  std::string path;
  std::string name;  // relative to the folder
};

Result<std::vector<SideFile>> files_below(const std::string& path) {
  std::error_code error;
  std::vector<SideFile> files;
  const auto kind = fs::status(path, error).type();
  if (kind == fs::file_type::not_found || error)
    return fail(Errc::not_found, path + ": no such file or folder");
  if (kind != fs::file_type::directory)
    return std::vector<SideFile>{{path, fs::path(path).filename().string()}};
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (!at->is_regular_file(ignored)) continue;
    files.push_back({at->path().string(), at->path().lexically_relative(path).string()});
    if (files.size() > kMaxSideFiles)
      return fail(Errc::exhausted, path + ": more than " + std::to_string(kMaxSideFiles) +
                                       " files; name the folder of one run");
  }
  if (error) return fail_errno(error.value(), path);
  std::sort(files.begin(), files.end(), [](const SideFile& a, const SideFile& b) { return a.name < b.name; });
  return files;
}

bool is_facts(const std::string& name) {
  return name == "facts.yaml" || name == "facts.yml";
}

std::optional<api::JobFile> recording_file(const std::string& name) {
  const std::string last = fs::path(name).filename().string();
  for (const api::JobFile file : api::kJobFiles)
    if (api::file_name(file) == last) return file;
  return std::nullopt;
}

// The name of a folder also for "runs/a/".
std::string name_of_path(const std::string& path) {
  std::error_code ignored;
  fs::path full = fs::absolute(path, ignored).lexically_normal();
  if (full.filename().empty()) full = full.parent_path();
  return full.filename().string();
}

// The result shows the name before the reason: "cpu.csv:3: cut" becomes "line 3: cut".
std::string without_name(const std::string& reason, const std::string& name) {
  if (!reason.starts_with(name + ":")) return reason;
  const std::string rest = reason.substr(name.size() + 1);
  return rest.starts_with(' ') ? rest.substr(1) : "line " + rest;
}

class SideReader {
 public:
  explicit SideReader(std::string_view letter) { side_.letter = letter; }

  Result<cmp::Side> read(const std::string& path) {
    const auto files = TRY(files_below(path));
    side_.name = name_of_path(path);
    for (const SideFile& file : files)
      if (is_facts(file.name)) TRY_STATUS(read_facts(file));
    for (const SideFile& file : files)
      if (!is_facts(file.name)) TRY_STATUS(read_file(file));
    for (const SideFile& file : later_)
      TRY_STATUS(read_smi(file));
    if (has_recording_) cmp::add_readings(side_, recording_.take(), "");
    std::erase(side_.files, std::string());
    std::sort(side_.files.begin(), side_.files.end());
    if (side_.series.empty() && side_.measures.empty() && side_.facts.file.empty())
      return fail(nothing_read(path));
    cmp::complete(side_);
    return std::move(side_);
  }

 private:
  Status read_facts(const SideFile& file) {
    const std::string text = TRY(read_side_file(file.path));
    side_.facts = TRY(cmp::parse_facts(text, file.path));  // errors name the folder, sources the file in it
    side_.facts.file = file.name;
    if (!side_.facts.name.empty()) {
      side_.facts.aliases.push_back(side_.name);
      side_.name = side_.facts.name;
    }
    side_.files.push_back(file.name);
    return {};
  }

  // A file of another kind does not stop the others.
  Status read_file(const SideFile& file) {
    const std::string text = TRY(read_side_file(file.path));
    if (const auto kind = recording_file(file.name)) {
      has_recording_ = true;
      side_.files.push_back(file.name);
      return recording_.add_file(*kind, text, file.name);
    }
    if (cmp::is_utf16(text)) {
      side_.left_out.push_back({file.name, "text in UTF-16; convert it: iconv -f UTF-16 -t UTF-8"});
      return {};
    }
    if (is_prometheus_answer(text)) {
      keep(parse_prometheus_range(text, file.name), file);
      return {};
    }
    const auto format = cmp::format_of(text);
    if (!format)
      side_.left_out.push_back({file.name, "no format that this command reads (docs/compare.md)"});
    else if (*format == cmp::TextFormat::smi_csv)
      later_.push_back(file);  // its layout follows from the others
    else
      keep(cmp::parse_readings(*format, text, file.name, {}), file);
    return {};
  }

  Status read_smi(const SideFile& file) {
    const std::string text = TRY(read_side_file(file.path));
    const cmp::SmiLayout layout{cmp::gpus_of_rows(side_, cmp::smi_rows(text)), cmp::interval_of(side_)};
    keep(cmp::parse_readings(cmp::TextFormat::smi_csv, text, file.name, layout), file);
    return {};
  }

  void keep(Result<cmp::Readings> readings, const SideFile& file) {
    if (readings)
      cmp::add_readings(side_, std::move(*readings), file.name);
    else
      side_.left_out.push_back({file.name, without_name(readings.error().what, file.name)});
  }

  [[nodiscard]] Error nothing_read(const std::string& path) const {
    std::string text = path + ": no measurement that this command reads (docs/compare.md lists the formats)";
    for (std::size_t i = 0; i < std::min<std::size_t>(side_.left_out.size(), 5); ++i)
      text += "\n" + side_.left_out[i].file + ": " + side_.left_out[i].reason;
    return {Errc::malformed, text};
  }

  cmp::Side side_;
  std::vector<SideFile> later_;
  RecordingSeries recording_;
  bool has_recording_ = false;
};

}  // namespace

Result<std::string> read_side_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail_errno(errno == 0 ? ENOENT : errno, path);
  std::string text;
  std::string piece(65'536, '\0');
  while (!file.eof()) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    if (file.bad()) return fail_errno(EIO, path);
    text.append(piece, 0, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxSideFileBytes)
      return fail(Errc::exhausted, path + ": larger than 256 MiB; give a part of it");
  }
  return text;
}

Result<cmp::Side> read_side(std::string_view letter, const std::string& path) {
  return SideReader(letter).read(path);
}

}  // namespace autopilot::cli
