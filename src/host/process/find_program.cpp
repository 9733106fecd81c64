// SPDX-License-Identifier: Apache-2.0
#include "host/process/find_program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kPath = "PATH=";
constexpr std::string_view kWithoutPath = "/usr/bin:/bin";

bool may_start(const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(file.c_str(), X_OK) == 0;
}

}  // namespace

Result<std::string> find_program(std::string_view name, std::span<const std::string> environment) {
  if (name.find('/') != std::string_view::npos) return std::string(name);
  std::string_view folders = kWithoutPath;
  for (const std::string& variable : environment)
    if (variable.starts_with(kPath)) folders = std::string_view(variable).substr(kPath.size());
  for (const std::string_view folder : split(folders, ':')) {
    std::string file(folder);
    file.append("/").append(name);
    if (!folder.empty() && may_start(file)) return file;
  }
  return fail(Errc::not_found, "no program of that name in " + std::string(folders));
}

}  // namespace autopilot::host
