#pragma once

// A small space, a loss on it, and studies that a test asks for trials.

#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "knowledge/ledger.h"
#include "scheduler/asking/study.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {

inline Space small_space() {
  return SpaceBuilder()
      .add_float("x", -5, 5)
      .add_categorical("opt", {"sgd", "adam"})
      .add_float("momentum", 0.5, 0.99, {.when = {"opt", {"sgd"}}})
      .build()
      .value();
}

inline double loss_of(const Genome& genome) {
  const double x = genome.number("x");
  return x * x + (genome.is_active("momentum") ? genome.number("momentum") : 1);
}

class Asking : public ::testing::Test {
 protected:
  StudyOptions options(const std::string& budget = "") const {
    return {.name = "mine",
            .storage = folder_.path() / "detol.db",
            .objectives = {minimize("loss")},
            .algorithm = "random",
            .budget = budget,
            .seed = 7};
  }
  Study open(const StudyOptions& with) const { return open_study(small_space(), with).value(); }
  std::vector<Event> events() const {
    const auto ledger = Ledger::open(folder_.path() / "detol.db").value();
    return ledger->events(ledger->study("mine")->id).value();
  }
  template <typename Kind>
  std::vector<Kind> events_of() const {
    std::vector<Kind> found;
    for (const Event& event : events()) {
      if (const auto* one = std::get_if<Kind>(&event)) found.push_back(*one);
    }
    return found;
  }

  TempFolder folder_;
};

}  // namespace detol::testing_support
