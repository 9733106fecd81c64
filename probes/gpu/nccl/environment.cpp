// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/environment.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <netinet/in.h>

namespace autopilot::probes::gpu {
namespace {

// NCCL gives up after that many refused connections, each a tenth of a second longer apart: five seconds. Its
// default is a minute, in which a missing rank cannot be distinguished from a late one.
constexpr const char* kRefusals = "10";

// The address in the kernel's format; nullopt if it is not an IP address.
std::optional<std::string> text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET)
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  else if (address->sa_family == AF_INET6)
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  else
    return std::nullopt;
  if (inet_ntop(address->sa_family, bytes, text.data(), text.size()) == nullptr) return std::nullopt;
  return text.data();
}

// The same for text from the user.
std::optional<std::string> canonical(const std::string& address) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1)
    return text_of(reinterpret_cast<const sockaddr*>(&v4));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  if (inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1)
    return text_of(reinterpret_cast<const sockaddr*>(&v6));
  return std::nullopt;
}

bool is_ipv6(const std::string& address) {
  return address.find(':') != std::string::npos;
}

void set_by_default(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 0);
}

}  // namespace

bool is_address(const std::string& text) {
  return canonical(text).has_value();
}

Result<std::string> interface_with(const std::string& address) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return fail_errno(errno, "getifaddrs");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  const auto wanted = canonical(address);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next)
    if (wanted && text_of(one->ifa_addr) == wanted) return std::string(one->ifa_name);
  return fail(Errc::not_found, "--bind: no interface of this machine has the address " + address);
}

std::optional<std::string> take_variable(const char* name) {
  char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  std::string value = text;
  ::explicit_bzero(text, value.size());
  ::unsetenv(name);
  return value;
}

Status prepare_environment(const std::optional<std::string>& bind) {
  if (bind) {
    set_by_default("NCCL_SOCKET_IFNAME", "=" + TRY(interface_with(*bind)));
    set_by_default("NCCL_SOCKET_FAMILY", is_ipv6(*bind) ? "AF_INET6" : "AF_INET");
  }
  // Standard output is only for our reports.
  set_by_default("NCCL_DEBUG_FILE", "/dev/stderr");
  // Opens no unnecessary port.
  set_by_default("NCCL_RAS_ENABLE", "0");
  set_by_default("NCCL_SOCKET_RETRY_CNT", kRefusals);
  return {};
}

}  // namespace autopilot::probes::gpu
