// SPDX-License-Identifier: Apache-2.0
#include "agent/tls/controller_signer.hpp"

#include <optional>
#include <utility>

#include "api/controller.hpp"
#include "kube/client.hpp"

namespace autopilot::agent {
namespace {

std::optional<Duration> pause_asked_by(const net::HttpResponse& answer) {
  for (const auto& [name, value] : answer.headers)
    if (name == "retry-after") return kube::parse_retry_after(value);
  return std::nullopt;
}

Result<SignedKey> key_in(const Result<net::HttpResponse>& answer) {
  if (!answer) return tl::unexpected(answer.error());
  if (answer->status != 200)
    return fail(answer->status == 401 || answer->status == 403 ? Errc::denied : Errc::unavailable,
                "the controller signs no key of this node: " + std::to_string(answer->status) + " " +
                    answer->body.substr(0, 200));
  const auto issued = TRY(api::parse_signed_certificate(answer->body));
  return SignedKey{issued.certificate, issued.authority};
}

}  // namespace

ControllerSigner::ControllerSigner(net::EventLoop& loop, const Clock& clock, ControllerDoor door,
                                   kube::ReadFile read_file, ControllerCall::Pace pace)
    : call_(loop, clock, std::move(door), std::move(read_file), pace) {}

ControllerSigner::~ControllerSigner() = default;

void ControllerSigner::sign(const std::string& request, OnAnswer on_answer) {
  call_.post(api::kCertificatesPath, api::to_json(api::SigningRequest{request}),
             [on_answer = std::move(on_answer)](const Result<net::HttpResponse>& answer) {
               const auto pause = answer && answer->status != 200 ? pause_asked_by(*answer) : std::nullopt;
               on_answer(key_in(answer), pause);
             });
}

}  // namespace autopilot::agent
