// SPDX-License-Identifier: Apache-2.0
#include "api/openapi.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>

#include "core/action.hpp"
#include "core/event.hpp"
#include "core/health.hpp"
#include "core/incident.hpp"
#include "core/operation.hpp"
#include "core/result.hpp"
#include "core/subject.hpp"
#include "core/yaml.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::api {
namespace {

class OpenApi : public ::testing::Test {
 protected:
  OpenApi() {
    YamlProblems problems("openapi.yaml");
    document_ = parse_yaml(openapi_yaml(), problems);
    EXPECT_TRUE(problems.empty()) << problems.to_string();
  }

  [[nodiscard]] const YamlNode* at(const std::vector<std::string>& path) const {
    const YamlNode* node = &document_;
    for (const auto& name : path) {
      node = node->find(name);
      if (node == nullptr) {
        ADD_FAILURE() << "openapi.yaml has no " << name;
        break;
      }
    }
    return node;
  }

  [[nodiscard]] std::set<std::string> words(std::vector<std::string> path) const {
    path.insert(path.begin(), {"components", "schemas"});
    path.emplace_back("enum");
    std::set<std::string> found;
    if (const auto* list = at(path))
      for (const auto& item : list->items)
        if (item.kind == YamlNode::Kind::scalar) found.insert(item.text);
    return found;
  }

  YamlNode document_;
};

// Every word that an enumeration of the core can say.
template <class Word>
std::set<std::string> words_of(std::optional<Word> (*parse)(std::string_view)) {
  std::set<std::string> found;
  for (int i = 0; i < 256; ++i) {
    const auto word = static_cast<Word>(i);
    const auto text = to_string(word);
    if (!text.empty() && parse(text) == word) found.insert(std::string(text));
  }
  return found;
}

TEST_F(OpenApi, knows_the_words_of_the_core) {
  EXPECT_EQ(words({"Health"}), words_of(parse_health));
  EXPECT_EQ(words({"Verdict"}), words_of(parse_verdict));
  EXPECT_EQ(words({"Action"}), words_of(parse_action));
  EXPECT_EQ(words({"SubjectKind"}), words_of(parse_subject_kind));
  EXPECT_EQ(words({"IncidentState"}), words_of(parse_incident_state));
  EXPECT_EQ(words({"OperationState"}), words_of(parse_operation_state));
  EXPECT_EQ(words({"EventKind"}), words_of(parse_event_kind));
  EXPECT_EQ(words({"Error", "properties", "error", "properties", "code"}), words_of(parse_errc));
}

TEST_F(OpenApi, is_the_file_of_the_source_tree) {
  std::ifstream file(paths::source("src/api/openapi.yaml"));
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(openapi_yaml(), text.str());
}

}  // namespace
}  // namespace autopilot::api
