// kill -9 at random instants of random victims, again and again during one search: it ends
// with the results of an undisturbed one.
//
// DETOL_CHAOS_KILLS says how many kills (10), DETOL_CHAOS_SEED which (1).

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "tests/chaos/chaos.h"

namespace detol::testing_support {
namespace {

constexpr int kImages = 1500;     // an epoch shall last a while
constexpr int kMostWaitMs = 500;  // between two kills
constexpr int kCrashLoop = 8;     // the exit code after four masters in a row without progress

struct Kind {
  std::string name;
  Search (*search)(int trials);
  int trials_per_kill;  // so many that the search is hardly ever over before the last kill
};

enum class Victim { kWorker, kLauncher, kMaster, kReaper, kSupervisor, kEverything };
constexpr const char* kNames[] = {"worker", "launcher",   "master",
                                  "reaper", "supervisor", "everything"};
constexpr const char* kRoles[] = {"__worker", "mpi", "__master", "tree-reaper"};

class RandomKills {
 public:
  RandomKills(Search search, int kills, std::uint64_t seed)
      : search_(std::move(search)), study_(search_.images), kills_(kills), rng_(seed) {}

  void run() {
    const Baseline baseline = run_undisturbed(search_);
    int code = run_with_kills(search_.words);
    while (code != 0 && code != -1) {
      EXPECT_TRUE(code == 128 + SIGKILL || code == kCrashLoop || code == 4) << code << "\n"
                                                                            << said_;
      code = run_with_kills(code == 4 ? search_.words : std::vector<std::string>{"resume", "tiny"});
    }
    for (const auto& [victim, count] : killed_) std::cout << victim << " " << count << ", ";
    std::cout << "in " << runs_ << " runs; " << study_.steps() << " steps trained, "
              << baseline.steps << " undisturbed" << std::endl;
    EXPECT_EQ(broken_promises(study_, baseline, said_, done_ * search_.steps_to_redo()),
              std::vector<std::string>{})
        << said_;
    EXPECT_GE(2 * done_, kills_) << "the search was over too soon";
  }

 private:
  // Runs the program once, with kills until it ends, and returns its exit code.
  int run_with_kills(const std::vector<std::string>& words) {
    ++runs_;
    Program program(study_.path(), words, study_.variables());
    while (done_ < kills_ &&
           !program.ends_within(static_cast<double>(rng_.below(kMostWaitMs)) / 1000))
      kill_one(program);
    const Ran ran = program.wait();
    said_ += ran.err;
    return ran.code;
  }

  Victim choose() {
    const auto draw = rng_.below(10);
    if (draw < 4) return Victim::kWorker;  // in a group: any rank
    if (draw < 5) return search_.name.starts_with("group") ? Victim::kLauncher : Victim::kWorker;
    if (draw < 7) return Victim::kMaster;
    if (draw < 8) return Victim::kReaper;
    return draw < 9 ? Victim::kSupervisor : Victim::kEverything;
  }

  void kill_one(Program& program) {
    const Victim victim = choose();
    if (victim == Victim::kEverything) {
      program.kill_everything();
    } else if (victim == Victim::kSupervisor) {
      program.signal(SIGKILL);
      program.wait();
    } else {
      const auto pids = program.children(kRoles[static_cast<int>(victim)]);
      if (pids.empty()) return;
      ::kill(pids[rng_.below(pids.size())], SIGKILL);
    }
    ++done_;
    ++killed_[kNames[static_cast<int>(victim)]];
  }

  const Search search_;
  const ChaosStudy study_;
  const int kills_;
  Rng rng_;
  std::string said_;
  std::map<std::string, int> killed_;
  int done_ = 0, runs_ = 0;
};

const std::array kKinds = {Kind{"one_worker", one_worker, 2}, Kind{"pausing", pausing, 5},
                           Kind{"two_workers", two_workers, 2},
                           Kind{"group_of_two", group_of_two, 2}};

class RandomKill : public testing::TestWithParam<std::string> {};

TEST_P(RandomKill, ChangesNothing) {
  const int kills = number_from("DETOL_CHAOS_KILLS", 10);
  const int seed = number_from("DETOL_CHAOS_SEED", 1);
  const Kind& kind = *std::ranges::find(kKinds, GetParam(), &Kind::name);
  Search search = kind.search(kind.trials_per_kill * kills);
  search.images = kImages;
  std::cout << search.name << ", seed " << seed << ": " << std::flush;
  RandomKills(search, kills, static_cast<std::uint64_t>(seed)).run();
}

INSTANTIATE_TEST_SUITE_P(Search, RandomKill,
                         testing::Values("one_worker", "pausing", "two_workers", "group_of_two"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace detol::testing_support
