#include <bit>
#include <cmath>
#include <utility>

#include "core/hash.h"
#include "scheduler/simulation/training_models.h"

namespace detol::inline scheduler {
namespace {

constexpr double kHourS = 3600;

// Losing is a training whose worker may be lost in every interval between two reports.
class Losing final : public SimulatedTraining {
 public:
  Losing(std::unique_ptr<SimulatedTraining> inner, message::Train train, double per_s,
         const Rng& rng)
      : inner_(std::move(inner)), train_(std::move(train)), per_s_(per_s), rng_(rng) {}

  double seconds_after(double epochs) override {
    const double inner_s = inner_->seconds_after(epochs);
    Rng rng = rng_.split(std::bit_cast<std::uint64_t>(epochs));
    const double lost_s = -std::log1p(-rng.uniform()) / per_s_;
    is_lost_ = lost_s < inner_s;
    return is_lost_ ? lost_s : inner_s;
  }
  std::optional<PoolEvent> event_after(double epochs, double train_s) override {
    if (!is_lost_) return inner_->event_after(epochs, train_s);
    return Lost{train_.trial, train_.attempt, {RequeueCause::kLost, "its worker was lost"}};
  }

 private:
  const std::unique_ptr<SimulatedTraining> inner_;
  const message::Train train_;
  const double per_s_;
  const Rng rng_;
  bool is_lost_ = false;  // in the interval that seconds_after() was asked for last
};

class Losses final : public TrainingModel {
 public:
  Losses(TrainingModel& inner, double per_s, const Rng& rng)
      : inner_(inner), per_s_(per_s), rng_(rng) {}

  std::unique_ptr<SimulatedTraining> begin(const message::Train& train) override {
    const Rng rng = rng_.split(train.trial).split(static_cast<std::uint64_t>(train.attempt));
    return std::make_unique<Losing>(inner_.begin(train), train, per_s_, rng);
  }

 private:
  TrainingModel& inner_;
  const double per_s_;
  const Rng rng_;
};

}  // namespace

std::unique_ptr<TrainingModel> with_losses(TrainingModel& inner, double per_device_h,
                                           int group_size, std::uint64_t seed) {
  return std::make_unique<Losses>(inner, per_device_h * group_size / kHourS,
                                  Rng(seed).split(hash64("losses")));
}

}  // namespace detol::inline scheduler
