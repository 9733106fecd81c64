// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "kube/credentials.hpp"
#include "kube/kubeconfig.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::kubeconfig_fuzz {
namespace {

const std::string kPem =
    "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n";

// Whatever the files hold: an error that names one of them, or an access that can be used. The same text is
// two files, so that they are merged; all others are certificates.
void fuzz_kubeconfig(const std::string& text) {
  const kube::ReadFile read = [&](const std::string& path) -> Result<std::string> {
    if (path == "/a/config" || path == "/b/config") return text;
    if (path.find("gone") != std::string::npos) return fail(Errc::not_found, path + ": none");
    return path.find("token") == std::string::npos ? kPem : "token";
  };
  const auto access = kube::read_kubeconfig({"/a/config", "/gone", "/b/config"}, "", read);
  if (!access) {
    AUTOPILOT_ASSERT(access.error().code == Errc::malformed);
    AUTOPILOT_ASSERT(access.error().what.starts_with("/a/config:"));
    return;
  }
  AUTOPILOT_ASSERT(!access->server.host.empty() && access->server.port != 0);
  AUTOPILOT_ASSERT(access->certificate.empty() == access->key.empty());
  AUTOPILOT_ASSERT(!access->trusts_any_server || access->authorities.empty());
  if (!access->exec) return;
  AUTOPILOT_ASSERT(!access->exec->command.empty());
  AUTOPILOT_ASSERT(!kube::exec_info_json(*access).empty());
}

void fuzz_credential(std::string_view text) {
  const auto credential = kube::parse_exec_credential(text, "client.authentication.k8s.io/v1");
  if (!credential) {
    AUTOPILOT_ASSERT(credential.error().code == Errc::malformed);
    return;
  }
  AUTOPILOT_ASSERT(!credential->token.empty() || !credential->certificate.empty());
  AUTOPILOT_ASSERT(credential->certificate.empty() == credential->key.empty());
}

}  // namespace

// The first byte picks the reader.
int run(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const void* bytes = data + 1;
  const std::string_view text(static_cast<const char*>(bytes), size - 1);
  if (data[0] % 2 == 0)
    fuzz_kubeconfig(std::string(text));
  else
    fuzz_credential(text);
  return 0;
}

}  // namespace autopilot::kubeconfig_fuzz
