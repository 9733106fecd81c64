// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "controller/agent_node.hpp"
#include "controller/certificates/authority.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/word_table.hpp"
#include "kube/caches.hpp"
#include "kube/client.hpp"
#include "kube/pacing.hpp"
#include "net/http_server.hpp"
#include "net/http_session.hpp"

namespace autopilot::controller {

enum class Issuance : std::uint8_t {
  issued,
  malformed,     // the request cannot be signed
  unknown,       // unknown token
  forbidden,     // not the token of an agent
  rate_limited,  // too many requests
  unavailable,   // no authority, or the API server does not answer
};
inline constexpr WordTable<Issuance, 6> kIssuances{{{Issuance::issued, "issued"},
                                                    {Issuance::malformed, "malformed"},
                                                    {Issuance::unknown, "unknown"},
                                                    {Issuance::forbidden, "forbidden"},
                                                    {Issuance::rate_limited, "rate_limited"},
                                                    {Issuance::unavailable, "unavailable"}}};
// Number of requests by result, in the order of kIssuances.
using IssuanceCounts = std::array<std::uint64_t, kIssuances.size()>;

// Signs certificates of agents. POST {"request": "<PKCS #10, PEM>"} with the token of the agent's pod returns
// {"certificate": "...", "authority": "..."}, both PEM. The certificate is only for the node that the API
// server reads from the token. On the loop's thread.
class CertificateIssuer {
 public:
  static constexpr Duration kLife = std::chrono::hours{24};
  static constexpr std::size_t kLongestBody = std::size_t{32} << 10;
  // Limits of TokenReviews: concurrent, and over time.
  static constexpr std::size_t kMostAtOnce = 4;
  static constexpr int kReviewBurst = 100;
  static constexpr Duration kReviewSpacing = std::chrono::milliseconds{20};
  // Limits of certificates for one node.
  static constexpr int kNodeBurst = 6;
  static constexpr Duration kNodeSpacing = std::chrono::minutes{10};
  static constexpr std::size_t kMostNodes = 10'000;

  // keys: returns the current authority; nullptr: none yet.
  CertificateIssuer(kube::Client& client, const Clock& clock, const std::string& name_space,
                    std::function<const AuthorityKeys*()> keys);
  CertificateIssuer(const CertificateIssuer&) = delete;
  CertificateIssuer& operator=(const CertificateIssuer&) = delete;
  ~CertificateIssuer() = default;

  void answer(const net::HttpRequest& request, net::Responder responder);
  [[nodiscard]] const IssuanceCounts& counts() const { return counts_; }

 private:
  // A request whose token is under review.
  struct Pending {
    std::string body;
    net::Responder responder;
    net::Exchange exchange;
  };
  struct Refusal {
    Issuance outcome;
    int status;
    Error why;
    Duration retry_after{0};
  };

  [[nodiscard]] static Refusal refusal_of(const NoAgent& why);
  [[nodiscard]] std::optional<Refusal> objection(const net::HttpRequest& request, const std::string& token);
  void take_review(std::uint64_t id, const kube::ApiResult<std::string>& answer);
  [[nodiscard]] tl::expected<std::string, Refusal> decide(const std::string& body,
                                                          const kube::ApiResult<std::string>& review);
  [[nodiscard]] tl::expected<std::string, Refusal> sign(const std::string& node, const std::string& body);
  void count(Issuance outcome) { ++counts_[static_cast<std::size_t>(outcome)]; }
  void refuse(net::Responder& responder, const Refusal& refusal);

  kube::Client& client_;
  const Clock& clock_;
  const std::string account_;
  const std::function<const AuthorityKeys*()> keys_;
  kube::TokenBucket reviews_{kReviewBurst, kReviewSpacing};
  kube::RecentMap<kube::TokenBucket> nodes_{kMostNodes};
  IssuanceCounts counts_{};
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, Pending> pending_;
};

}  // namespace autopilot::controller
