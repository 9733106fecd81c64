// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace autopilot::host {

// For tests: a folder that is gone with its owner; paths are absolute within it.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "autopilot-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, std::string_view text) const {
    make_parent(name);
    std::ofstream(path_ + name, std::ios::binary) << text;
  }
  void link(const std::string& name, const std::string& target) const {
    make_parent(name);
    std::filesystem::create_symlink(target, path_ + name);
  }

 private:
  void make_parent(const std::string& name) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + name).parent_path());
  }
  std::string path_;
};

}  // namespace autopilot::host
