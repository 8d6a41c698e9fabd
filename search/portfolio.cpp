// A portfolio of searchers, as it is unknown beforehand which algorithm suits a space. Every trial
// goes to a member whose recent trials paid off per unit of work, and every outcome is told to all
// (Hoffman, Brochu and de Freitas, 2011, "Portfolio Allocation for Bayesian Optimization", UAI,
// arXiv 1009.5419; credit over a sliding window as in Ansel et al., 2014, "OpenTuner", PACT).
//
// A trial pays off by the share of the window's trials that it is not worse than, to the power of
// kPower: the best earns 1, the middle 0.06. Ranks have no units, one outlier cannot distort them,
// and the power rewards very good trials rather than a good average. A trial that failed or was
// known before earns nothing. A member's credit is what its trials in the window earned over what
// they cost: their work, as a multiple of the window's mean (one each where no work is known).
//
//   window: a 0.9, b 0.5, a 0.8, b 0.1 (minimised). b earned 1 + 0.75^4 = 1.32, a 0.5^4 + 0.25^4 =
//   0.07. With imagined trials: a (8.2 + 0.07) / (20.6 + 2), b (2.5 + 1.3) / (20.6 + 2); a gets
//   0.81 of the next trials
//
// Both sides of that quotient begin with imagined trials, better ones for members that are named
// earlier, so that a search of thirty trials does not spend them all on comparing members. They
// fade: kPriorTrials at first, a third of them after two hundred trials, one in the end. (After
// fifty they faded too early: a model that explores has worse ranks than a hill climber at first,
// and is far ahead of it later.)
// Members are drawn in proportion to the square of their credit, above a floor that every member
// has, as a member that fails early may succeed late. Where gp is the first it makes the first
// trials alone: a comparison would cost more than the others are worth by then. Members profit from
// each other: each is told all initial draws, and each improves on the best that any of them found.
//
// A member that takes its predictions from earlier studies (trust_in_sources()) gets that share of
// the proposals, and the credits divide what is left; there the imagined trials of all later
// members are worse by the same share. Both fade as imagined trials do, and end with the first fit
// at which the sources have lost their weight: then the members compete as without sources.
// NAS-Bench-201's best cell of CIFAR-100, from all of CIFAR-10, took 36 trials (median of 64
// seeds), gp alone 42; 40 where imagined trials were as bad for any sources at all, whatever their
// weight.
//
// An outside trial (a warm start, a user's) earns no member credit, but it is among the ranks; nor
// does a restart of gp's trust region, which looks elsewhere than at the best (gp_arms.h): with its
// ranks gp would lose the trials by which a search leaves a local optimum. A
// trial that is told again keeps its place in the window. Which member makes trial n is drawn from
// random stream n. With several objectives only a trial that dominates another is better than it,
// so that all of the window's front earn 1.
//
// Every proposal is passed to expect() of all members. Their refits are handed out one job at a
// time, in the order in which they became due; of two at once the earlier member's is first.
//
// Price: a tell of every member, and the window's square at each ask; 100 bytes per trial ever
// told.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "core/hash.h"
#include "core/options.h"
#include "core/rng.h"
#include "core/table.h"
#include "search/basins.h"
#include "search/gp_arms.h"
#include "search/outcome_value.h"
#include "search/searchers.h"
#include "surrogate/pareto.h"

namespace detol::inline search {
namespace {

// kMembers, kMembersOfMany: the default members for one and for several objectives; the first has
// the best imagined trials. (For networks reinforce and qlearning as two more change nothing:
// experiments/search_quality/RESULTS.md.)
constexpr const char* kMembers = "gp local evolution";
constexpr const char* kMembersOfMany = "gp nsga2 local";

// Told trials until which gp proposes alone, if it is first.
constexpr std::int64_t kAlone = 50, kAloneInBranches = 100;
constexpr double kPower = 4;          // exponent of a trial's share of no better trials
constexpr double kPriorTrials = 20;   // imagined of each member, at first
constexpr double kPriorLife = 200;    // told trials after which imagined ones are 1/e as many
constexpr double kPriorReward = 0.4;  // reward of each imagined trial of the first member
constexpr double kPriorRatio = 0.3;   // the next member's imagined reward / this member's
constexpr double kLeastCost = 0.1;    // cost of a trial that needed no training

struct Member {
  std::string_view name;
  std::unique_ptr<Searcher> searcher;
};

// Record: what a told trial counts for in its proposer's account.
struct Record {
  std::size_t member = 0;    // the number of members for an outside trial or a restart
  RankedLosses losses = {};  // empty: nothing was measured
  double work = 0;
  bool is_repeat = false;  // its candidate was told before
};

struct Account {
  double earned = 0;
  double cost = 0;
};

// Returns the member of a proposer such as "gp region": its first word.
std::string_view first_word(std::string_view proposer) {
  return proposer.substr(0, proposer.find(' '));
}

class Portfolio final : public Searcher {
 public:
  Portfolio(Space space, const SearcherSettings& settings, std::vector<Member> members,
            std::size_t window, double floor, std::size_t alone)
      : space_(std::move(space)),
        rng_(settings.seed),
        objectives_(settings.objectives),
        members_(std::move(members)),
        window_(window),
        floor_(floor),
        alone_(alone) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    std::vector<double> shares = records_.size() < alone_ ? all_to_first() : shares_of(accounts());
    give_to_trusting(shares);
    std::vector<Trial> trials;
    for (int i = 0; i < count; ++i) {
      const TrialId id = first_id + static_cast<TrialId>(i);
      for (Trial& trial : propose(id, drawn_from(shares, id))) {
        expect(trial);
        trials.push_back(std::move(trial));
      }
    }
    return trials;
  }

