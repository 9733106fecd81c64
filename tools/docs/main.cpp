// SPDX-License-Identifier: Apache-2.0
// Writes the pages that are made from the catalog, the settings, the exit codes and the schema of job
// telemetry, or lists the stale pages:
//   autopilot_docs DOCS_DIR
//   autopilot_docs --check DOCS_DIR
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "api/job_records.hpp"
#include "cli/exit_codes.hpp"
#include "docs/pages.hpp"

namespace {

namespace fs = std::filesystem;
using Pages = std::map<std::string, std::string>;

constexpr std::string_view kNote =
    "<!-- Made from src/cli/exit_codes.cpp by `cmake --build --preset dev --target docs`; a change here is "
    "lost. "
    "-->\n\n";

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Pages of checks that no longer exist.
std::vector<fs::path> left_over(const fs::path& docs, const Pages& pages) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(docs / "checks", ignored))
    if (!pages.contains("checks/" + entry.path().filename().string())) found.push_back(entry.path());
  return found;
}

int check(const fs::path& docs, const Pages& pages) {
  int stale = 0;
  const auto report = [&stale](const fs::path& path, std::string_view what) {
    std::cout << path.string() << ": " << what << "\n";
    ++stale;
  };
  for (const auto& [name, text] : pages)
    if (read(docs / name) != text) report(docs / name, "is not current");
  for (const fs::path& path : left_over(docs, pages))
    report(path, "belongs to no check of the catalog");
  if (stale > 0) std::cout << "Update them with: cmake --build --preset dev --target docs\n";
  return stale > 0 ? 1 : 0;
}

int write(const fs::path& docs, const Pages& pages) {
  for (const auto& [name, text] : pages) {
    const fs::path path = docs / name;
    fs::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out) {
      std::cerr << path.string() << ": cannot be written\n";
      return 1;
    }
  }
  for (const fs::path& path : left_over(docs, pages))
    fs::remove(path);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool is_check = !arguments.empty() && arguments.front() == "--check";
  if (arguments.size() != (is_check ? 2U : 1U)) {
    std::cerr << "usage: autopilot_docs [--check] DOCS_DIR\n";
    return 64;
  }
  Pages pages = autopilot::docs::make_pages(autopilot::catalog::builtin());
  pages.emplace("reference/job-telemetry.schema.json", autopilot::api::job_telemetry_schema());
  pages.emplace("reference/exit-codes.md", std::string(kNote) + autopilot::cli::exit_codes_page());
  return is_check ? check(arguments.back(), pages) : write(arguments.back(), pages);
}
