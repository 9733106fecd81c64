// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/phase_phrases.hpp"

#include <algorithm>
#include <array>

namespace autopilot::collect {
namespace {

using jobs::Edge;
using jobs::Phase;

struct Phrase {
  std::string_view words;  // in this order, separated by *, each within 40 bytes of the one before
  StatedPhase states;
  std::string_view source;  // a framework that prints it
};

// Read on 2026-11-29 in public repositories and issues. The first phrase that a line contains counts.
constexpr StatedPhase kSaveBegin{Phase::checkpoint, Edge::begin};
constexpr StatedPhase kSaveEnd{Phase::checkpoint, Edge::end};
constexpr StatedPhase kEvaluateBegin{Phase::evaluate, Edge::begin};
constexpr StatedPhase kEvaluateEnd{Phase::evaluate, Edge::end};
constexpr StatedPhase kLoadBegin{Phase::load, Edge::begin};
constexpr StatedPhase kLoadEnd{Phase::load, Edge::end};
constexpr StatedPhase kCompileBegin{Phase::compile, Edge::begin};

constexpr std::array kPhrases{
    Phrase{"successfully saved*checkpoint", kSaveEnd, "Megatron-LM"},
    Phrase{"successfully loaded*checkpoint", kLoadEnd, "Megatron-LM"},
    Phrase{"finished saving*checkpoint", kSaveEnd, "torchtitan"},
    Phrase{"finished loading*checkpoint", kLoadEnd, "torchtitan"},
    Phrase{"checkpoint*saved", kSaveEnd, "common in own training loops"},
    Phrase{"saved*checkpoint", kSaveEnd, "fairseq"},
    Phrase{"checkpoint save*complete", kSaveEnd, "common in own training loops"},
    Phrase{"model weights saved in", kSaveEnd, "transformers"},
    Phrase{"[torch] saved", kSaveEnd, "DeepSpeed"},
    Phrase{"checkpoint*loaded", kLoadEnd, "common in own training loops"},
    Phrase{"loaded*checkpoint", kLoadEnd, "common in own training loops"},
    Phrase{"saving*checkpoint", kSaveBegin, "Megatron-LM, torchtitan, transformers"},
    Phrase{"saving model to", kSaveBegin, "Keras and own training loops"},
    Phrase{"[torch] saving", kSaveBegin, "DeepSpeed"},
    Phrase{"loading*checkpoint", kLoadBegin, "Megatron-LM, torchtitan, transformers"},
    Phrase{"resuming from checkpoint", kLoadBegin, "OpenMMLab"},
    Phrase{"restoring*checkpoint", kLoadBegin, "MaxText"},
    Phrase{"validation loss at iteration", kEvaluateEnd, "Megatron-LM"},
    Phrase{"validation loss at the end of training", kEvaluateEnd, "Megatron-LM"},
    Phrase{"'eval_loss':", kEvaluateEnd, "transformers"},
    Phrase{"evaluation*complete", kEvaluateEnd, "common in own training loops"},
    Phrase{"evaluation*finished", kEvaluateEnd, "common in own training loops"},
    Phrase{"evaluation*done", kEvaluateEnd, "common in own training loops"},
    Phrase{"validation*complete", kEvaluateEnd, "common in own training loops"},
    Phrase{"validation*finished", kEvaluateEnd, "common in own training loops"},
    Phrase{"validation generation end", kEvaluateEnd, "verl"},
    Phrase{"running evaluation", kEvaluateBegin, "transformers"},
    Phrase{"start*evaluation", kEvaluateBegin, "common in own training loops"},
    Phrase{"evaluating", kEvaluateBegin, "Megatron-LM and own training loops"},
    Phrase{"running validation", kEvaluateBegin, "common in own training loops"},
    Phrase{"start*validation", kEvaluateBegin, "common in own training loops"},
    Phrase{"validating", kEvaluateBegin, "Lightning"},
    Phrase{"validation dataloader", kEvaluateBegin, "Lightning"},
    Phrase{"begin validation on", kEvaluateBegin, "fairseq"},
    Phrase{"compiling the model", kCompileBegin, "nanoGPT"},
    Phrase{"capturing cuda graph", kCompileBegin, "SGLang, vLLM"},
};

// A word about a checkpoint that is not written or read now.
constexpr std::array kNotNow{"not saving", "won't",  "will be", "no checkpoint", "failed",   "error",
                             "could not",  "cannot", "skip",    "interval",      "disabled", "shards:"};

bool has_phrase(std::string_view line, std::string_view words) {
  std::size_t from = 0;
  std::size_t limit = line.size();
  while (true) {
    const std::size_t star = words.find('*');
    const std::string_view word = words.substr(0, star);
    const std::size_t at = line.find(word, from);
    if (at == std::string_view::npos || at > limit) return false;
    if (star == std::string_view::npos) return true;
    from = at + word.size();
    limit = from + 40;
    words.remove_prefix(star + 1);
  }
}

}  // namespace

std::optional<StatedPhase> find_phase(std::string_view line) {
  const auto known = std::find_if(kPhrases.begin(), kPhrases.end(),
                                  [&](const Phrase& phrase) { return has_phrase(line, phrase.words); });
  if (known == kPhrases.end()) return std::nullopt;
  const bool is_not_now = std::any_of(kNotNow.begin(), kNotNow.end(), [&](std::string_view word) {
    return line.find(word) != std::string_view::npos;
  });
  if (is_not_now) return std::nullopt;
  return known->states;
}

}  // namespace autopilot::collect
