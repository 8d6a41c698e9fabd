#pragma once

// LinearStudy is a fixture with a study whose networks are lines: one number x in, the logit
// slope x + offset of "yes" out, so that every answer is known. x has mean 0 and deviation 1 among
// the records to train on.
//
//   validation  x  -2 no, -1 no, 0.5 no, 1 yes, 2 yes
//   test        x  0.25 no, 0.4 no, 0.5 yes, 3 yes, -2 no

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/hash.h"
#include "knowledge/facts.h"
#include "models/trained_model.h"
#include "models/untrained_model.h"
#include "tests/studies/study_base.h"
#include "tests/support/idx_writer.h"
#include "trainer/checkpoint.h"
#include "trainer/data/formats/formats.h"

namespace detol::testing_support {

class LinearStudy : public StudyBase {
 protected:
  // Line is a trial: its network after its best epoch, and the value that it reported.
  struct Line {
    double slope = 1, offset = 0;
    double accuracy = 0.5;
    int epochs = 1, best_epoch = 1;
  };

  void SetUp() override {
    std::string table = "t,x,y\n";
    int day = 0;
    const auto add = [&](double x, const char* y) {
      table += fmt::format("2024-01-{:02},{},{}\n", ++day, x, y);
    };
    for (int i = 0; i < 10; ++i) add(i % 2 == 0 ? -1 : 1, i % 2 == 0 ? "no" : "yes");
    for (const double x : {-2.0, -1.0, 0.5, 1.0, 2.0}) add(x, x >= 1 ? "yes" : "no");
    for (const double x : {0.25, 0.4, 0.5, 3.0, -2.0}) add(x, x >= 0.5 ? "yes" : "no");
    write_bytes(path("lin.csv"), table);
  }

  std::string path(const std::string& file) const { return (folder() / file).string(); }

  std::string space() const {
    return fmt::format(R"(version: 1
study: lin
data: {{format: csv, path: '{}', label: y, task: binary, split: {}}}
architecture:
  type: chain
  stem: {{op: none}}
  stages: [{{depth: 0, block: {{op: dense}}}}]
  head: {{op: flatten_linear}}
parameters: {{optimizer: sgd, batch_size: 2, lr: {{type: float, low: 0.1, high: 1}}}}
training: {{epochs: 3, loss: binary_cross_entropy, keep: best}}
objectives: [{{metric: val_accuracy, direction: maximize}}]
{})",
                       path("lin.csv"), split, more);
  }

  void write_study(const std::vector<Line>& lines) {
    config_ = load_study_config(space(), "lin.yaml").value();
    info_ = load_dataset(config_.data).value().info;
    const StudyId study = begin(config_, {.data_fingerprint = info_.fingerprint});
    const auto ledger = Ledger::open(storage()).value();
    const std::string records = fmt::format(R"({{"training": {}, "validation": {}, "test": {}}})",
                                            info_.training, info_.validation, info_.test);
    const Fact fact{kDatasetFact, to_hex(info_.fingerprint), records};
    ASSERT_TRUE(ledger->record_facts({&fact, 1}));
    for (TrialId id = 0; id < lines.size(); ++id) append_line(*ledger, study, id, lines[id]);
  }

  void append_line(Ledger& ledger, StudyId study, TrialId id, const Line& line) const {
    event::Asked asked = asked_for(id, genome_of(id));
    asked.flops = 2;
    ASSERT_TRUE(ledger.append(study, std::vector<Event>{asked, event::Started{id, 1, "w"}}));
    for (int epoch = 1; epoch <= line.epochs; ++epoch) report(ledger, id, line, epoch);
    const event::Told told{.trial = id, .outcome = Measured{.values = {line.accuracy}}};
    ASSERT_TRUE(ledger.append(study, std::vector<Event>{told}));
  }

  // Reports an epoch, and writes its checkpoint if it is the best.
  void report(Ledger& ledger, TrialId id, const Line& line, int epoch) const {
    event::Reported reported;
    reported.trial = id;
    reported.epoch = epoch;
    reported.is_best = epoch <= line.best_epoch;
    reported.metrics = {{"val_accuracy", reported.is_best ? line.accuracy : 0}};
    ASSERT_TRUE(ledger.append(1, std::vector<Event>{reported}));
    if (epoch != line.best_epoch) return;
    Checkpoint checkpoint;
    checkpoint.trial = id;
    checkpoint.arch_hash = candidate(id).arch_hash;
    checkpoint.epoch = epoch;
    checkpoint.step = epoch * (info_.training / 2);  // of batches of two
    checkpoint.history = {
        {.epoch = epoch, .metrics = {{"val_accuracy", line.accuracy}}, .step = checkpoint.step}};
    checkpoint.state.weights = weights_of(line);
    ASSERT_TRUE(write_checkpoint(trial_folder(id), checkpoint));
  }

  Candidate candidate(TrialId id) const {
    return config_.candidate(genome_of(id), info_.task).value();
  }
  Weights weights_of(const Line& line) const {
    Weights weights = initial_weights(candidate(0).network, 1);
    weights[0].data = {static_cast<float>(line.slope)};
    weights[1].data = {static_cast<float>(line.offset)};
    return weights;
  }

  // Records a model of trial 0, which is a line after three epochs, with its checkpoint.
  event::Model keep_line(const Line& line, ModelKind kind, const std::string& trained_on) const {
    const OpenStudy study = opened("lin");
    ModelRecord record = ModelRecord::open(storage(), "lin").value();
    event::Model model = untrained_model(study, 0, kind, candidate(0), record).value();
    model.epochs = 3;
    model.trained_on = trained_on;
    model.metrics = {{"val_accuracy", line.accuracy}, {"test_accuracy", line.accuracy}};
    model.intervals = {{"test_accuracy", line.accuracy - 0.1, line.accuracy + 0.1}};
    EXPECT_TRUE(keep_model(study, storage(), candidate(0), weights_of(line), model, record));
    return model;
  }

  StudyData data() const { return load_study_data(opened("lin")).value(); }
  TrialSummary trial(TrialId id) const { return trial_numbered(opened("lin"), id).value(); }

  std::filesystem::path trial_folder(TrialId id) const {
    return folder() / "detol.db.d" / "lin" / std::to_string(id);
  }
  Genome genome_of(TrialId id) const {
    return config_.space.at(std::vector<double>{0.01 * static_cast<double>(id)});
  }

  // Writes new records with these x, and returns the file.
  std::string records(const std::vector<double>& xs) const {
    std::string table = "x\n";
    for (const double x : xs) table += fmt::format("{}\n", x);
    write_bytes(path("new.csv"), table);
    return path("new.csv");
  }

  std::string more = {};  // of the space file
  std::string split = "{validation: 0.333, test: 0.25, by: time, column: t}";

  StudyConfig config_;
  DatasetInfo info_;
};

}  // namespace detol::testing_support
