// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/folder.hpp"

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace autopilot::simulated_jobs {
namespace {

class Files {
 public:
  Status open(const std::filesystem::path& directory) {
    for (const api::JobFile file : api::kJobFiles) {
      const std::filesystem::path path = directory / api::file_name(file);
      std::ofstream& stream = streams_[index(file)];
      errno = 0;
      stream.open(path, std::ios::binary | std::ios::trunc);
      if (!stream) return fail_errno(errno, path.string());
    }
    return {};
  }

  void write(api::JobFile file, std::string_view line) {
    streams_[index(file)] << line;
    ++counts_[index(file)];
  }

  Result<LineCounts> close(const std::filesystem::path& directory) {
    for (const api::JobFile file : api::kJobFiles) {
      errno = 0;
      streams_[index(file)].close();
      if (!streams_[index(file)])
        return fail(Errc::exhausted,
                    (directory / api::file_name(file)).string() + ": could not write all lines");
    }
    return counts_;
  }

 private:
  static std::size_t index(api::JobFile file) { return static_cast<std::size_t>(file); }

  std::array<std::ofstream, api::kJobFiles.size()> streams_;
  LineCounts counts_{};
};

api::JobFormat format_of(const Scenario& scenario) {
  api::JobFormat format;
  format.time = scenario.start;
  format.format = "autopilot-job-telemetry";
  format.version = api::kJobFormatVersion;
  format.is_simulated = true;
  format.source = "autopilot-sim jobs, scenario " + scenario.name;
  // A number of JSON is exact up to 2^53.
  if (scenario.seed < (1ULL << 53U)) format.seed = static_cast<std::int64_t>(scenario.seed);
  return format;
}

void write_labels(const jobs::Labels& labels, Files& files) {
  if (labels.begin && labels.end)
    files.write(api::JobFile::labels, api::to_line(api::LabelledTime{*labels.begin, *labels.end}));
  for (const jobs::FaultLabel& label : labels.faults)
    files.write(api::JobFile::labels, api::to_line(label));
  for (const jobs::ConfounderLabel& label : labels.confounders)
    files.write(api::JobFile::labels, api::to_line(label));
}

}  // namespace

Result<LineCounts> write_folder(Generator& generator, const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail_errno(error.value(), directory.string());
  const bool is_empty = std::filesystem::is_empty(directory, error);
  if (error) return fail_errno(error.value(), directory.string());
  if (!is_empty) return fail(Errc::conflict, directory.string() + ": is not empty; name a new folder");
  Files files;
  TRY_STATUS(files.open(directory));
  files.write(api::JobFile::jobs, api::to_line(format_of(generator.scenario())));
  std::vector<jobs::Record> window;
  while (generator.next(window))
    for (const jobs::Record& record : window)
      files.write(api::file_of(record), api::to_line(record));
  write_labels(generator.labels(), files);
  return files.close(directory);
}

}  // namespace autopilot::simulated_jobs
