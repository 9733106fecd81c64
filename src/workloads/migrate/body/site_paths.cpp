// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/body/site_paths.hpp"

#include <algorithm>
#include <array>

#include "core/parse.hpp"

namespace autopilot::workloads::migrate {
namespace {

// Directories that an image has, or a pod gets.
constexpr std::array<std::string_view, 14> kOfImages{"bin", "sbin", "usr", "lib", "lib64", "etc",  "tmp",
                                                     "dev", "proc", "sys", "var", "run",   "root", "opt"};
constexpr std::string_view kVariables =
    "SCRATCH WORK PROJECT PSCRATCH CSCRATCH HOME STORE FASTSCRATCH SLURM_TMPDIR MEMBERWORK PROJWORK";

// A path does not begin behind the end of an expansion: "${DIR}/x", "$(pwd)/x".
bool begins_path(std::string_view text, std::size_t at) {
  if (at == 0) return true;
  const char before = text[at - 1];
  if (before == '`')
    return std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '`') % 2 == 1;
  return std::string_view(" \t\n\"'(;|&<>,:={[").find(before) != std::string_view::npos;
}

bool ends_word(char c) {
  return std::string_view(" \t\n\"'();|&<>`,:={}[]").find(c) != std::string_view::npos;
}

bool is_mounted(std::string_view path, const std::vector<std::string>& mounted) {
  return std::any_of(mounted.begin(), mounted.end(), [path](const std::string& mount) {
    return path == mount || (path.starts_with(mount) && path.substr(mount.size()).starts_with('/')) ||
           (mount.starts_with(path) && mount.substr(path.size()).starts_with('/'));
  });
}

void lint_path(std::string_view path, int line, const std::vector<std::string>& mounted, Findings& findings) {
  const std::string root = site_root(path);
  if (root.empty() || is_mounted(path, mounted)) return;
  findings.add(Severity::decision, "M-SITE-PATH", line,
               root + " is a directory of the old cluster; the pod does not have it",
               "Copy the data into a PersistentVolumeClaim, and give --pvc " + root + "=CLAIM");
}

void lint_variable(std::string_view name, int line, const std::vector<std::string>& mounted,
                   Findings& findings) {
  const auto words = split_words(kVariables);
  if (std::find(words.begin(), words.end(), name) == words.end()) return;
  const std::string written = "$" + std::string(name);
  if (std::find(mounted.begin(), mounted.end(), written) != mounted.end()) return;
  findings.add(Severity::decision, "M-SITE-PATH", line,
               written + " names a directory of the old cluster; the pod has " +
                   (name == "HOME" ? "only the home directory of its image" : "no such variable"),
               "Copy the data into a PersistentVolumeClaim, and give --pvc '" + written + "=CLAIM'");
}

}  // namespace

std::string site_root(std::string_view path) {
  if (path.size() < 3 || path.front() != '/' || path[1] == '/') return {};
  const auto end = path.find('/', 1);
  const std::string_view first = path.substr(1, end == std::string_view::npos ? end : end - 1);
  const bool is_name = !first.empty() && std::all_of(first.begin(), first.end(), [](char c) {
    return is_shell_name("_" + std::string(1, c)) || c == '-' || c == '.';
  });
  if (!is_name || first.find_first_not_of(".-0123456789") == std::string_view::npos) return {};
  if (std::find(kOfImages.begin(), kOfImages.end(), first) != kOfImages.end()) return {};
  return "/" + std::string(first);
}

void lint_site_paths(const ShellScript& script, const std::vector<std::string>& mounted, Findings& findings) {
  for (const ShellLine& line : script.lines) {
    const std::string_view text = line.text;
    int number = line.number;
    bool is_comment = trim(text).starts_with('#');
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\n') {
        ++number;
        is_comment = trim(text.substr(at + 1)).starts_with('#');
      }
      if (is_comment) continue;
      const bool begins = (text[at] == '/' || text[at] == '~') && begins_path(text, at);
      if (text[at] == '/' && begins &&
          !(at > 0 && text[at - 1] == ':' && text.substr(at).starts_with("//"))) {
        std::size_t end = at;
        while (end < text.size() && !ends_word(text[end]) && text[end] != '$')
          ++end;
        lint_path(text.substr(at, end - at), number, mounted, findings);
        at = std::max(at, end - 1);
      } else if (text[at] == '~' && begins && at + 1 < text.size() &&
                 (text[at + 1] == '/' || ends_word(text[at + 1]))) {
        lint_variable("HOME", number, mounted, findings);
      } else if (text[at] == '$') {
        const auto names = variables_in(text.substr(at, std::min<std::size_t>(text.size() - at, 80)));
        if (!names.empty()) lint_variable(names.front(), number, mounted, findings);
      }
    }
  }
}

}  // namespace autopilot::workloads::migrate