  void tell(const Trial& trial, const Outcome& outcome) override {
    for (const Member& member : members_) member.searcher->tell(trial, outcome);
    const auto [at, is_new] = places_.try_emplace(trial.id, records_.size());
    if (is_new)
      records_.push_back({.is_repeat = !known_.insert(space_.identity(trial.genome)).second});
    record(trial, outcome, records_[at->second]);
  }

  void expect(const Trial& trial) override {
    for (const Member& member : members_) member.searcher->expect(trial);
  }

  std::optional<RefitJob> background() override {
    for (const Member& member : members_) {
      if (auto job = member.searcher->background()) due_.push_back(*std::move(job));
    }
    if (is_out_ || due_.empty()) return std::nullopt;
    is_out_ = true;
    RefitJob job = std::move(due_.front());
    due_.pop_front();
    return job;
  }

  void absorb(const Refit& refit) override {
    const auto member = std::ranges::find(members_, refit.model, &Member::name);
    if (member == members_.end()) return;
    is_out_ = false;
    member->searcher->absorb(refit);
  }

  // Asks the member that proposed the trial, or another if that one has no model.
  std::optional<Explanation> explain(const Trial& trial) override {
    std::optional<Explanation> explanation;
    for (const Member& member : members_) {
      const bool is_proposer = member.name == first_word(trial.proposer);
      if (explanation && !is_proposer) continue;
      if (auto own = member.searcher->explain(trial)) explanation = std::move(own);
    }
    return explanation;
  }

 private:
  // Asks this member, or the next one if it has nothing to propose.
  std::vector<Trial> propose(TrialId id, std::size_t first) const {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const Member& member = members_[(first + i) % members_.size()];
      std::vector<Trial> trials = member.searcher->ask(id, 1);
      for (Trial& trial : trials) {
        if (first_word(trial.proposer) != member.name) trial.proposer = member.name;
      }
      if (!trials.empty()) return trials;
    }
    return {};
  }

  std::size_t drawn_from(const std::vector<double>& shares, TrialId id) const {
    double left = rng_.split(id).split(hash64("member")).uniform();
    for (std::size_t i = 0; i + 1 < shares.size(); ++i) {
      if (left < shares[i]) return i;
      left -= shares[i];
    }
    return shares.size() - 1;
  }

  std::vector<double> all_to_first() const {
    std::vector<double> shares(members_.size(), 0);
    shares.front() = 1;
    return shares;
  }

  std::vector<double> shares_of(const std::vector<Account>& accounts) const {
    std::vector<double> shares;
    double sum = 0;
    for (const Account& account : accounts) {
      const double credit = account.earned / account.cost;
      sum += shares.emplace_back(credit * credit);
    }
    const double free = 1 - floor_ * static_cast<double>(shares.size());
    for (double& share : shares) share = floor_ + free * share / sum;
    return shares;
  }

  // Returns how much of what is believed beforehand is left: 1 at first, 1/e after kPriorLife
  // trials.
  double prior_left() const { return std::exp(-static_cast<double>(records_.size()) / kPriorLife); }

