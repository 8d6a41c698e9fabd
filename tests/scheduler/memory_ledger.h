#pragma once

// A ledger in memory: what was appended, transaction by transaction, and a disk that may be full.

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "knowledge/ledger.h"

namespace detol::testing_support {

class MemoryLedger final : public Ledger {
 public:
  Result<StudyId> create_study(const StudyRecord&) override { return 1; }
  Result<void> append(StudyId, std::span<const Event> events,
                      std::span<const Fact> facts) override {
    if (full-- > 0) return fail(ErrorCode::kStorage, "the disk is full");
    transactions.emplace_back(events.begin(), events.end());
    known.insert(known.end(), facts.begin(), facts.end());
    if (on_append) on_append();
    return {};
  }
  bool may_retry() const override { return true; }
  Result<std::vector<StudyRecord>> studies() override { return std::vector<StudyRecord>(); }
  Result<std::vector<event::Source::Trial>> outcomes(StudyId) override {
    return std::vector<event::Source::Trial>();
  }
  Result<std::optional<KnownTrial>> known_trial(const std::string&, StudyId,
                                                std::optional<int>) override {
    return std::nullopt;
  }
  Result<void> record_facts(std::span<const Fact>) override { return {}; }
  Result<std::vector<Fact>> facts(const std::string&) override { return known; }
  Result<std::optional<Fact>> fact(const std::string&, const std::string&) override {
    return std::nullopt;
  }
  Result<StudyRecord> open_study(const std::string&) override { return StudyRecord{}; }
  Result<StudyRecord> study(const std::string&) override { return StudyRecord{}; }
  Result<std::vector<Event>> events(StudyId) override {
    std::vector<Event> all;
    for (const auto& t : transactions) all.insert(all.end(), t.begin(), t.end());
    return all;
  }
  std::vector<std::vector<Event>> transactions;
  std::vector<Fact> known;
  int full = 0;  // number of appends that will fail
  std::function<void()> on_append;
};

template <typename E>
std::vector<E> events_of(MemoryLedger& ledger) {
  std::vector<E> found;
  const std::vector<Event> all = ledger.events(1).value();
  for (const Event& event : all) {
    if (const auto* e = std::get_if<E>(&event)) found.push_back(*e);
  }
  return found;
}

}  // namespace detol::testing_support
