// Random search (Bergstra and Bengio, 2012, "Random Search for Hyper-Parameter Optimization",
// JMLR 13): trial n is one independent draw from random stream n, whatever was told. It is uniform
// in each active choice, in its logarithm where `log`.

#include "core/options.h"
#include "core/rng.h"
#include "search/numbered.h"
#include "search/searchers.h"

namespace detol::inline search {
namespace {

class Random final : public Searcher {
 public:
  Random(Space space, std::uint64_t seed) : space_(std::move(space)), rng_(seed) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    return numbered(*this, first_id, count, [&](TrialId id) {
      Rng rng = rng_.split(id);
      return space_.sample(rng);
    });
  }

  void tell(const Trial&, const Outcome&) override {}

 private:
  const Space space_;
  const Rng rng_;
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_random(const Space& space,
                                              const SearcherSettings& settings) {
  DETOL_TRY(OptionReader("random", settings.options).done());
  return std::make_unique<Random>(space, settings.seed);
}

}  // namespace detol::inline search
