// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"
#include "cli/explain/explained.hpp"

namespace autopilot::cli {

// Something that `explain` knows by name.
struct Topic {
  std::string kind;   // "reason", "health", ...
  std::string id;     // "row_remap_failed"
  std::string title;  // a few words
};
// Every topic with a name, for completion and for the nearest names. Xids have ids such as "xid 79".
[[nodiscard]] std::vector<Topic> all_topics(const catalog::Catalog& facts);

// Everything that the words can mean, for a person who copies what was printed anywhere: an id or a word,
// with or without its kind before it ("health failed"), an Xid ("79", "xid79", "XID-79", "xid_79", "xid 79"),
// an SXid, an exit code ("exit 3"), or a line of the kernel log. Upper and lower case are equal. Empty:
// nothing. Pure.
[[nodiscard]] std::vector<Explained> find_topics(const std::string& words, const catalog::Catalog& facts);

// The known names that are nearest to the words, the nearest first; at most three.
[[nodiscard]] std::vector<std::string> nearest_topics(const std::string& words,
                                                      const catalog::Catalog& facts);

// The reason whose texts share most words with a finding that was printed: half of the words at least, and
// three. nullptr: none. Pure.
[[nodiscard]] const catalog::Reason* reason_like(std::string_view sentence, const catalog::Catalog& facts);

// True for the form of an id of an incident: "0123abcd-12".
[[nodiscard]] bool is_incident_form(std::string_view text);

}  // namespace autopilot::cli
