// Every action of every site of core/fault.h, at the 1st, 2nd, ... visit until a search
// passes without the fault: each time the search ends as if nothing had happened.
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
      : search_(std::move(search)), site_(site), peace_(in_peace(search_, site.name)) {
    for (const std::string& action : words_of(site.actions)) {
      for (const int nth : visits_to_try(std::max(1, peace_.visits)))
        cases_.push_back({action, nth});
    }
  }

  // False for a site of commands other than a search.
  bool is_passed() const { return peace_.visits > 0; }

  // Takes part until all is tried; any number of threads may.
  void work() {
    for (std::size_t i = next_++; i < cases_.size(); i = next_++) {
      const bool is_last = i + 1 == cases_.size() || cases_[i + 1].action != cases_[i].action;
      // How often a site is passed depends on time a little: on until nothing happens.
      while (happens(cases_[i]) && is_last) ++cases_[i].nth;
    }
  }

  void tell() const {
    for (const std::string& action : words_of(site_.actions)) {
      std::cout << search_.name << " " << site_.name << " " << action << ":";
      for (const Case& one : cases_) {
        if (one.action == action) std::cout << one.tried;
      }
      std::cout << std::endl;
    }
  }

 private:
  struct Case {
    std::string action;
    int nth = 0;
    std::string tried = {};  // in words
  };

  bool happens(Case& one) {
    const std::string fault =
        std::string(site_.name) + ":" + std::to_string(one.nth) + ":" + one.action;
    Peace peace = peace_;
    if (one.action == "nan") peace.results.clear();  // the candidate's result, told to the search
    const bool may_differ =
        one.action == "nan" || (site_.name == "checkpoint.write" && one.action == "corrupt");
    if (may_differ) peace.weights.clear();  // a bit that rots on the disk is found by who reads it
    const Trouble trouble = disturbed(search_, peace, fault);
    const std::lock_guard lock(mutex_);
    for (const std::string& promise : trouble.broken)
      ADD_FAILURE() << search_.name << " DETOL_FAULT=" << fault << ": " << promise << "\n"
                    << trouble.said;
    one.tried += (trouble.happened ? " " : " not ") + std::to_string(one.nth);
    return trouble.happened;
  }

  const Search search_;
  const FaultSite& site_;
  const Peace peace_;
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
