#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "scheduler/simulation/training_models.h"

namespace detol::inline scheduler {
namespace {

using Histories = std::map<TrialId, std::vector<EpochReport>>;

// Ranked is a training whose reports are marked as a trainer marks them.
class Ranked final : public SimulatedTraining {
 public:
  Ranked(std::unique_ptr<SimulatedTraining> inner, const EpochRanking& ranking,
         std::vector<EpochReport>& history)
      : inner_(std::move(inner)), ranking_(ranking), history_(history) {}

  double seconds_after(double epochs) override { return inner_->seconds_after(epochs); }

  std::optional<PoolEvent> event_after(double epochs, double train_s) override {
    auto event = inner_->event_after(epochs, train_s);
    auto* reported = event ? std::get_if<message::Report>(&*event) : nullptr;
    if (reported == nullptr) return event;
    history_.push_back(reported->report);
    history_.back().is_best = reported->report.is_best = is_best(ranking_, history_);
    return event;
  }

 private:
  const std::unique_ptr<SimulatedTraining> inner_;
  const EpochRanking& ranking_;
  std::vector<EpochReport>& history_;
};

class Ranking final : public TrainingModel {
 public:
  Ranking(TrainingModel& inner, EpochRanking ranking)
      : inner_(inner), ranking_(std::move(ranking)) {}

  // An attempt begins behind the last acknowledged report.
  std::unique_ptr<SimulatedTraining> begin(const message::Train& train) override {
    std::vector<EpochReport>& history = histories_[train.trial];
    std::erase_if(history,
                  [&](const EpochReport& report) { return report.epochs() > train.acknowledged; });
    return std::make_unique<Ranked>(inner_.begin(train), ranking_, history);
  }

 private:
  TrainingModel& inner_;
  const EpochRanking ranking_;
  Histories histories_;
};

}  // namespace

std::unique_ptr<TrainingModel> with_ranking(TrainingModel& inner, const EpochRanking& ranking) {
  return std::make_unique<Ranking>(inner, ranking);
}

}  // namespace detol::inline scheduler
