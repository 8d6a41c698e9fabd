#include "scheduler/proposals.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace detol::inline scheduler {
namespace {

constexpr double kQuickS = 1e-3;        // an ask that blocks the master no longer than this may
constexpr double kBatchS = 0.1;         // of one ask for several proposals
constexpr double kWeight = 0.3;         // of the last ask in the mean time of a proposal
constexpr double kShareOfTrial = 0.01;  // a longer wait than this is worth asking ahead
constexpr int kMostAhead = 64;          // proposals, which grow stale
constexpr double kPatienceOfTrial = 0.02;
constexpr double kLeastPatienceS = 0.05, kMostPatienceS = 5;

}  // namespace

Result<std::unique_ptr<Searcher>> make_fallback(const Space& space,
                                                const std::vector<Objective>& objectives,
                                                std::uint64_t seed) {
  return make_searcher("evolution", space, {.seed = seed, .objectives = objectives, .options = {}});
}

double patience_s(double trial_s) {
  return std::clamp(kPatienceOfTrial * trial_s, kLeastPatienceS, kMostPatienceS);
}

// Running is one ask, on a thread or in virtual time.
struct Proposals::Running {
  struct Answer {
    std::vector<Trial> trials;
    double seconds = 0;  // that the ask took
    std::exception_ptr error = nullptr;
  };

  static Answer ask(Searcher& searcher, TrialId first_id, int count) {
    Answer answer;
    const double began_s = system_clock().now_s();
    try {
      answer.trials = searcher.ask(first_id, count);
    } catch (...) {
      answer.error = std::current_exception();
    }
    answer.seconds = system_clock().now_s() - began_s;
    return answer;
  }

  std::optional<Answer> answer() {
    const std::lock_guard lock(mutex);
    return std::exchange(result, std::nullopt);
  }

  std::int64_t told = 0;        // outcomes that the searcher knows
  std::optional<double> due_s;  // virtual: when it ends
  std::mutex mutex;             // of result
  std::optional<Answer> result;
  std::jthread thread;  // declared last, so that it ends first
};

Proposals::Proposals(Searcher& searcher, Clock& clock, AskSettings settings)
    : searcher_(searcher), clock_(clock), settings_(std::move(settings)) {}

Proposals::~Proposals() = default;

void Proposals::expect(const Trial& trial) {
  if (settings_.fallback != nullptr) settings_.fallback->expect(trial);
  receive(trial);
}

void Proposals::tell(const Trial& trial, const Outcome& outcome) {
  if (settings_.fallback != nullptr) settings_.fallback->tell(trial, outcome);
  ++known_;
  receive(Told{trial, outcome});
}

void Proposals::absorb(Refit refit) {
  receive(std::move(refit));
}

void Proposals::receive(Message message) {
  if (is_at_work())
    waiting_.push_back(std::move(message));
  else
    deliver(message);
}

void Proposals::deliver(const Message& message) {
  if (const auto* trial = std::get_if<Trial>(&message)) searcher_.expect(*trial);
  if (const auto* refit = std::get_if<Refit>(&message)) searcher_.absorb(*refit);
  if (const auto* told = std::get_if<Told>(&message)) {
    searcher_.tell(told->trial, told->outcome);
    ++told_;
    is_dry_ = false;
  }
}

void Proposals::collect() {
  if (!is_at_work() || (running_->due_s && clock_.now_s() < *running_->due_s)) return;
  std::optional<Running::Answer> answer = running_->answer();
  if (!answer) return;
  const std::int64_t told = running_->told;
  running_.reset();
  if (answer->error) std::rethrow_exception(answer->error);
  is_dry_ = answer->trials.empty();
  const auto asked = static_cast<double>(answer->trials.size());
  const double each_s = asked == 0 ? proposal_s_ : answer->seconds / asked;
  proposal_s_ = proposal_s_ == 0 ? each_s : (1 - kWeight) * proposal_s_ + kWeight * each_s;
  for (Trial& trial : answer->trials) ready_.push_back({std::move(trial), told});
  for (const Message& message : std::exchange(waiting_, {})) deliver(message);
}

