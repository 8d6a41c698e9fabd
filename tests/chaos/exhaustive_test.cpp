// Tries every action of every site of core/fault.h at the 1st, 2nd, ... visit, until a search ends
// without the fault: each search must end with the results of an undisturbed one.
//
// The first visits are tried one by one, later ones at growing distances, and the last;
// DETOL_CHAOS=thorough tries all, and with two workers, too.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <list>
#include <mutex>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "core/fault.h"
#include "tests/chaos/chaos.h"

namespace detol::testing_support {
namespace {

constexpr int kAtOnce = 8;  // searches, which mostly wait for disks and limits

bool is_thorough() {
  const char* word = std::getenv("DETOL_CHAOS");
  return word != nullptr && std::string_view(word) == "thorough";
}

std::vector<std::string> words_of(std::string_view list) {
  std::istringstream stream{std::string(list)};
  return {std::istream_iterator<std::string>(stream), {}};
}

std::vector<int> visits_to_try(int last) {
  std::vector<int> visits;
  for (int nth = 1, before = 1; nth < last;) {
    visits.push_back(nth);
    nth += is_thorough() ? 1 : std::exchange(before, nth);
  }
  visits.push_back(last);
  return visits;
}

// The tries of one site with one search.
class Tries {
 public:
  Tries(Search search, const FaultSite& site)
      : search_(std::move(search)), site_(site), baseline_(run_undisturbed(search_, site.name)) {
    for (const std::string& action : words_of(site.actions)) {
      for (const int nth : visits_to_try(std::max(1, baseline_.visits)))
        cases_.push_back({action, nth});
    }
  }

  // Returns false if the search does not visit the site, as only other commands do.
  bool is_passed() const { return baseline_.visits > 0; }

  // Runs cases until all are tried; several threads may call it at once.
  void work() {
    for (std::size_t i = next_++; i < cases_.size(); i = next_++) {
      const bool is_last = i + 1 == cases_.size() || cases_[i + 1].action != cases_[i].action;
      // The number of visits depends on timing: continue until the fault does not occur.
      while (happens(cases_[i]) && is_last) ++cases_[i].nth;
    }
  }

  void tell() const {
    for (const std::string& action : words_of(site_.actions)) {
      std::cout << search_.name << " " << site_.name << " " << action << ":";
      for (const Case& test_case : cases_) {
        if (test_case.action == action) std::cout << test_case.tried;
      }
      std::cout << std::endl;
    }
  }

 private:
  struct Case {
    std::string action;
    int nth = 0;
    std::string tried = {};  // the visits, to be printed
  };

  bool happens(Case& test_case) {
    const std::string fault =
        std::string(site_.name) + ":" + std::to_string(test_case.nth) + ":" + test_case.action;
    Baseline baseline = baseline_;
    if (test_case.action == "nan") baseline.results.clear();  // a result, which the searcher gets
    const bool may_differ = test_case.action == "nan" ||
                            (site_.name == "checkpoint.write" && test_case.action == "corrupt");
    if (may_differ) baseline.weights.clear();  // a flipped bit is found when it is read
    const DisturbedRun run = run_disturbed(search_, baseline, fault);
    const std::lock_guard lock(mutex_);
    for (const std::string& promise : run.broken)
      ADD_FAILURE() << search_.name << " DETOL_FAULT=" << fault << ": " << promise << "\n"
                    << run.err;
    test_case.tried += (run.happened ? " " : " not ") + std::to_string(test_case.nth);
    return run.happened;
  }

  const Search search_;
  const FaultSite& site_;
  const Baseline baseline_;
  std::vector<Case> cases_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
};

std::vector<Search> searches(std::string_view site) {
  if (site == "worker.choice") return {timing()};
  if (!is_thorough()) return {one_worker(), pausing()};
  return {one_worker(), pausing(), two_workers(), group_of_two(), timing()};
}

class Exhaustive : public testing::TestWithParam<std::string> {};

TEST_P(Exhaustive, FaultsChangeNothing) {
  const auto site = std::ranges::find(fault_sites(), GetParam(), &FaultSite::name);
  std::list<Tries> all;
  for (const Search& search : searches(site->name)) all.emplace_back(search, *site);
  if (std::ranges::none_of(all, &Tries::is_passed))
    GTEST_SKIP() << "no search passes it: the tests of its command try it";
  std::vector<std::thread> threads;
  for (int i = 0; i < kAtOnce; ++i) {
    threads.emplace_back([&all] {
      for (Tries& tries : all) tries.work();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tries& tries : all) tries.tell();
}

std::vector<std::string> sites() {
  std::vector<std::string> names;
  for (const FaultSite& site : fault_sites()) names.emplace_back(site.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Site, Exhaustive, testing::ValuesIn(sites()), [](const auto& site) {
  std::string name = site.param;
  std::ranges::replace(name, '.', '_');
  return name;
});

}  // namespace
}  // namespace detol::testing_support
