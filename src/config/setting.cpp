// SPDX-License-Identifier: Apache-2.0
#include "config/setting.hpp"

#include <cctype>

namespace autopilot::config {

std::string_view SettingHead::group() const {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot);
}

std::string_view SettingHead::key() const {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::string SettingHead::variable() const {
  std::string text = "AUTOPILOT_";
  for (const char c : name)
    text += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace autopilot::config
