#pragma once

// Proposals: asks a searcher, on a thread of its own where asking takes long, so that the master
// answers its workers meanwhile. What the searcher is told during an ask reaches it afterwards.
//
// With several workers a proposal is asked for when a worker becomes free, or, where an ask takes a
// noticeable part of a trial's time, ahead of that. A worker that has waited too long for the
// searcher gets a cheap proposal of another one instead, whose proposer is kFallback. Not
// thread-safe; the thread touches the searcher alone.

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "search/searcher.h"

namespace detol::inline scheduler {

inline constexpr std::string_view kFallback = "fallback";

// Asks says where the searcher is asked.
enum class Asks {
  kAtOnce,   // in the caller's thread
  kBeside,   // on a thread, unless asking takes less than a millisecond, or there is one worker:
             // its search is to depend on the study alone
  kVirtual,  // in the caller's thread; the proposals are there when their virtual time is over
};

struct AskSettings {
  Asks asks = Asks::kAtOnce;
  Searcher* fallback = nullptr;  // quick; null: a late searcher is waited for
  // kVirtual: the seconds that one proposal takes once so many outcomes were told.
  std::function<double(std::int64_t told)> seconds = nullptr;
  std::function<void()> wake = nullptr;  // called on the thread when an ask has ended
};

// Demand is what the workers need.
struct Demand {
  TrialId next_id = 0;  // of the next trial of the study
  int wanted = 0;       // proposals for workers that are free
  int late = 0;         // of these, for workers that have waited too long; 0 if there is one worker
  double trial_s = 0;   // mean seconds that a worker spends on a trial; 0: unknown
  int workers = 1;
};

struct Proposal {
  Trial trial;
  std::int64_t behind = 0;  // outcomes that the study knew and the searcher had not been told
};

class Proposals {
 public:
  // The searcher and the clock outlive this object.
  Proposals(Searcher& searcher, Clock& clock, AskSettings settings);
  ~Proposals();  // waits for the ask that is running

  // As the functions of Searcher; kept until the ask that is running ends. The fallback is told the
  // same at once.
  void expect(const Trial& trial);
  void tell(const Trial& trial, const Outcome& outcome);
  void absorb(Refit refit);

  // Takes what the thread has done. Throws what the searcher threw.
  void collect();

  // True while the searcher must not be used: an ask runs.
  bool is_at_work() const { return running_ != nullptr; }

  // True if the searcher had nothing to propose when it was last asked, and was told nothing since.
  bool is_dry() const { return is_dry_; }

  // Returns at most `wanted` proposals, in the order of their numbers; none if the searcher is
  // asked at this moment, or has nothing to propose before it is told more.
  std::vector<Proposal> next(const Demand& demand);

  // Returns all proposals that are ready. REQUIRES: the searcher is not at work.
  std::vector<Proposal> take_ready() { return take(static_cast<int>(ready_.size())); }

  // Asks ahead of the next free worker where that pays, for at most `most` proposals.
  void prepare(const Demand& demand, int most);

  // Returns the virtual seconds until the ask that is running ends; nullopt if time does not end
  // it.
  std::optional<double> seconds_left() const;

 private:
  struct Told {
    Trial trial;
    Outcome outcome;
  };
  struct Running;
  using Message = std::variant<Trial, Told, Refit>;

  void deliver(const Message& message);
  void receive(Message message);
  std::vector<Proposal> take(int count);
  bool is_at_once(const Demand& demand) const;
  void begin(TrialId first_id, int count, bool is_at_once);
  bool begin_beside(TrialId first_id, int count);
  bool is_quick() const;
  int batch(const Demand& demand, int wanted) const;
  int worth_preparing(const Demand& demand) const;

  Searcher& searcher_;
  Clock& clock_;
  const AskSettings settings_;
  std::deque<Proposal> ready_;
  std::deque<Message> waiting_;  // until the ask that is running ends
  std::int64_t known_ = 0;       // outcomes told to this object
  std::int64_t told_ = 0;        // of these, told to the searcher
  double proposal_s_ = 0;
  bool is_dry_ = false;
  std::unique_ptr<Running> running_;  // declared last, so that it ends first
};

// Makes the searcher that proposes where a study's own is late. Errors: as of make_searcher.
Result<std::unique_ptr<Searcher>> make_fallback(const Space& space,
                                                const std::vector<Objective>& objectives,
                                                std::uint64_t seed);

// Returns how long a worker may wait for the searcher before it gets a cheap proposal, if it spends
// `trial_s` on a trial.
double patience_s(double trial_s);

}  // namespace detol::inline scheduler
