#pragma once

// Small space files for the tests, and their loaded studies.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encodings/study/study_config.h"

namespace detol {

// A file of one stage; `architecture` is what follows below `type`.
inline std::string file_with(const std::string& architecture, const std::string& rest = "") {
  return "version: 1\nstudy: s\ndata: {format: idx, path: /data}\narchitecture:\n  type: chain\n" +
         architecture +
         "training: {epochs: 2}\nobjectives: [{metric: val_loss, direction: minimize}]\n" + rest;
}

inline const std::string kPlainStage = "  stages: [{block: {op: conv}}]\n";

inline StudyConfig load(const std::string& text, const std::vector<Override>& overrides = {}) {
  auto study = load_study_config(text, "s.yaml", overrides);
  EXPECT_TRUE(study) << study.error().message;
  return study.value_or(StudyConfig{});
}

inline std::string message_of(const std::string& text,
                              const std::vector<Override>& overrides = {}) {
  const auto study = load_study_config(text, "s.yaml", overrides);
  return study ? "" : study.error().message;
}

// Returns the choices as "name<-parent name ...".
inline std::string choices_of(const StudyConfig& study) {
  std::string text;
  for (const Domain& domain : study.space.domains()) {
    text += (text.empty() ? "" : " ") + domain.name;
    if (domain.when) text += "<-" + domain.when->parent;
  }
  return text;
}

inline const std::string kStageWithChoices = R"(  stages:
    - depth: {type: int, low: 1, high: 2, when: {block.op: conv}}
      block:
        op: {type: categorical, choices: [conv, mbconv]}
        se: {type: bool, when: {op: mbconv}}
        dropout: {type: float, low: 0, high: 0.5, when: {optimizer: sgd}}
  head: {dropout: {type: float, low: 0, high: 0.5, when: {"architecture.stages[0].block.op": conv}}}
parameters: {optimizer: {type: categorical, choices: [sgd, adamw]}}
)";

}  // namespace detol
