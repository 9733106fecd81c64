// SPDX-License-Identifier: Apache-2.0
#include "cli/job_lines.hpp"

#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

namespace autopilot::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGzipMark = "\x1f\x8b";
constexpr std::string_view kZstdMark = "\x28\xb5\x2f\xfd";

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

Status refuse_compressed(const std::string& folder, std::string_view name) {
  std::error_code ignored;
  for (const auto& [suffix, program] : {std::pair{".gz", "gunzip"}, {".zst", "unzstd"}, {".xz", "unxz"}}) {
    const std::string path = folder + "/" + std::string(name) + suffix;
    if (fs::exists(path, ignored))
      return fail(Errc::malformed, path + " is compressed; unpack it first: " + program + " " + path);
  }
  return {};
}

}  // namespace

JobLines::JobLines(const std::string& path, api::JobFile file)
    : path_(path), file_(file), in_(path, std::ios::binary), buffer_(api::longest_line(file) + 2) {}

Result<std::optional<JobLines>> JobLines::open(const std::string& folder, api::JobFile file) {
  const std::string name(api::file_name(file));
  const std::string path = folder + "/" + name;
  std::error_code error;
  if (!fs::exists(path, error)) {
    TRY_STATUS(refuse_compressed(folder, name));
    return std::nullopt;
  }
  if (fs::is_directory(path, error)) return fail(Errc::malformed, path + " is a folder, not a file");
  JobLines lines(path, file);
  if (!lines.in_) return fail(Errc::denied, "cannot open " + path + "; check its permissions");
  std::string mark(kZstdMark.size(), '\0');
  lines.in_.read(mark.data(), static_cast<std::streamsize>(mark.size()));
  if (mark.starts_with(kGzipMark) || mark == kZstdMark)
    return fail(Errc::malformed, path + " is compressed; unpack it first, with gunzip or unzstd");
  lines.in_.clear();
  lines.in_.seekg(0);
  return std::optional<JobLines>(std::move(lines));
}

std::string JobLines::place() const {
  return std::string(api::file_name(file_)) + ":" + std::to_string(number_) + ": ";
}

JobLines::Line JobLines::parse(std::string_view line, bool is_truncated) const {
  auto parsed = api::parse_job_line(line, file_);
  if (parsed) return {std::move(parsed)};
  const std::string_view reason = is_truncated ? "truncated last line: " : "";
  return {fail(Errc::malformed, place() + std::string(reason) + parsed.error().what)};
}

JobLines::Line JobLines::skip_long_line() {
  in_.clear();
  in_.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  bytes_ += static_cast<std::uint64_t>(in_.gcount());
  return {
      fail(Errc::malformed, place() + "longer than " + std::to_string(api::longest_line(file_)) + " bytes")};
}

Result<std::optional<JobLines::Line>> JobLines::next() {
  while (in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size())) || in_.gcount() > 0) {
    const auto taken = static_cast<std::size_t>(in_.gcount());
    ++number_;
    bytes_ += taken;
    const bool is_long = in_.fail() && !in_.eof();
    const bool is_truncated = in_.eof();
    const std::string_view line(buffer_.data(), is_long || is_truncated ? taken : taken - 1);
    if (in_.bad()) break;
    if (!is_long && is_blank(line)) continue;
    ++lines_;
    return std::optional(is_long ? skip_long_line() : parse(line, is_truncated));
  }
  if (!in_.eof()) return fail(Errc::unavailable, "cannot read " + path_ + " any further");
  return std::nullopt;
}

}  // namespace autopilot::cli
