#pragma once

// ChargedLedger: a ledger whose commits take virtual time, and are counted. It passes what it is
// given to another ledger, or keeps nothing. Not thread-safe.

#include <cstdint>
#include <memory>

#include "knowledge/ledger.h"
#include "scheduler/simulation/virtual_clock.h"

namespace detol::inline scheduler {

class ChargedLedger final : public Ledger {
 public:
  // `inner` may be null. REQUIRES: the clock outlives this.
  ChargedLedger(std::unique_ptr<Ledger> inner, double commit_s, VirtualClock& clock)
      : inner_(std::move(inner)), commit_s_(commit_s), clock_(clock) {}

  Result<StudyId> create_study(const StudyRecord& record) override {
    return inner_ ? inner_->create_study(record) : 1;
  }
  Result<StudyRecord> open_study(const std::string& name) override {
    return inner_ ? inner_->open_study(name) : StudyRecord{};
  }
  Result<void> append(StudyId study, std::span<const Event> events,
                      std::span<const Fact> facts) override {
    ++commits_;
    events_ += static_cast<std::int64_t>(events.size());
    clock_.now += commit_s_;
    return inner_ ? inner_->append(study, events, facts) : Result<void>();
  }
  Result<void> record_facts(std::span<const Fact> facts) override {
    return inner_ ? inner_->record_facts(facts) : Result<void>();
  }
  bool may_retry() const override { return inner_ && inner_->may_retry(); }
  Result<StudyRecord> study(const std::string& name) override {
    return inner_ ? inner_->study(name) : StudyRecord{};
  }
  Result<std::optional<KnownTrial>> known_trial(const std::string& identity, StudyId except,
                                                std::optional<int> ranks) override {
    if (!inner_) return std::nullopt;
    return inner_->known_trial(identity, except, ranks);
  }
  Result<std::vector<StudyRecord>> studies() override {
    return inner_ ? inner_->studies() : std::vector<StudyRecord>{};
  }
  Result<std::vector<event::Source::Trial>> outcomes(StudyId study) override {
    return inner_ ? inner_->outcomes(study) : std::vector<event::Source::Trial>{};
  }
  Result<std::vector<Fact>> facts(const std::string& kind) override {
    return inner_ ? inner_->facts(kind) : std::vector<Fact>{};
  }
  Result<std::optional<Fact>> fact(const std::string& kind, const std::string& key) override {
    if (!inner_) return std::nullopt;
    return inner_->fact(kind, key);
  }
  Result<std::vector<Event>> events(StudyId study) override {
    return inner_ ? inner_->events(study) : std::vector<Event>{};
  }

  std::int64_t commits() const { return commits_; }
  std::int64_t events_written() const { return events_; }

 private:
  const std::unique_ptr<Ledger> inner_;
  const double commit_s_;
  VirtualClock& clock_;
  std::int64_t commits_ = 0, events_ = 0;
};

}  // namespace detol::inline scheduler