  // Gives members the share of the proposals that they take from sources; what is left is divided
  // as before.
  void give_to_trusting(std::vector<double>& shares) const {
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const double trust = prior_left() * members_[i].searcher->trust_in_sources();
      for (double& share : shares) share *= 1 - trust;
      shares[i] += trust;
    }
  }

  std::vector<Account> accounts() const {
    std::vector<Account> accounts;
    const double imagined = 1 + kPriorTrials * prior_left();
    double reward = kPriorReward;
    for (const Member& member : members_) {
      accounts.push_back({.earned = imagined * reward, .cost = imagined});
      reward *= kPriorRatio * (1 - member.searcher->trust_in_sources());
    }
    const auto window = std::span(records_).last(std::min(window_, records_.size()));
    const std::vector<double> rewards = rewards_of(window);
    const double mean_work = mean_work_of(window);
    for (std::size_t i = 0; i < window.size(); ++i) {
      const std::size_t member = window[i].member;
      if (member == members_.size()) continue;
      accounts[member].earned += rewards[i];
      accounts[member].cost += cost_of(window[i], mean_work);
    }
    return accounts;
  }

  static double mean_work_of(std::span<const Record> window) {
    double work = 0, trained = 0;
    for (const Record& record : window) {
      work += record.work;
      trained += record.work > 0 ? 1 : 0;
    }
    return trained == 0 ? 0 : work / trained;
  }

  static std::vector<double> rewards_of(std::span<const Record> window) {
    std::vector<double> rewards(window.size(), 0);
    for (std::size_t i = 0; i < window.size(); ++i) {
      if (window[i].is_repeat || window[i].losses.empty()) continue;
      const auto better = std::ranges::count_if(window, [&](const Record& other) {
        return !other.losses.empty() && dominates(other.losses, window[i].losses);
      });
      const double share = static_cast<double>(better) / static_cast<double>(window.size());
      rewards[i] = std::pow(1 - share, kPower);
    }
    return rewards;
  }

  static double cost_of(const Record& record, double mean_work) {
    if (record.is_repeat) return kLeastCost;
    return mean_work == 0 ? 1 : std::max(kLeastCost, record.work / mean_work);
  }

  void record(const Trial& trial, const Outcome& outcome, Record& record) const {
    const auto proposer = std::ranges::find(members_, first_word(trial.proposer), &Member::name);
    record.member = trial.proposer.starts_with(kRestartArm)
                        ? members_.size()
                        : static_cast<std::size_t>(proposer - members_.begin());
    record.losses = ranked_losses(outcome, objectives_);
    record.work = std::visit([](const auto& o) { return o.work; }, outcome);
    if (record.is_repeat) record.work = 0;
  }

  const Space space_;
  const Rng rng_;
  const std::vector<Objective> objectives_;
  const std::vector<Member> members_;
  const std::size_t window_;
  const double floor_;
  const std::size_t alone_;      // told trials until which the first member proposes alone
  std::vector<Record> records_;  // in the order of their first tells
  std::unordered_map<TrialId, std::size_t> places_;  // in records_
  std::unordered_set<std::uint64_t> known_;          // identities of all genomes ever told
  std::deque<RefitJob> due_;                         // the members' jobs, not yet handed out
  bool is_out_ = false;                              // a job was handed out and not absorbed
};

// Checks the names. Errors (kInput): no name, the portfolio's own, or one that is there twice.
Result<void> check(const std::vector<std::string>& names) {
  if (names.empty())
    return fail(ErrorCode::kInput, "portfolio: members is empty; it must name at least one");
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (*name == "portfolio")
      return fail(ErrorCode::kInput, "portfolio: members: it cannot be a member of itself");
    if (std::find(names.begin(), name, *name) != name)
      return fail(ErrorCode::kInput, fmt::format("portfolio: members: {} is there twice", *name));
  }
  return {};
}

Result<std::vector<Member>> make_members(std::span<const SearcherRow> table,
                                         const std::vector<std::string>& names, const Space& space,
                                         SearcherSettings settings) {
  DETOL_TRY(check(names));
  settings.options.clear();
  std::vector<Member> members;
  for (const std::string& name : names) {
    const SearcherRow* row = find_row(table, name);
    if (row == nullptr) {
      const std::string mistake = unknown_name("algorithm", name, names_of(table));
      return fail(ErrorCode::kInput, "portfolio: members: " + mistake);
    }
    DETOL_ASSIGN(auto searcher, row->make(space, settings));
    members.push_back({row->name, std::move(searcher)});
  }
  return members;
}

std::int64_t trials_alone(const Space& space, std::span<const std::string> members) {
  if (members.empty() || members.front() != "gp") return 0;
  return Branches(space).count() > 1 ? kAloneInBranches : kAlone;
}

}  // namespace

Result<std::unique_ptr<Searcher>> make_portfolio(const Space& space,
                                                 const SearcherSettings& settings) {
  return make_portfolio_of(searchers(), space, settings);
}

Result<std::unique_ptr<Searcher>> make_portfolio_of(std::span<const SearcherRow> table,
                                                    const Space& space,
                                                    const SearcherSettings& settings) {
  OptionReader options("portfolio", settings.options);
  const bool has_one_objective = settings.objectives.size() == 1;
  const auto names = options.words("members", has_one_objective ? kMembers : kMembersOfMany);
  const std::int64_t window = options.whole("window", 50, 2, 1000);
  const double most = 1 / std::max(1.0, static_cast<double>(names.size()));
  const double floor = options.real("floor", std::min(0.03, most), 0, most);
  const std::int64_t alone = options.whole("alone", trials_alone(space, names), 0, 1000);
  DETOL_TRY(options.done());
  DETOL_ASSIGN(auto members, make_members(table, names, space, settings));
  return std::make_unique<Portfolio>(space, settings, std::move(members),
                                     static_cast<std::size_t>(window), floor,
                                     static_cast<std::size_t>(alone));
}

}  // namespace detol::inline search
