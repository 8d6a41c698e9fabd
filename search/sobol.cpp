// Points of a scrambled Sobol sequence (sobol_points.h; Sobol, 1967; Owen, 1995): trial n is point
// n, whatever was told. They are like uniform draws, but cover every choice by itself and in small
// groups evenly: eight trials try each of eight equal ranges of a number once, and each of four
// categories twice. This suits studies that explore a space, and the first trials of a model.
//
// Values of a conditional choice depend on those of its parent, so these are only about as even as
// draws.

#include "core/options.h"
#include "search/numbered.h"
#include "search/searchers.h"
#include "search/sobol_points.h"

namespace detol::inline search {
namespace {

class Sobol final : public Searcher {
 public:
  Sobol(Space space, std::uint64_t seed) : space_(std::move(space)), points_(space_.size(), seed) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    return numbered(*this, first_id, count,
                    [&](TrialId id) { return space_.at(points_.point(id)); });
  }

  void tell(const Trial&, const Outcome&) override {}

 private:
  const Space space_;
  const SobolPoints points_;
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_sobol(const Space& space, const SearcherSettings& settings) {
  DETOL_TRY(OptionReader("sobol", settings.options).done());
  return std::make_unique<Sobol>(space, settings.seed);
}

}  // namespace detol::inline search
