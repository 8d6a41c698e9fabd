#include "tests/report/written_study.h"

#include <nlohmann/json.hpp>

namespace detol::testing_support {
namespace {

constexpr const char* kSpace = R"(version: 1
study: written
function: {name: branin}
search: {algorithm: random}
budget: 10trials
)";

}  // namespace

WrittenStudy::WrittenStudy(std::vector<Objective> objectives, std::string budget) {
  ledger_ = Ledger::open(folder_.path() / "detol.db").value();
  record_.name = "written";
  record_.config = load_study_config(kSpace, "written.yaml").value().text;
  record_.budget = std::move(budget);
  record_.objectives = std::move(objectives);
  record_.created_s = kBegin;
  id_ = ledger_->create_study(record_).value();
}

void WrittenStudy::append(const std::vector<Event>& events) {
  const auto written = ledger_->append(id_, events);
  EXPECT_TRUE(written) << written.error().message;
}

void WrittenStudy::add_all(const std::vector<WrittenTrial>& trials) {
  std::vector<Event> events;
  for (const WrittenTrial& trial : trials) add_to(events, trial);
  append(events);
}

void WrittenStudy::add_to(std::vector<Event>& events, const WrittenTrial& trial) {
  const TrialId id = next_++;
  event::Asked asked;
  asked.trial = id;
  asked.params = {{"x0", 0.5 + static_cast<double>(id)}, {"x1", 1.0}};
  asked.proposer = trial.proposer;
  event::Started started;
  started.trial = id;
  started.worker = trial.worker;
  started.at_s = kBegin + trial.from_s;
  events.insert(events.end(), {Event(asked), Event(started)});
  for (std::size_t i = 0; i < trial.curve.size(); ++i) {
    event::Reported reported;
    reported.trial = id;
    reported.epoch = static_cast<int>(i + 1);
    reported.metrics = {{record_.objectives[0].metric, trial.curve[i]}};
    if (record_.objectives.size() > 1)
      reported.metrics.emplace_back(record_.objectives[1].metric, trial.second);
    reported.train_s = trial.epoch_s;
    events.emplace_back(reported);
  }
  event::Told told;
  told.trial = id;
  told.state = trial.state;
  told.reason = trial.reason;
  told.at_s = kBegin + trial.until_s;
  told.outcome = Measured{.values = {trial.curve.empty() ? 0 : trial.curve.back()}};
  if (trial.state == TrialState::kFail) told.outcome = Failed{};
  if (trial.state >= TrialState::kComplete) events.emplace_back(told);
}

void WrittenStudy::note(LabelTarget target, const std::string& text) {
  const auto facts = label_facts(record_, {.target = target, .note = text}, kBegin, {});
  ASSERT_TRUE(ledger_->record_facts(facts));
}

std::unique_ptr<Reader> WrittenStudy::reader() const {
  return Reader::open(folder_.path() / "detol.db").value();
}

ReportSource WrittenStudy::source() const {
  const auto reader = this->reader();
  ReportSource source;
  source.study = reader->study("written").value();
  source.config = load_study_config(source.study.config, "written").value();
  source.trials =
      reader->select("SELECT * FROM v_trials WHERE study = 'written' ORDER BY trial").value();
  source.events = reader->events(source.study.id).value();
  source.labels = labels_of(source.study, reader->facts(kLabelFact).value());
  source.why_no_importance = "too few trials";
  source.why_no_networks = "no networks";
  source.version = "1.2.3";
  source.now_s = kBegin + 100;
  return source;
}

nlohmann::ordered_json WrittenStudy::model() const {
  return model_of(source());
}

}  // namespace detol::testing_support