// The number of outcomes that a proposal is behind is counted when it is taken.
std::vector<Proposal> Proposals::take(int count) {
  std::vector<Proposal> taken;
  while (static_cast<int>(taken.size()) < count && !ready_.empty()) {
    taken.push_back(std::move(ready_.front()));
    taken.back().behind = known_ - taken.back().behind;
    ready_.pop_front();
  }
  return taken;
}

std::vector<Proposal> Proposals::next(const Demand& demand) {
  if (ready_.empty() && !is_at_work()) {
    const bool is_late = demand.late > 0 && proposal_s_ >= kQuickS && !is_dry_;
    if (is_late && settings_.fallback != nullptr) {
      std::vector<Proposal> cheap;
      for (Trial& trial : settings_.fallback->ask(demand.next_id, demand.late)) {
        trial.proposer = kFallback;
        cheap.push_back({std::move(trial)});
      }
      if (!cheap.empty()) return cheap;
    }
    if (!is_dry_ || is_at_once(demand))
      begin(demand.next_id, batch(demand, demand.wanted), is_at_once(demand));
  }
  return take(demand.wanted);
}

void Proposals::prepare(const Demand& demand, int most) {
  const int missing = std::min(most, worth_preparing(demand)) - static_cast<int>(ready_.size());
  if (is_at_work() || is_dry_ || missing <= 0) return;
  begin(demand.next_id + ready_.size(), batch(demand, missing), is_at_once(demand));
}

bool Proposals::is_at_once(const Demand& demand) const {
  return settings_.asks == Asks::kAtOnce ||
         (settings_.asks == Asks::kBeside && demand.workers == 1);
}

// Begins an ask; one that runs in this thread has ended when this returns.
void Proposals::begin(TrialId first_id, int count, bool is_at_once) {
  running_ = std::make_unique<Running>();
  running_->told = told_;
  const bool is_beside = settings_.asks == Asks::kBeside && !is_at_once && !is_quick();
  if (is_beside && begin_beside(first_id, count)) return;
  running_->result = Running::ask(searcher_, first_id, count);
  if (settings_.asks == Asks::kVirtual) {
    const auto asked = static_cast<double>(running_->result->trials.size());
    running_->result->seconds = settings_.seconds(told_) * asked;
    running_->due_s = clock_.now_s() + running_->result->seconds;
  }
  collect();
}

// Begins to ask on a thread. Returns false if no thread can be started.
bool Proposals::begin_beside(TrialId first_id, int count) {
  try {
    running_->thread = std::jthread([this, first_id, count, &running = *running_] {
      Running::Answer answer = Running::ask(searcher_, first_id, count);
      {
        const std::lock_guard lock(running.mutex);
        running.result = std::move(answer);
      }
      if (settings_.wake) settings_.wake();
    });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

bool Proposals::is_quick() const {
  return settings_.asks == Asks::kAtOnce || (proposal_s_ > 0 && proposal_s_ < kQuickS);
}

// Returns how many of the wanted proposals one ask should make, so that the first of them need not
// wait long for the last.
int Proposals::batch(const Demand& demand, int wanted) const {
  if (is_at_once(demand)) return wanted;
  if (proposal_s_ == 0) return 1;
  const double limit_s = is_quick() && settings_.asks == Asks::kBeside ? kQuickS : kBatchS;
  return std::clamp(static_cast<int>(std::min(1e6, limit_s / proposal_s_)), 1, wanted);
}

// Returns how many proposals should be ready, so that no worker waits long for one: none if a
// proposal takes a hundredth of a trial's time or less, as one that is made later knows more; none
// for one worker either, whose search would depend on time.
int Proposals::worth_preparing(const Demand& demand) const {
  const bool is_alone = is_at_once(demand) || demand.workers == 1;
  if (is_alone || demand.trial_s <= 0 || is_quick()) return 0;
  if (proposal_s_ <= kShareOfTrial * demand.trial_s) return 0;
  const double meanwhile = std::ceil(proposal_s_ * demand.workers / demand.trial_s);
  return static_cast<int>(std::min<double>(kMostAhead, meanwhile + 1));
}

std::optional<double> Proposals::seconds_left() const {
  if (!is_at_work() || !running_->due_s) return std::nullopt;
  return std::max(0.0, *running_->due_s - clock_.now_s());
}

}  // namespace detol::inline scheduler
