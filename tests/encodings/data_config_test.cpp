// The data section of a space file: its task, its split, the columns of a table.

#include <string>

#include <gtest/gtest.h>

#include "encodings/study/study_config.h"
#include "tests/encodings/space_text.h"

namespace detol {
namespace {

// Returns a space file with that data section.
std::string with_data(const std::string& section) {
  std::string text = file_with(kPlainStage);
  text.replace(text.find("data:"), text.find("architecture:") - text.find("data:"),
               "data: " + section + "\n");
  return text;
}

TEST(DataConfig, SaysWithWhichLossACandidateIsTrainedUnlessTheFileDoes) {
  for (const TaskRow& row : tasks()) {
    const std::string text =
        with_data("{format: csv, path: /d, task: " + std::string(row.name) + "}");
    const StudyConfig study = load(text);
    EXPECT_EQ(study.data.task, row.kind);
    const Genome genome = study.space.genome({}).value();
    const Task task{{1, 8, 8}, 4, row.kind};
    EXPECT_EQ(study.candidate(genome, task)->recipe.loss, row.losses.front());
    for (std::string_view loss : row.losses) {
      const StudyConfig other = load(text, {{"training.loss", std::string(loss)}});
      EXPECT_EQ(other.candidate(genome, task)->recipe.loss, loss);
    }
  }
}

TEST(DataConfig, HasTheSplitAndTheColumnsOfTheFile) {
  const DataConfig data =
      load(with_data("{format: csv, path: /d, header: false, separator: ';', decimal: ',', "
                     "split: {by: group, column: who, seed: 3, folds: 5, fold: 4}, "
                     "columns: {use: [a, b], drop: c, types: {a: category}, numbers: quantile, "
                     "bins: 8}}"))
          .data;
  EXPECT_EQ(data.split.by, "group");
  EXPECT_EQ(data.split.column, "who");
  EXPECT_EQ(data.split.seed, 3u);
  EXPECT_EQ(data.split.folds, 5);
  EXPECT_EQ(data.split.fold, 4);
  EXPECT_EQ(data.columns.header, false);
  EXPECT_EQ(data.columns.separator, ";");
  EXPECT_EQ(data.columns.decimal, ",");
  EXPECT_EQ(data.columns.use, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(data.columns.drop, (std::vector<std::string>{"c"}));
  EXPECT_EQ(data.columns.types.at("a"), "category");
  EXPECT_EQ(data.columns.numbers, "quantile");
  EXPECT_EQ(data.columns.bins, 8);
}

TEST(DataConfig, WhatDoesNotBelongTogetherIsSaidWithItsPlace) {
  const struct {
    std::string section, message;
  } table[] = {
      {"{format: idx, path: /d, header: true}", "data.header is for format csv"},
      {"{format: idx, path: /d, split: {by: group, column: a}}",
       "data.split.by group is for format csv; accepted for idx: random, stratified"},
      {"{format: csv, path: /d, split: {by: time}}", "data.split.by time needs data.split.column"},
      {"{format: csv, path: /d, split: {column: a}}",
       "data.split.column is for data.split.by group or time"},
      {"{format: csv, path: /d, split: {folds: 3, fold: 3}}", "data.split.fold 3 of 3 folds"},
      {"{format: csv, path: /d, split: {fold: 1}}", "data.split.fold 1 of 0 folds"},
      {"{format: csv, path: /d, split: {by: time, column: a, folds: 3}}",
       "data.split.folds does not go with data.split.by time"},
      {"{format: packed, path: /d, split: {by: stratified}}", "packed data are split already"},
      {"{format: csv, path: /d, columns: {types: {a: word}}}",
       "data.columns.types.a: unknown type 'word'"},
      {"{format: csv, path: /d, separator: ', '}", "data.separator is one character"},
      {"{format: csv, path: /d, decimal: ';'}", "data.decimal is '.' or ','"},
  };
  for (const auto& row : table) {
    const std::string message = message_of(with_data(row.section));
    EXPECT_TRUE(message.starts_with("s.yaml:")) << row.section << ": " << message;
    EXPECT_NE(message.find(row.message), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace detol
