// SPDX-License-Identifier: Apache-2.0
#include "alerts/signature.hpp"

#include <array>
#include <chrono>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "core/result.hpp"
#include "core/text.hpp"

namespace autopilot::alerts {

std::string sign(std::string_view key, WallTime now, std::string_view body) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  const std::string time = std::to_string(seconds);
  const std::string text = time + '.' + std::string(body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const auto* made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, text.size(), digest.data(), &size);
  AUTOPILOT_ASSERT(made != nullptr);
  return "t=" + time + ",v1=" + to_hex({reinterpret_cast<const char*>(digest.data()), size});
}

}  // namespace autopilot::alerts
