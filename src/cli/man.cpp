// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "cli/cli.hpp"
#include "cli/help_format.hpp"
#include "cli/kubectl/plugin.hpp"
#include "cli/man/man_pages.hpp"
#include "cli/output/print.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "core/parse.hpp"
#include "host/clock/system_clock.hpp"

namespace autopilot::cli {
namespace {

// SOURCE_DATE_EPOCH, so that a release gives the same files again; else today.
std::string date_of_pages() {
  constexpr std::size_t kDate = 10;  // of "2026-11-30T03:00:00.000Z"
  const auto seconds = parse_number<std::int64_t>(variable(environment(), "SOURCE_DATE_EPOCH"));
  const WallTime time =
      seconds ? WallTime{std::chrono::seconds{*seconds}} : WallTime{host::SystemClock{}.now().wall};
  return format_time(time).substr(0, kDate);
}

std::vector<ManPage> every_page(const CLI::App& app) {
  const std::string date = date_of_pages();
  auto pages = man_pages_of(app, date);
  CLI::App plugin{"Autopilot reports which nodes of a cluster are healthy, which are not, and why.",
                  "kubectl autopilot"};
  ClusterOptions cluster;
  int ignored = kExitHealthy;
  add_kubectl_verbs(plugin, cluster, ignored);
  for (auto more : {man_pages_of(plugin, date), man_pages_of_settings(date)})
    for (ManPage& page : more)
      pages.push_back(std::move(page));
  return pages;
}

Status write_page(const std::filesystem::path& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) return fail_errno(error.value(), path.parent_path().string());
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out) return fail_errno(errno, path.string());
  out << text;
  out.close();
  if (!out) return fail(Errc::exhausted, path.string() + ": cannot be written; check that the disk has room");
  return {};
}

int write_pages(const CLI::App& app, const std::string& folder) {
  const auto pages = every_page(app);
  if (folder.empty()) {
    std::cout << pages.front().text;
    return kExitHealthy;
  }
  for (const ManPage& page : pages)
    if (const Status written = write_page(std::filesystem::path(folder) / page.file(), page.text); !written)
      return report(written.error());
  std::cout << folder << ": " << pages.size() << " pages; read one with: man -l " << folder << "/"
            << pages.front().file() << "\n";
  return kExitHealthy;
}

}  // namespace

void add_man(CLI::App& app, int& exit_code) {
  auto folder = std::make_shared<std::string>();
  auto* verb = app.add_subcommand("man", "Write the man pages of all verbs and of the configuration");
  verb->add_option("DIR", *folder, "Folder for man1/ and man5/ (default: print autopilot(1))");
  verb->footer(
      "The packages contain these pages. SOURCE_DATE_EPOCH, if it is set, is their date.\n"
      "Examples:\n  autopilot man | man -l -\n  sudo autopilot man /usr/local/share/man");
  verb->callback([&app, folder, &exit_code] { exit_code = write_pages(app, *folder); });
}

}  // namespace autopilot::cli
