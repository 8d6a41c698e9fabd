#pragma once

// FakeModel is a searcher with a trivial model: the mean of all values that it was told, refitted
// after every fifth trial. Its proposals depend on all that it was told, expects and absorbed, and
// on nothing else.

#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/hash.h"
#include "core/rng.h"
#include "search/searcher.h"

namespace detol::testing_support {

class FakeModel final : public Searcher {
 public:
  static constexpr std::uint64_t kEvery = 5;  // trials from one fit to the next

  // Every job calls `work`, on the thread that runs the job.
  FakeModel(
      Space space, std::uint64_t seed, std::string name = "fake_model",
      std::function<void()> work = [] {})
      : space_(std::move(space)), rng_(seed), name_(std::move(name)), work_(std::move(work)) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    if (!is_attended_ && is_due()) absorb(job()());
    std::vector<Trial> trials;
    for (TrialId id = first_id; id < first_id + static_cast<TrialId>(count); ++id) {
      Rng rng = rng_.split(id).split(state());
      trials.push_back({id, space_.sample(rng)});
      expect(trials.back());
    }
    return trials;
  }

  void tell(const Trial& trial, const Outcome& outcome) override {
    const auto* measured = std::get_if<Measured>(&outcome);
    const double value = measured == nullptr ? 0 : measured->values.front();
    told_[trial.id] = std::isfinite(value) ? value : 0;
    expected_.erase(trial.id);
  }

  void expect(const Trial& trial) override {
    if (!told_.contains(trial.id)) expected_.insert(trial.id);
  }

  std::optional<RefitJob> background() override {
    is_attended_ = true;
    if (is_out_ || !is_due()) return std::nullopt;
    is_out_ = true;
    return job();
  }

  void absorb(const Refit& refit) override {
    if (refit.model != name_) return;
    is_out_ = false;
    version_ = refit.version;
    fitted_ = refit.observations;
    const auto* prepared = dynamic_cast<const Mean*>(refit.prepared.get());
    got_prepared_ = prepared != nullptr;
    mean_ = got_prepared_ ? prepared->value : refit.parameters.at(0);
  }

  double trust_in_sources() override { return trust; }

  double trust = 0;  // in sources

  std::uint64_t version() const { return version_; }
  bool got_prepared() const { return got_prepared_; }  // with the last refit
  const std::set<TrialId>& expected() const { return expected_; }

 private:
  struct Mean : Refit::Prepared {
    explicit Mean(double mean) : value(mean) {}
    double value;
  };

  bool is_due() const { return told_.size() >= fitted_ + kEvery; }

  RefitJob job() const {
    return [told = told_, name = name_, version = version_ + 1, work = work_] {
      work();
      double sum = 0;
      for (const auto& [trial, value] : told) sum += value;
      const double mean = sum / static_cast<double>(told.size());
      return Refit{.model = name,
                   .version = version,
                   .observations = told.size(),
                   .parameters = {mean},
                   .prepared = std::make_shared<Mean>(mean)};
    };
  }

  std::uint64_t state() const {
    std::uint64_t hash = hash_combine(version_, std::bit_cast<std::uint64_t>(mean_));
    for (const auto& [trial, value] : told_)
      hash = hash_combine(hash_combine(hash, trial), std::bit_cast<std::uint64_t>(value));
    for (const TrialId trial : expected_) hash = hash_combine(hash, ~trial);
    return hash;
  }

  const Space space_;
  const Rng rng_;
  const std::string name_;
  const std::function<void()> work_;
  std::map<TrialId, double> told_;
  std::set<TrialId> expected_;
  double mean_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t fitted_ = 0;  // observations of the last refit
  bool is_attended_ = false;  // background() was called: the caller runs the jobs
  bool is_out_ = false;       // a job was handed out, and its refit is not absorbed yet
  bool got_prepared_ = false;
};

inline const SearcherRow kFakeModel = {
    "fake_model", "the mean of all",
    [](const Space& space, const SearcherSettings& settings) -> Result<std::unique_ptr<Searcher>> {
      return std::make_unique<FakeModel>(space, settings.seed);
    }};

}  // namespace detol::testing_support
