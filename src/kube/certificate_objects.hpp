// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/objects.hpp"

namespace autopilot::kube {

// Objects that request a certificate from cert-manager (cert-manager.io/v1, CertificateRequest). Pure.

struct CertificateQuestion {
  std::string name;     // of the object
  std::string issuer;   // an Issuer of the same namespace
  std::string request;  // PKCS #10, PEM
  Duration lifetime{0};
};
[[nodiscard]] std::string certificate_requests_path(const std::string& name_space);
[[nodiscard]] std::string certificate_request_json(const CertificateQuestion& question);

struct IssuedCertificate {
  std::string certificate;  // PEM, with intermediate certificates
  std::string authority;    // PEM
};
// unavailable: not issued yet. denied: refused or failed; the text has the reason. malformed: not a
// CertificateRequest.
[[nodiscard]] Result<IssuedCertificate> parse_certificate_request(std::string_view text);

// The authorities that an API server trusts when it calls webhooks (admissionregistration.k8s.io/v1,
// MutatingWebhookConfiguration). Pure.

struct CalledWebhook {
  std::string service;  // the Service that it calls; empty: a URL
  std::string name_space;
  std::string authorities;  // PEM; empty: the server's own
};
struct WebhookConfiguration {
  Meta meta;
  std::vector<CalledWebhook> webhooks;
};

[[nodiscard]] std::string webhook_configuration_path(const std::string& name);
// malformed: not such an object.
[[nodiscard]] Result<WebhookConfiguration> parse_webhook_configuration(std::string_view text);
// A JSON patch that sets `authorities` on all webhooks that call that Service; the server refuses it if the
// object no longer has that version. nullopt: they are set already.
[[nodiscard]] std::optional<std::string> authorities_patch(const WebhookConfiguration& configuration,
                                                           const std::string& name_space,
                                                           const std::string& service,
                                                           const std::string& authorities);

}  // namespace autopilot::kube
