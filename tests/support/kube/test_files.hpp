// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "core/result.hpp"
#include "kube/access.hpp"

namespace autopilot::kube {

inline const std::string kTestCertificate = "-----BEGIN CERTIFICATE-----\nMIIa\n-----END CERTIFICATE-----\n";
inline const std::string kTestKey = "-----BEGIN PRIVATE KEY-----\nMIIb\n-----END PRIVATE KEY-----\n";

// For tests: files by path. Files in `broken` are unreadable.
struct TestFiles {
  std::map<std::string, std::string> texts;
  std::map<std::string, Errc> broken;
  int reads = 0;

  // Refers to this object.
  [[nodiscard]] ReadFile reader() {
    return [this](const std::string& path) -> Result<std::string> {
      ++reads;
      if (const auto at = broken.find(path); at != broken.end())
        return fail(at->second, path + ": cannot be read");
      if (const auto at = texts.find(path); at != texts.end()) return at->second;
      return fail(Errc::not_found, path + ": No such file or directory");
    };
  }
};

}  // namespace autopilot::kube
